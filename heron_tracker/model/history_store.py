"""The history of all topologies in one sqlite file of bounded size."""

import logging
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

import msgpack

from heron_core.errors import HeronError
from heron_core.stats import InstanceStats
from heron_tracker.envelope import Unavailable
from heron_tracker.model.history import (
    LEVELS,
    MINUTE_SECS,
    Point,
    Recorder,
    Values,
    rolled_up,
    whole_windows,
)

log = logging.getLogger("tracker")

BYTES_MAX = 512 * 1024 * 1024
"""Of the file: fifty topologies of twenty instances need 430 MiB for 30 days, if each of sixteen
series is a random number. In a full file the oldest points make room, whatever their age."""
PAGE_BYTES = 4096
DROPPED_SHARE = 10
"""One in so many points makes room at a time."""
SECTIONS_MAX = 200
"""Topologies whose recorders are kept: of more, each begins again when it is looked at."""

_TABLE = """
create table if not exists points (
    topology text, secs integer, at integer, component text, data blob,
    primary key (topology, secs, at, component)
) without rowid;
create index if not exists by_age on points (secs, at);
"""


def history_file(folder: str, store_url: str) -> str:
    """The file for the topologies of one state store."""
    return os.path.join(folder, f"history-{sha256(store_url.encode()).hexdigest()[:12]}.sqlite")


class HistoryStore:
    """What was recorded; all methods may be called from any thread."""

    def __init__(self, path: str, bytes_max: int = BYTES_MAX) -> None:
        if path != ":memory:":
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self._lock = threading.Lock()
        self._recorders: dict[str, Recorder] = {}
        self._rolled: dict[tuple[str, int], int] = {}
        """(topology, length of points) -> beginning of the newest point."""
        self._forget_at = 0.0
        try:
            self._database = self._opened(path, bytes_max)
        except sqlite3.Error as error:
            raise HeronError(
                f"the history {path} cannot be opened: {error}. Move the file away, or set "
                "HERONPY_HOME"
            ) from None

    def _opened(self, path: str, bytes_max: int) -> sqlite3.Connection:
        database = sqlite3.connect(path, check_same_thread=False, timeout=5.0)
        for pragma in (
            "journal_mode = wal",
            "synchronous = normal",
            f"page_size = {PAGE_BYTES}",
            f"max_page_count = {bytes_max // PAGE_BYTES}",
        ):
            database.execute(f"pragma {pragma}")
        database.executescript(_TABLE)
        return database

    def record(self, topology: str, instances: Iterable[InstanceStats], at: float) -> None:
        """Reports of a topology's instances (by topology id) at `at`, in seconds since 1970."""
        with self._lock:
            if len(self._recorders) >= SECTIONS_MAX and topology not in self._recorders:
                self._recorders.pop(next(iter(self._recorders)))
            recorder = self._recorders.setdefault(topology, Recorder())
            points = recorder.take(instances, at)
            if points:
                self._insert(topology, points)
                self._roll_up(topology, at)
                if at >= self._forget_at:
                    self._forget_at = at + MINUTE_SECS
                    self._forget_old(at)

    def _insert(self, topology: str, points: Sequence[Point]) -> None:
        rows = [(topology, x.secs, x.at, x.component, _packed(x.values)) for x in points]
        for _ in range(2):
            try:
                with self._database:
                    self._database.executemany(
                        "insert or replace into points values (?, ?, ?, ?, ?)", rows
                    )
                return
            except sqlite3.OperationalError as error:
                log.warning("the history makes room: %s", error)
                self._evict()

    def _evict(self) -> None:
        """The oldest go."""
        try:
            with self._database:
                (count,) = self._database.execute("select count(*) from points").fetchone()
                oldest = "select at from points order by at limit 1 offset ?"
                last_dropped = self._database.execute(oldest, (count // DROPPED_SHARE,)).fetchone()
                if last_dropped is not None:
                    self._database.execute("delete from points where at <= ?", last_dropped)
        except sqlite3.Error as error:
            log.warning("the history cannot make room: %s", error)

    def _roll_up(self, topology: str, at: float) -> None:
        """Points of five minutes and of hours, once their time is over."""
        for (finer_secs, finer_kept_secs), (secs, _) in pairwise(LEVELS):
            key = (topology, secs)
            if key not in self._rolled:
                self._rolled[key] = self._newest(topology, secs)
            for begin in whole_windows(self._rolled[key], at, secs, finer_kept_secs):
                finer = self._rows(topology, finer_secs, begin, begin + secs - 1)
                if finer:
                    self._insert(topology, rolled_up(finer, begin, secs))
                self._rolled[key] = begin

    def _newest(self, topology: str, secs: int) -> int:
        query = "select max(at) from points where topology = ? and secs = ?"
        (newest,) = self._database.execute(query, (topology, secs)).fetchone()
        return newest if newest is not None else 0

    def _forget_old(self, at: float) -> None:
        with self._database:
            for secs, kept in LEVELS:
                self._database.execute(
                    "delete from points where secs = ? and at < ?", (secs, int(at) - kept)
                )

    def points(self, topology: str, component: str, start: int, end: int) -> list[Point]:
        """Points of one component overlapping the minutes from `start` to `end`, without the
        point in progress."""
        last = end // MINUTE_SECS * MINUTE_SECS + MINUTE_SECS - 1
        try:
            with self._lock:
                return [
                    point
                    for secs, _ in LEVELS
                    for point in self._rows(topology, secs, start - secs + 1, last, component)
                ]
        except sqlite3.Error as error:
            raise Unavailable(
                f"the history cannot be read: {error}; if that stays so, move its file away"
            ) from None

    def _rows(
        self, topology: str, secs: int, start: int, end: int, component: str | None = None
    ) -> list[Point]:
        query = "select component, at, data from points where topology = ? and secs = ? and at "
        query += "between ? and ?" + ("" if component is None else " and component = ?")
        arguments = (topology, secs, start, end, *(() if component is None else (component,)))
        return [
            Point(name, at, secs, _unpacked(data))
            for name, at, data in self._database.execute(query, arguments)
        ]

    def close(self) -> None:
        """Write what is being made, and let the file go."""
        with self._lock:
            for topology, recorder in self._recorders.items():
                points = recorder.flush()
                if points:
                    self._insert(topology, points)
            self._database.close()


def _packed(values: Values) -> bytes:
    data: bytes = msgpack.packb({task: dict(each) for task, each in values.items()})
    return zlib.compress(data, 1)


def _unpacked(data: bytes) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = msgpack.unpackb(
        zlib.decompress(data), strict_map_key=False
    )
    return found
