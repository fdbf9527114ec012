"""A lock in a folder: one process writes under a name, and a replacement takes over the name.

    FOLDER/.part-sink-00000.lock     {"run": "3f…", "born_ms": 1764110000000}, locked by POSIX
    FOLDER/.part-sink-00000.lock.RANDOM   lock of a process taking over, before the rename

POSIX locks end with their process, also after a kill. The lock of a suspended process persists:
the replacement locks a new file and renames the file over the old lock. The right to write
belongs to the process whose locked file has the name, and a resumed process detects the replaced
file:

    file is not locked                           take it
    locked by another run                        refused: two topologies would mix their files
    locked by an older process of the same run   replace the file
    locked by a younger one                      refused: this process is the one that was replaced
"""

import fcntl
import json
import os
import secrets

from heron_api.incarnation import Incarnation
from heron_core.errors import ComponentError

RANDOM_BYTES = 4
RECORD_BYTES_MAX = 4096
"""Far beyond any record's."""


class FolderSuperseded(ComponentError):
    """A replacement has taken the name: the process may not write any more."""


class FolderLock:
    """The lock of a name in a folder, for one process."""

    def __init__(self, path: str, name: str, incarnation: Incarnation) -> None:
        self._path = path
        self._name = name
        self._incarnation = incarnation
        self._file: int | None = None

    @property
    def is_taken(self) -> bool:
        """Whether the process has taken the lock; a later loss is possible."""
        return self._file is not None

    def take(self) -> None:
        """ComponentError if another topology has it, FolderSuperseded if it is the replacement
        of this process."""
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        while self._file is None:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                self._take(file)
            finally:
                if self._file != file:
                    os.close(file)

    def _take(self, file: int) -> None:
        """Lock the file or a replacement; neither if replaced just now."""
        if not _locked(file):
            self._check(_incarnation_in(file))
            self._replace()
        elif self._is_at_path(file):
            _write(file, self._incarnation)
            self._file = file

    def _check(self, holder: Incarnation | None) -> None:
        ours = self._incarnation
        if holder is None or not ours.run or holder.run != ours.run:
            raise ComponentError(
                f"another process writes {self._name} in {os.path.dirname(self._path)}: give "
                "each topology its own folder"
            )
        if holder.born_ms > ours.born_ms:
            raise self._superseded()

    def _replace(self) -> None:
        beside = f"{self._path}.{secrets.token_hex(RANDOM_BYTES)}"
        file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            _locked(file)
            _write(file, self._incarnation)
            os.replace(beside, self._path)
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def last_run(self) -> str | None:
        """The run of the last locking process, or None."""
        try:
            file = os.open(self._path, os.O_RDONLY)
        except OSError:
            return None
        try:
            incarnation = _incarnation_in(file)
        finally:
            os.close(file)
        return None if incarnation is None else incarnation.run

    def check(self) -> None:
        """FolderSuperseded if another process has taken it over, or if it is gone with the
        folder."""
        if self._file is None or self._is_at_path(self._file):
            return
        if os.path.exists(self._path):
            raise self._superseded()
        raise FolderSuperseded(
            f"the lock of {self._name} in {os.path.dirname(self._path)} is gone: the folder was"
            " removed or emptied while this process wrote into it"
        )

    def _superseded(self) -> FolderSuperseded:
        return FolderSuperseded(
            f"another process has taken over {self._name} in {os.path.dirname(self._path)}: this "
            "process was replaced while it was suspended, and stops writing"
        )

    def _is_at_path(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def release(self) -> None:
        """Let others write."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _locked(file: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _incarnation_in(file: int) -> Incarnation | None:
    try:
        found = json.loads(os.pread(file, RECORD_BYTES_MAX, 0))
        return Incarnation(found["run"], found["born_ms"])
    except (ValueError, KeyError, TypeError):
        return None


def _write(file: int, incarnation: Incarnation) -> None:
    record = {"run": incarnation.run, "born_ms": incarnation.born_ms}
    os.ftruncate(file, 0)
    os.pwrite(file, json.dumps(record).encode(), 0)
