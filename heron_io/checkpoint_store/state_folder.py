"""The states of one checkpoint: in a checkpoint store, or in a savepoint's own folder.

    TASK               a state (state_file.py)
    TASK.files         names of its files, if it has any: [[name, bytes], …]
    description.json   description of the states (heron_core.state.description), written last of all

Files of states are in another folder, TASK/NAME, shared by all checkpoints of a topology; a
savepoint has a separate folder.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from heron_core.state.file_snapshot import FileSnapshot
from heron_io.checkpoint_store.protocol import (
    CheckpointStoreError,
    StateDamaged,
    StateGone,
    StateNotSigned,
)
from heron_io.checkpoint_store.signer import Signer
from heron_io.checkpoint_store.state_file import header_of, state_in

FILES = ".files"
DESCRIPTION = "description.json"


class FileAccess(Protocol):
    """The operations on a file system. Folders are made as needed. Methods raise OSError, or any
    exception of a file system's package."""

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        """Write a file that survives any crash, in the place of an existing one."""

    def read(self, path: str) -> bytes:
        """Content of a file; FileNotFoundError if missing."""

    def upload(self, local: str, path: str) -> None:
        """As `write`, with a file of this machine."""

    def download(self, path: str, local: str) -> None:
        """Copy a file to this machine."""

    def size(self, path: str) -> int | None:
        """Size of a file; None if missing."""

    def names(self, folder: str) -> list[str]:
        """Names in a folder; empty if there is no folder."""

    def remove(self, path: str) -> None:
        """Remove a file, if present."""

    def remove_folder(self, path: str) -> None:
        """Remove a folder with all its content, if present."""


