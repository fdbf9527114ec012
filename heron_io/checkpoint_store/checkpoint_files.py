"""A checkpoint store of files, on any file system.

    TOPOLOGY/CHECKPOINT/TASK          a state (state_file.py)
    TOPOLOGY/CHECKPOINT/TASK.files    names of its files, if it has any: [[name, bytes], …]
    TOPOLOGY/shared/TASK/NAME         a file of several checkpoints, named after its content

A file is complete when it appears at its path, where the file system can rename; elsewhere it
appears when it is complete. A state's own file comes last, after what it needs.

Files are removed with the last checkpoint that has them. Those of a checkpoint that is not complete
yet are safe meanwhile: they are new, or they are those of a newer one than is discarded.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from heron_core.state.file_snapshot import FileSnapshot
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.state_file import header_of, state_in

SHARED = "shared"
_FILES = ".files"


class FileAccess(Protocol):
    """What is needed of a file system. Folders are made as needed. What a method raises is an
    OSError, or anything else that a file system's package raises."""

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        """Write a file that survives a crash of anything, in the place of one that is there."""

    def read(self, path: str) -> bytes:
        """A file's content; FileNotFoundError if there is none."""

    def upload(self, local: str, path: str) -> None:
        """As `write`, with a file of this machine."""

    def download(self, path: str, local: str) -> None:
        """Copy a file to this machine."""

    def size(self, path: str) -> int | None:
        """A file's size; None if there is none."""

    def names(self, folder: str) -> list[str]:
        """What is in a folder; nothing if there is none."""

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""

    def remove_folder(self, path: str) -> None:
        """Remove a folder with all that is in it, if it is there."""


class CheckpointFiles:
    """A CheckpointStore below a folder of a file system."""

    def __init__(self, access: FileAccess, folder: str) -> None:
        self._access = access
        self._folder = folder.rstrip("/") or "/"

    def save(self, topology: str, checkpoint: int, task: int, state: bytes) -> None:
        """See CheckpointStore; files that are there already are not written again."""
        path = self._path(topology, checkpoint, task)
        try:
            if isinstance(state, FileSnapshot):
                self._save_files(topology, path, task, state)
            self._access.write(path, (header_of(state), state))
        except Exception as error:
            raise _wrong(f"the state of task {task} cannot be saved at {path}", error) from error

    def _save_files(self, topology: str, path: str, task: int, state: FileSnapshot) -> None:
        shared = self._shared(topology, task)
        for name, size in state.files.items():
            local = state.source.local_path(name)
            stored = f"{shared}/{name}"
            if local is not None and self._access.size(stored) != size:
                self._access.upload(local, stored)
        listed = json.dumps(list(state.files.items())).encode()
        self._access.write(path + _FILES, (listed,))

    def load(self, topology: str, checkpoint: int, task: int) -> bytes:
        """See CheckpointStore."""
        path = self._path(topology, checkpoint, task)
        try:
            state = state_in(self._access.read(path), path)
            files = self._files_of(path)
        except CheckpointStoreError:
            raise
        except Exception as error:
            raise _wrong(f"the state of task {task} cannot be read from {path}", error) from error
        if files is None:
            return state
        source = _Stored(self._access, self._shared(topology, task), files)
        return FileSnapshot.of(state, files, source)

    def _files_of(self, path: str) -> dict[str, int] | None:
        try:
            data = self._access.read(path + _FILES)
        except FileNotFoundError:
            return None
        try:
            return {str(name): int(size) for name, size in json.loads(data)}
        except (ValueError, TypeError) as error:
            raise CheckpointStoreError(f"{path}{_FILES} is damaged: {error}") from None

    def discard(self, topology: str, checkpoint: int) -> None:
        """See CheckpointStore; files that only this checkpoint has go with it."""
        path = f"{self._folder}/{topology}/{checkpoint}"
        try:
            files = self._all_files(topology, checkpoint)
            self._access.remove_folder(path)
            if files:
                self._remove_files(topology, files)
        except Exception as error:
            what = f"checkpoint {checkpoint} cannot be removed from {path}"
            raise _wrong(what, error) from error

    def _all_files(self, topology: str, checkpoint: int) -> set[str]:
        """TASK/NAME of the files of a checkpoint."""
        folder = f"{self._folder}/{topology}/{checkpoint}"
        return {
            f"{task.removesuffix(_FILES)}/{name}"
            for task in self._access.names(folder)
            if task.endswith(_FILES)
            for name in self._files_of(f"{folder}/{task.removesuffix(_FILES)}") or ()
        }

    def _remove_files(self, topology: str, files: set[str]) -> None:
        for other in self._access.names(f"{self._folder}/{topology}"):
            if other.isdigit() and files:
                files -= self._all_files(topology, int(other))
        for each in files:
            self._access.remove(f"{self._folder}/{topology}/{SHARED}/{each}")

    def _path(self, topology: str, checkpoint: int, task: int) -> str:
        return f"{self._folder}/{topology}/{checkpoint}/{task}"

    def _shared(self, topology: str, task: int) -> str:
        return f"{self._folder}/{topology}/{SHARED}/{task}"


class _Stored:
    """The files of a state in the store."""

    def __init__(self, access: FileAccess, folder: str, files: Mapping[str, int]) -> None:
        self._access = access
        self._folder = folder
        self._files = files

    def copy(self, name: str, path: str) -> None:
        """See FileSource."""
        stored = f"{self._folder}/{name}"
        try:
            size = self._access.size(stored)
            if size == self._files[name]:
                self._access.download(stored, path)
        except Exception as error:
            raise _wrong(f"{stored} cannot be read", error) from error
        if size is None:
            raise CheckpointStoreError(f"{stored} is missing: a checkpoint needs it")
        if size != self._files[name]:
            wanted = self._files[name]
            raise CheckpointStoreError(f"{stored} is damaged: it has {size} bytes, not {wanted}")

    def local_path(self, name: str) -> str | None:
        """See FileSource."""
        return None


def _wrong(what: str, error: Exception) -> CheckpointStoreError:
    text: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return CheckpointStoreError(f"{what}: {' '.join(str(text).split())}")
