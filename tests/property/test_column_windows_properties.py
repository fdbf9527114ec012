"""Windows over record batches and windows over their rows as tuples show equal results.

Random streams with disorder, late rows, nulls, times before 1970, several keys, allowed lateness,
and bolts replaced by their saved state, a part of the keys at a time.
"""

from collections import Counter
from collections.abc import Iterable
from logging import getLogger
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgpack
import pyarrow as pa
import pytest

from heron_core.algorithms.event_windows.aggregates import AggregateBase
from heron_core.algorithms.event_windows.column_windows import ColumnWindows
from heron_core.algorithms.event_windows.values import Result
from heronpy_compat import Stream
from heronpy_compat.windows import BatchWindowBolt, KeyedWindowBolt, Sliding, Tumbling

STREAMS = 12
"""For each kind of window: half a second."""
TYPES = {"user": "string", "page": "bigint", "time_ms": "bigint", "value": "bigint"}
ARROW = [
    ("user", pa.string()),
    ("page", pa.int64()),
    ("time_ms", pa.int64()),
    ("value", pa.int64()),
]
FIELDS = ["start_ms", "end_ms", "total", "least", "most", "values", "rows", "mean"]
CONFIG = {"topology.bolts.watermark.event.interval.ms": 1000}


class Tup(NamedTuple):
    """A tuple, or a batch."""

    id: str
    values: Any
    component: str = "events"
    stream: str = "default"
    task: int = 1
    fields: tuple[str, ...] = tuple(TYPES)


class AllOfIt(AggregateBase):
    """What the aggregates of the batches say, row by row."""

    def create(self) -> list[Any]:
        return []

    def add(self, accumulator: list[Any], value: Any) -> list[Any]:
        return [*accumulator, value]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return left + right

    def result(self, accumulator: list[Any]) -> list[Any]:
        found = [each for each in accumulator if each is not None]
        total = sum(found) if found else None
        mean = None if total is None else total / len(found)
        least, most = min(found, default=None), max(found, default=None)
        return [total, least, most, len(found), len(accumulator), mean]


class ByRow(KeyedWindowBolt):
    outputs = ["anything", Stream(["late_tuple"], name="late")]
    timestamp_field = "time_ms"
    late_stream = "late"
    aggregate = AllOfIt()

    def value(self, tup: Any, timestamp_ms: int) -> Any:
        return tup.values[3]

    def values(self, result: Any) -> Any:
        return [*result.key, *result.window, *result.value]


class ByBatch(BatchWindowBolt):
    outputs = [Stream({"anything": "string"}), Stream(TYPES, name="late")]
    timestamp_field = "time_ms"
    late_stream = "late"
    aggregates = {
        "total": ("value", "sum"),
        "least": ("value", "min"),
        "most": ("value", "max"),
        "values": ("value", "count"),
        "rows": "count",
        "mean": ("value", "mean"),
    }


class Side:
    """One of the two bolts, and its output."""

    def __init__(self, kind: Any, attributes: dict[str, Any]) -> None:
        self._kind = type("Made", (kind,), attributes)
        self.results: list[tuple[Any, ...]] = []
        self.late: Counter[tuple[Any, ...]] = Counter()
        self.acked: list[str] = []
        self.saved: dict[Any, Any] = {}
        self.bolt = self._made()

    def _made(self) -> Any:
        bolt = self._kind(SimpleNamespace(logger=getLogger("windows")))
        bolt.emit, bolt.emit_batch = self._emit, self._emit_batch
        bolt.ack = lambda tup: self.acked.append(tup.id)
        bolt.initialize(CONFIG, None)
        return bolt

    def _emit(self, tup: Any, stream: str = "default", anchors: Any = None) -> None:
        if stream == "late":
            self.late[tuple(tup[0])] += 1
        else:
            self.results.append(tuple(tup))

    def _emit_batch(self, frame: Any, stream: str = "default", anchors: Any = None) -> None:
        if stream == "late":
            self.late.update(map(tuple, map(dict.values, frame.to_pylist())))
            return
        names = [*self.bolt.key_fields, *FIELDS]
        self.results += map(tuple, map(dict.values, pa.table(frame).select(names).to_pylist()))

    def save(self) -> None:
        """As a checkpoint does: what has changed."""
        is_all, keys = self.bolt.time_runner.operator.changes()
        self.saved = {} if is_all else self.saved
        self.saved |= keys

    def restart(self) -> None:
        """Another process goes on with what was saved."""
        self.save()
        watermark_ms = self.bolt.time_runner.operator.watermark_ms
        kept = [(key, value) for key, value in self.saved.items() if value is not None]
        self.bolt = self._made()
        operator = self.bolt.time_runner.operator
        operator.restore(*msgpack.unpackb(msgpack.packb([watermark_ms, kept])))

    def newest(self) -> dict[tuple[Any, ...], Any]:
        """The last result of each key and window."""
        keys = len(self.bolt.key_fields) + 2
        return {each[:keys]: each[keys:] for each in self.results}


