"""Local copies of a task's newest states, for a checkpoint store on another machine.

The replacement of a process on the machine downloads only missing files: the bytes of the state,
and files absent from the copies. Files are named after their content and verified when read, so
the copies affect only speed.
"""

import os
import shutil
import tempfile
from collections.abc import Set
from contextlib import suppress

from heron_core.state.file_snapshot import FileSnapshot, FileSource
from heron_io.left_folders import remove_left

_PART = ".part"


class LocalCopies:
    """The copies of one task, in a folder of their own."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._before: Set[str] = frozenset()
        """Names of the state before the newest: the topology may be restored from it."""
        self.fetched_bytes = 0
        """Of files that came from the store."""

    def remove(self) -> None:
        """The task ends in good order."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def path(self, name: str) -> str:
        """Where a file is, if it is here."""
        return os.path.join(self._folder, name)

    def has(self, name: str, size: int) -> bool:
        """Whether a file is here as a whole."""
        with suppress(OSError):
            return os.stat(self.path(name)).st_size == size
        return False

    def keep(self, state: bytes) -> None:
        """Copy the files of a stored state; files of states older than the previous one are
        removed."""
        files = state.files if isinstance(state, FileSnapshot) else {}
        # A machine without room for copies has a checkpoint all the same.
        with suppress(OSError):
            if isinstance(state, FileSnapshot):
                os.makedirs(self._folder, exist_ok=True)
                for name, size in files.items():
                    if not self.has(name, size):
                        self._copy(state.source, name)
            if os.path.isdir(self._folder):
                for other in set(os.listdir(self._folder)) - files.keys() - self._before:
                    os.unlink(self.path(other))
        self._before = frozenset(files)

    def _copy(self, source: FileSource, name: str) -> None:
        part, local = self.path(name) + _PART, source.local_path(name)
        if local is None:
            with open(part, "wb") as file:
                file.write(source.read(name))
        else:
            with suppress(FileNotFoundError):
                os.unlink(part)
            _linked(local, part)
        os.replace(part, self.path(name))

    def before(self, state: bytes) -> bytes:
        """A state of the store, whose files come from here as far as they are here."""
        if not isinstance(state, FileSnapshot):
            return state
        return FileSnapshot.of(state, state.files, _Nearest(self, state))


class _Nearest:
    """The files of a state: from this machine, else from the store."""

    def __init__(self, copies: LocalCopies, state: FileSnapshot) -> None:
        self._copies = copies
        self._state = state

    def local_path(self, name: str) -> str | None:
        """See FileSource."""
        is_here = self._copies.has(name, self._state.files[name])
        return self._copies.path(name) if is_here else None

    def read(self, name: str) -> bytes:
        """See FileSource."""
        local = self.local_path(name)
        if local is not None:
            with suppress(OSError), open(local, "rb") as file:
                return file.read()
        self._copies.fetched_bytes += self._state.files[name]
        return self._state.source.read(name)

    def copy(self, name: str, path: str) -> None:
        """See FileSource."""
        local = self.local_path(name)
        if local is not None:
            with suppress(OSError):
                _linked(local, path)
                return
        self._copies.fetched_bytes += self._state.files[name]
        self._state.source.copy(name, path)


def copies_of(where: str | None, label: str) -> LocalCopies:
    """Folder of a task's copies, below `folder` (None: the temporary folder). The copies outlive
    the process, but not the container for long: the container is the parent process, and its
    successor removes them."""
    where = where or tempfile.gettempdir()
    prefix = f"heron-copies-{label}-"
    with suppress(OSError):
        os.makedirs(where, exist_ok=True)
        remove_left(where, prefix)
    return LocalCopies(os.path.join(where, f"{prefix}{os.getppid()}-files"))


def _linked(source: str, path: str) -> None:
    """Both files are immutable, so a hard link suffices on a common disk."""
    try:
        os.link(source, path)
    except OSError:
        shutil.copyfile(source, path)
