"""Files of a task's newest states on its own machine, where the checkpoint store is elsewhere.

A process that takes the place of one that died on this machine fetches only what is not here: the
bytes of the state, and files that its predecessor had not kept. Files are called after their
content and are checked when they are read, so nothing but time depends on these copies.
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
        """Have the files of a state that is stored; those of neither it nor the one before go."""
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
    """Those of a task, below a folder (None: where temporary files are). They outlive its process,
    and not for long its container's: that is our parent, and the next one removes them."""
    where = where or tempfile.gettempdir()
    prefix = f"heron-copies-{label}-"
    with suppress(OSError):
        os.makedirs(where, exist_ok=True)
        remove_left(where, prefix)
    return LocalCopies(os.path.join(where, f"{prefix}{os.getppid()}-files"))


def _linked(source: str, path: str) -> None:
    """Neither file ever changes, so one may be the other, where both are on one disk."""
    try:
        os.link(source, path)
    except OSError:
        shutil.copyfile(source, path)