def random_rows(rng: Random, at: int) -> list[list[Any]]:
    """Some rows about that time."""
    users: list[str | None] = ["a", f"at {at}", None] if rng.random() < 0.5 else ["a"]
    return [
        [rng.choice(users), rng.randint(1, 2), at + rng.randint(-15, 15), rng.choice([None, 1, 7])]
        for _ in range(rng.choice([1, 2, 20]))
    ]


def batch_of(rows: Iterable[list[Any]]) -> Any:
    columns = list(zip(*rows, strict=True))
    return pa.record_batch(
        [pa.array(each, kind) for each, (_, kind) in zip(columns, ARROW, strict=True)],
        names=list(TYPES),
    )


def random_window(rng: Random, is_sliding: bool) -> Any:
    length = rng.randint(1, 20)
    if is_sliding:
        return Sliding(length, rng.randint(1, length), rng.randint(-5, 5))
    return Tumbling(length, rng.randint(-5, 5))


@pytest.mark.parametrize("is_sliding", [False, True])
def test_batches_have_the_windows_of_their_rows(is_sliding: bool) -> None:
    for seed in range(STREAMS):
        rng = Random(seed)
        attributes = {
            "window": random_window(rng, is_sliding),
            "key_fields": rng.choice([[], ["user"], ["page", "user"]]),
            "lag_ms": rng.choice([0, 5, 30]),
            "allowed_lateness_ms": rng.choice([0, 10, 60]),
        }
        rows, batches = Side(ByRow, attributes), Side(ByBatch, attributes)
        run(rng, rows, batches, attributes)


def run(rng: Random, rows: Side, batches: Side, attributes: dict[str, Any]) -> None:
    """Both get equal input, and agree after each batch."""
    at, sizes = rng.randint(-40, 40), {}
    for number in range(rng.randint(1, 25)):
        at += rng.choice([0, 3, 10, 60])
        some = random_rows(rng, at)
        sizes[f"{number}"] = len(some)
        for each in some:
            rows.bolt.process(Tup(f"{number}", each))
        batches.bolt.process(Tup(f"{number}", batch_of(some)))
        what = rng.choice(["", "tick", "tick", "save", "save", "restart", "sources finish"])
        for side in (rows, batches):
            tell(side, what)
        compare(rows, batches, attributes)
        if what == "restart":  # the sources go back to what was not saved: nobody waits for acks
            sizes.clear()
    for side in (rows, batches):
        side.bolt.on_finish()
    compare(rows, batches, attributes)
    batches.save()
    assert not [key for key, kept in batches.saved.items() if kept is not None], "saved for ever"
    acked = Counter(rows.acked)
    assert all(acked[number] == size for number, size in sizes.items())
    assert all(batches.acked.count(number) == 1 for number in sizes)


def tell(side: Side, what: str) -> None:
    if what == "tick":
        side.bolt.process_tick(None)
    elif what == "save":
        side.save()
    elif what == "restart":
        side.restart()
    elif what == "sources finish":
        side.bolt.source_watermark("events", 1, 2**63 - 1)


def compare(rows: Side, batches: Side, attributes: dict[str, Any]) -> None:
    assert rows.newest() == batches.newest(), attributes
    if attributes["allowed_lateness_ms"] == 0:  # else a tuple corrects a result, and a batch does
        assert Counter(rows.results) == Counter(batches.results), attributes
    assert rows.late == batches.late, attributes


def test_what_an_instance_has_shown_no_other_shows_again() -> None:
    """The progress is saved with the key, and the next instance may lag behind."""
    first, other = (ColumnWindows(Sliding(20, 10), {"rows": "count"}) for _ in range(2))
    starts, late = first.starts(pa.array([5]))
    assert late is None
    first.add([pa.array(["a"])], {}, starts, ())
    saved = dict(first.changes().keys)
    assert windows_of(first.advance_watermark(10)) == [(-10, 10)]
    saved |= first.changes().keys
    other.restore(0, saved.items())  # type: ignore[arg-type]
    assert windows_of(other.advance_watermark(10)) == []
    assert windows_of(other.advance_watermark(20)) == [(0, 20)]
    assert (other.rows, other.open_windows) == (0, 0)


def windows_of(outputs: Any) -> list[tuple[int, int]]:
    return [(*each.window,) for each in outputs if isinstance(each, Result)]
