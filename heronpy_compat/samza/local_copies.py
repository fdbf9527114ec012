"""The copy of a store on its host: in memory, or in a file of SQLite."""

import os
import sqlite3
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Protocol

from heron_core.errors import ComponentError
from heronpy_compat.samza.compacted_logs import Entry

ROWS_AT_ONCE = 100
"""A scan reads so many rows at a time, so that the store may change meanwhile."""
CACHE_KIB = 8 * 1024
"""Memory of a store on disk for its pages, whatever the size of the store."""


class LocalCopy(Protocol):
    """Values by key, and a position in the changelog of the newest value."""

    @property
    def position(self) -> int | None:
        """As applied last; None for a new copy, or after an unfinished restore."""

    @property
    def age_secs(self) -> float:
        """How long ago the copy was written last."""

    def get(self, key: bytes) -> bytes | None:
        """The value of a key."""

    def scan(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """(key, value) from `start` up to `end`, in order."""

    def apply(self, entries: Iterable[Entry], position: int | None) -> None:
        """Write entries and the position in one step."""

    def clear(self) -> None:
        """Remove everything."""

    def close(self) -> None:
        """Close files."""


class MemoryCopy:
    """A LocalCopy that ends with its process."""

    age_secs = 0.0

    def __init__(self) -> None:
        self.position: int | None = None
        self._values: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """See LocalCopy."""
        return self._values.get(key)

    def scan(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """See LocalCopy."""
        keys = sorted(self._values)
        last = len(keys) if end is None else bisect_left(keys, end)
        for key in keys[0 if start is None else bisect_left(keys, start) : last]:
            if key in self._values:
                yield key, self._values[key]

    def apply(self, entries: Iterable[Entry], position: int | None) -> None:
        """See LocalCopy."""
        for key, value in entries:
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
        self.position = position

    def clear(self) -> None:
        """See LocalCopy."""
        self._values, self.position = {}, None

    def close(self) -> None:
        """See LocalCopy."""


class DiskCopy:
    """A LocalCopy in a file, of any size: memory is CACHE_KIB.

    A transaction is not synced: after a power cut the newest may be missing, each as a whole with
    its position, and the restore reads them from the changelog.
    """

    def __init__(self, path: str) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self._path = path
        is_there = os.path.exists(path)
        self.age_secs = time.time() - os.path.getmtime(path) if is_there else 0.0
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            raise ComponentError(
                f"{path} is not a local store ({error}): remove the file, and the store is restored"
                " from the changelog"
            ) from None

    def _open(self) -> None:
        self._database = sqlite3.connect(self._path, isolation_level=None)
        run = self._database.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=NORMAL")
        run(f"PRAGMA cache_size=-{CACHE_KIB}")
        run("CREATE TABLE IF NOT EXISTS entries"
            " (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")  # fmt: skip
        run("CREATE TABLE IF NOT EXISTS position (of INTEGER PRIMARY KEY, at INTEGER)")
        self._position = self._stored_position()

    def _stored_position(self) -> int | None:
        row = self._database.execute("SELECT at FROM position WHERE of = 0").fetchone()
        return None if row is None else row[0]

    @property
    def position(self) -> int | None:
        """See LocalCopy."""
        return self._position

    def get(self, key: bytes) -> bytes | None:
        """See LocalCopy."""
        row = self._database.execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def scan(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """See LocalCopy."""
        least, compared = start or b"", ">="
        until, last = ("", ()) if end is None else (" AND key < ?", (end,))
        while True:
            rows = self._database.execute(
                f"SELECT key, value FROM entries WHERE key {compared} ?{until}"
                f" ORDER BY key LIMIT {ROWS_AT_ONCE}",
                (least, *last),
            ).fetchall()
            yield from rows
            if len(rows) < ROWS_AT_ONCE:
                return
            least, compared = rows[-1][0], ">"

    def apply(self, entries: Iterable[Entry], position: int | None) -> None:
        """See LocalCopy; ComponentError if another process has written meanwhile."""
        run = self._database.execute
        run("BEGIN IMMEDIATE")
        try:
            if self._stored_position() != self._position:
                raise ComponentError(f"{self._path}: another process has written into this store")
            for key, value in entries:
                if value is None:
                    run("DELETE FROM entries WHERE key = ?", (key,))
                else:
                    run("INSERT OR REPLACE INTO entries VALUES (?, ?)", (key, value))
            run("INSERT OR REPLACE INTO position VALUES (0, ?)", (position,))
        except BaseException:
            run("ROLLBACK")
            raise
        run("COMMIT")
        self._position = position

    def clear(self) -> None:
        """See LocalCopy."""
        self._database.execute("DELETE FROM entries")
        self._database.execute("DELETE FROM position")
        self._position = None

    def close(self) -> None:
        """See LocalCopy."""
        self._database.close()