class StateFolder:
    """The states of one checkpoint, by task."""

    def __init__(
        self, access: FileAccess, path: str, shared: str, signer: Signer | None = None
    ) -> None:
        """`shared` is the folder of the states' files. `signer` signs saved states, and loaded
        states must have its signature; None: states without signature, or without a check.
        """
        self.access = access
        self.path = path
        self._shared = shared
        self._signer = signer

    def save(self, task: int, state: bytes) -> None:
        """Keep a state; CheckpointStoreError if the state is not safely stored. Existing files are
        not written again."""
        path = f"{self.path}/{task}"
        try:
            if isinstance(state, FileSnapshot):
                self._save_files(path, task, state)
            signature = b"" if self._signer is None else self._signer.signature(task, state)
            self.access.write(path, (header_of(state, signature), state, signature))
        except CheckpointStoreError:
            raise
        except Exception as error:
            raise wrong(f"the state of task {task} cannot be saved at {path}", error) from error

    def _save_files(self, path: str, task: int, state: FileSnapshot) -> None:
        for name, size in state.files.items():
            stored = f"{self._shared}/{task}/{name}"
            if self.access.size(stored) != size:
                self._upload(state, name, stored)
        listed = json.dumps(list(state.files.items())).encode()
        self.access.write(path + FILES, (listed,))

    def _upload(self, state: FileSnapshot, name: str, stored: str) -> None:
        local = state.source.local_path(name)
        if local is not None:
            self.access.upload(local, stored)
            return
        # RocksDB's files are smaller (64 MiB), or the whole state is in memory.
        self.access.write(stored, (state.source.read(name),))

    def load(self, task: int) -> bytes:
        """A saved state; CheckpointStoreError if the state cannot be read, StateNotSigned if the
        signer's topology has not saved it."""
        state, signature = self._loaded(task)
        if self._signer is not None and not self._signer.has_signed(task, state, signature):
            raise StateNotSigned(
                f"{self.path}/{task} is not signed with the key of its topology: the file was "
                "changed, or a run of another user wrote it"
            )
        return state

    def is_signed(self, task: int, state: bytes, signer: Signer) -> bool:
        """Whether a loaded state has the signature of `signer`."""
        return signer.has_signed(task, state, self._loaded(task)[1])

    def _loaded(self, task: int) -> tuple[bytes, bytes]:
        path = f"{self.path}/{task}"
        try:
            state, signature = state_in(self.access.read(path), path)
            files = self.files_of(task)
        except CheckpointStoreError:
            raise
        except FileNotFoundError as error:
            what = f"the state of task {task} cannot be read from {path}: No such file"
            raise self._missing(what) from error
        except Exception as error:
            raise wrong(f"the state of task {task} cannot be read from {path}", error) from error
        if files is not None:
            source = Stored(self.access, f"{self._shared}/{task}", files)
            state = FileSnapshot.of(state, files, source)
        return state, signature

    def _missing(self, what: str) -> CheckpointStoreError:
        """Error for a missing file, or for a missing store: a folder that is not mounted is
        empty.
        """
        around = self.path.rpartition("/")[0]
        try:
            is_there = bool(self.access.names(around))
        except Exception as error:
            return wrong(f"{around} cannot be read", error)
        if is_there:
            return StateGone(what)
        return CheckpointStoreError(f"{what}, and {around} is empty")

    def check(self, task: int) -> bytes:
        """As `load`, and checks that all files of the state exist."""
        state = self.load(task)
        if isinstance(state, FileSnapshot):
            stored = Stored(self.access, f"{self._shared}/{task}", state.files)
            for name in state.files:
                stored.check(name)
        return state

    def check_presence(self, tasks: Iterable[int]) -> None:
        """CheckpointStoreError if the state of one of the tasks is missing."""
        for task in sorted(self.missing(tasks)):
            raise CheckpointStoreError(f"the state of task {task} is missing: {self.path}/{task}")

    def missing(self, tasks: Iterable[int]) -> set[int]:
        """The tasks whose state is missing. The folder is listed once; a name that is not in the
        list is asked for by itself, as network file systems may return an outdated list."""
        path = self.path
        try:
            listed = set(self.access.names(path))
            unlisted = {task for task in tasks if str(task) not in listed}
            return {task for task in unlisted if self.access.size(f"{path}/{task}") is None}
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error

    def check_signatures(self, tasks: Iterable[int]) -> None:
        """StateNotSigned for a state of a task without the signature of the signer's topology. An
        unreadable state is skipped: its task waits for the state at the start.
        """
        for task in tasks:
            try:
                self.load(task)
            except StateNotSigned:
                raise
            except CheckpointStoreError:
                continue

    @property
    def is_described(self) -> bool:
        """Whether the description, which is written last of all, exists."""
        path = f"{self.path}/{DESCRIPTION}"
        try:
            return self.access.size(path) is not None
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error

    def files_of(self, task: int | str) -> dict[str, int] | None:
        """name -> size of the files of a state; None for a state without files."""
        path = f"{self.path}/{task}{FILES}"
        try:
            data = self.access.read(path)
        except FileNotFoundError:
            return None
        try:
            return {str(name): int(size) for name, size in json.loads(data)}
        except (ValueError, TypeError) as error:
            raise StateDamaged(f"{path} is damaged: {error}") from None

    def describe(self, description: Mapping[str, Any]) -> None:
        """Write the description of the states, when all are here; CheckpointStoreError if none
        is."""
        path = f"{self.path}/{DESCRIPTION}"
        try:
            if not self.access.names(self.path):
                raise CheckpointStoreError(f"{self.path} has no state to describe")
            self.access.write(path, (json.dumps(description, indent=1).encode(),))
        except CheckpointStoreError:
            raise
        except Exception as error:
            raise wrong(f"{path} cannot be written", error) from error

    def description(self) -> Any:
        """The description of the states; CheckpointStoreError without a description."""
        path = f"{self.path}/{DESCRIPTION}"
        try:
            return json.loads(self.access.read(path))
        except FileNotFoundError:
            raise CheckpointStoreError(
                f"{self.path} is neither a savepoint nor a completed checkpoint: it has no "
                f"{DESCRIPTION}"
            ) from None
        except ValueError as error:
            raise CheckpointStoreError(f"{path} is damaged: {error}") from None
        except Exception as error:
            raise wrong(f"{path} cannot be read", error) from error


class Stored:
    """The files of a state in a store."""

    def __init__(self, access: FileAccess, folder: str, files: Mapping[str, int]) -> None:
        self._access = access
        self._folder = folder
        self._files = files

    def copy(self, name: str, path: str) -> None:
        """See FileSource."""
        stored = self.check(name)
        try:
            self._access.download(stored, path)
        except Exception as error:
            raise wrong(f"{stored} cannot be read", error) from error

    def read(self, name: str) -> bytes:
        """See FileSource."""
        stored = self.check(name)
        try:
            return self._access.read(stored)
        except Exception as error:
            raise wrong(f"{stored} cannot be read", error) from error

    def check(self, name: str) -> str:
        """Path of a file; CheckpointStoreError if the file is missing or incomplete."""
        stored = f"{self._folder}/{name}"
        try:
            size = self._access.size(stored)
        except Exception as error:
            raise wrong(f"{stored} cannot be read", error) from error
        if size is None:
            raise StateGone(f"{stored} is missing, but a checkpoint needs the file")
        if size != self._files[name]:
            wanted = self._files[name]
            raise StateDamaged(f"{stored} is damaged: its size is {size} bytes, not {wanted}")
        return stored

    def local_path(self, name: str) -> str | None:
        """See FileSource."""
        return None


def wrong(what: str, error: Exception) -> CheckpointStoreError:
    """The error of a store in one line."""
    text: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return CheckpointStoreError(f"{what}: {' '.join(str(text).split())}")
