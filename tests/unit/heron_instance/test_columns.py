"""Batches: columns emitted and taken by user code, without an effect on further components."""

import pickle
import sys
from array import array
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import reduce
from operator import xor
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from heron_core.errors import ComponentError, ProtocolError, TopologyError
from heron_core.topology import GroupingKind, GroupingSpec, StreamSpec
from heron_core.wire.batch import decode_batch, encode_columns
from heron_core.wire.columns import of_rows, read, rows_of, schema_of, serialized
from heron_core.wire.frames import Flag, FrameKind, Frames, parse_header
from heron_core.wire.packets import encode_roots
from heron_frontends.loading.component_checks import check_components
from heronpy_compat import BatchBolt
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    OTHER,
    SHUFFLE,
    SOURCE,
    Made,
    Middle,
    Source,
    batch,
    grouped,
    make,
    reads,
    topology_of,
)

TYPED = StreamSpec("default", ("key", "number"), types=("string", "bigint"))
FED = StreamSpec("default", ("value",), types=("bigint",))
FIELDS, ALL = GroupingKind.FIELDS, GroupingKind.ALL
ROOT = OTHER << 44


class Columns(BatchBolt):
    """Keeps its batches, and acts as told by the test."""

    def initialize(self, config: Any, context: Any) -> None:
        self.received: list[tuple[str, list[Any]]] = []
        self.emits: Any = None

    def process_batch(self, batch: Any) -> None:
        assert self.current_tuple.component == "other"
        self.received.append((self.current_tuple.stream, batch.column(0).to_pylist()))
        if self.emits is not None:
            self.emits(batch)


class HeldColumns(Columns):
    auto_ack = False

    def process_batch(self, batch: Any) -> None:
        super().process_batch(batch)
        self.held = self.current_tuple


def sent(made: Made) -> list[tuple[int, list[Any]]]:
    """(task, values) of each delivery of batches, in order."""
    made.core.flush()
    return [(each.head.destination, row) for each in made.batches() for row in rows(each.frames)]


def rows(frames: Frames, spec: StreamSpec = TYPED) -> list[list[Any]]:
    head = parse_header(frames[0])
    assert head.flags & Flag.COLUMNS
    return rows_of(read(decode_batch(head, frames).body, schema_of(spec), head.items))


def columns_message(
    values: Sequence[Any],
    runs: Sequence[tuple[int, int, int]] = (),
    extras: Sequence[int] = (),
) -> Frames:
    """A message to the tested bolt, of runs (root, edge, size)."""
    body = serialized(of_rows([[each] for each in values], FED.fields, schema_of(FED)))
    ids = [number for root, edge, _ in runs for number in (root, edge)] if runs else None
    sizes = [size for *_, size in runs]
    return encode_columns(EPOCH, OTHER, SOURCE, body, len(values), 0, ids, sizes, extras)


def acks(made: Made) -> dict[int, int]:
    """root -> the xor of its acked edges."""
    made.core.flush()
    found: dict[int, int] = {}
    words = iter(made.words_of(FrameKind.ACK))
    for root, value in zip(words, words, strict=True):
        found[root] = found.get(root, 0) ^ value
    return found


# --- groupings ------------------------------------------------------------------------------------

KEYS = [None, "", "a", "b", "words", "ä", "z" * 40, "a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize(
    ("grouping", "types", "keys"),
    [
        (grouped(FIELDS, "key"), ("string", "bigint"), KEYS),
        (grouped(FIELDS, "key", "number"), ("string", "bigint"), KEYS),
        (grouped(FIELDS, "number", "key"), ("date", "bigint"), [date(2020, 1, d) for d in (1, 2)]),
        (grouped(FIELDS, "key"), ("double", "bigint"), [0.0, -0.0, 1.0, 1.5, None, 2.0**60]),
        (grouped(FIELDS, "key"), ("array<int>", "bigint"), [[1], [], [1, 2], None, [1]]),
        (grouped(FIELDS, "key"), ("map<string,int>", "bigint"), [{"a": 1}, {}, {"a": 1, "b": 2}]),
        (grouped(FIELDS, "key"), ("struct<a: int>", "bigint"), [{"a": 1}, {"a": None}, None]),
        (grouped(GroupingKind.PARTIAL_KEY, "key"), ("string", "bigint"), KEYS),
        (grouped(GroupingKind.CUSTOM), ("array<int>", "bigint"), [[2], [3, 5], [], [4]]),
        (grouped(ALL), ("string", "bigint"), KEYS),
        (grouped(GroupingKind.GLOBAL), ("string", "bigint"), KEYS),
    ],
)
def test_a_batch_goes_where_its_tuples_would(
    grouping: GroupingSpec, types: tuple[str, str], keys: list[Any]
) -> None:
    values = [[keys[at % len(keys)], at * at % 7] for at in range(200)]
    stream = StreamSpec("default", ("key", "number"), types=types)
    one_by_one, at_once = (
        make(Source, reads(grouping), outputs=[stream], tracked=False) for _ in range(2)
    )
    for each in values:
        one_by_one.component.emit(each)
    for some in (values[:1], values[1:150], values[150:]):
        at_once.component.emit_batch(of_rows(some, stream.fields, schema_of(stream)))
    at_once.core.flush()
    by_task: dict[int, list[Any]] = {}
    for message in at_once.batches():
        by_task.setdefault(message.head.destination, []).extend(rows(message.frames, stream))
    expected: dict[int, list[Any]] = {}
    for task, row in one_by_one.emitted():
        expected.setdefault(task, []).append(row)
    assert by_task == expected
    statistics = [made.core.statistics() for made in (one_by_one, at_once)]
    assert [each.emitted_by_stream for each in statistics] == [{"default": 200}] * 2
    assert one_by_one.core.outbox.deliveries == at_once.core.outbox.deliveries


class Dividing:
    """A custom grouping that takes a whole batch: odd numbers to the last task."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: Any) -> list[int]:
        raise AssertionError("it was asked row by row")

    def divide_batch(self, batch: pa.RecordBatch) -> Any:
        odd = pc.equal(pc.bit_wise_and(batch["number"], 1), 1)
        key = batch["key"][0].as_py()
        wrong = batch.select(["number"]) if key == "columns" else batch
        yield ([99] if key == "tasks" else self.tasks[-1:]), batch.filter(odd)
        yield self.tasks[:1], wrong.filter(pc.invert(odd))


def test_a_custom_grouping_may_take_a_whole_batch() -> None:
    grouping = GroupingSpec(GroupingKind.CUSTOM, custom=pickle.dumps(Dividing()))
    made = make(Source, reads(grouping), outputs=[TYPED], tracked=False)
    for key, complaint in {
        "tasks": r"by Dividing .*: divide_batch must yield lists of task ids out of .*not \[99\]",
        "columns": "divide_batch must yield rows of key, number, not of number",
    }.items():
        with pytest.raises(ComponentError, match=complaint):
            made.component.emit_batch({"key": [key] * 2, "number": [1, 2]})
    made.component.emit_batch({"key": list("abcd"), "number": [1, 2, 3, 5]})
    assert sorted(sent(made)) == [(2, ["b", 2]), (5, ["a", 1]), (5, ["c", 3]), (5, ["d", 5])]


def test_many_tasks_get_their_rows_in_order() -> None:
    """More tasks than filtered one by one."""
    from heron_instance.emit.column_groupings import FILTERED_MAX, _split

    tasks = [at * 7 % (FILTERED_MAX + 3) for at in range(100)]
    found = dict(_split(pa.record_batch({"at": range(100)}), pa.array(tasks, pa.int64())))
    expected = {task: [at for at in range(100) if tasks[at] == task] for task in tasks}
    assert {task: part["at"].to_pylist() for task, part in found.items()} == expected


def test_batches_of_a_shuffle_take_turns() -> None:
    made = make(Source, reads(SHUFFLE), outputs=[TYPED], tracked=False)
    for at in range(8):
        made.component.emit_batch({"key": ["a", "b"], "number": [at, at]})
    tasks = [task for task, _ in sent(made)]
    assert sorted(tasks) == [task for task in (2, 3, 4, 5) for _ in range(4)]


def test_batches_leave_by_themselves_when_they_fill_a_message() -> None:
    made = make(Source, reads(SHUFFLE), outputs=[TYPED], tracked=False)
    for _ in range(100):  # 10 MB
        made.component.emit_batch({"key": ["x" * 100] * 1000, "number": range(1000)})
    assert len(made.batches()) > 4


def test_tuples_and_batches_for_one_task_keep_their_order() -> None:
    made = make(Source, reads(grouped(ALL)), outputs=[TYPED], tracked=False)
    for at in range(6):
        if at % 3:
            made.component.emit_batch({"key": ["x"], "number": [at]})
        else:
            made.component.emit(["x", at])
    made.core.flush()
    for task in (2, 3, 4, 5):
        numbers = [
            row[1]
            for each in made.batches()
            if task in each.targets
            for row in (rows(each.frames) if each.head.flags & Flag.COLUMNS else each.values)
        ]
        assert numbers == list(range(6))


def test_small_batches_travel_together_and_large_ones_in_pieces() -> None:
    made = make(Source, reads(grouped(GroupingKind.GLOBAL)), outputs=[TYPED])
    for at in range(50):
        made.component.emit_batch({"key": ["small"], "number": [at]}, tup_id=at)
    made.core.flush()
    (together,) = made.batches()
    assert (together.head.items, len(together.ids)) == (50, 100)
    made.sent.clear()
    large = {"key": ["large" * 20] * 100_000, "number": range(100_000)}
    made.component.emit_batch(large, tup_id="large")
    made.core.flush()
    pieces = made.batches()
    assert len(pieces) > 5
    assert [row[1] for each in pieces for row in rows(each.frames)] == list(range(100_000))
    assert len({each.ids[0] for each in pieces}) == 1, "all of it is one tree"


# --- acks -----------------------------------------------------------------------------------------


def test_a_spout_is_told_once_of_all_rows() -> None:
    made = make(Source, reads(grouped(FIELDS, "key")), outputs=[TYPED])
    made.component.emit_batch({"key": list("abcdefgh"), "number": range(8)}, tup_id="batch")
    made.component.emit_batch({"key": [], "number": []}, tup_id="empty")
    made.core.flush()
    edges = [each.ids for each in made.batches()]
    assert len(edges) > 1
    (root,) = {ids[0] for ids in edges}
    assert made.words_of(FrameKind.INIT) == [root, reduce(xor, (ids[1] for ids in edges))]
    assert made.core.collector.done_at_once == ["empty"]
    made.core.set_active(True)
    made.core.deliver(encode_roots(FrameKind.ACKED, EPOCH, 0, SOURCE, [root]))
    assert made.component.acked == ["batch"]
    made.core.validate()


def test_a_batch_is_acked_for_all_roots_of_its_rows() -> None:
    made = make(Columns, reads(grouped(GroupingKind.GLOBAL)), outputs=[TYPED], types=FED.types)
    made.component.emits = lambda batch: made.component.emit_batch(
        {"key": ["made"] * len(batch), "number": batch["value"]}
    )
    runs = [(ROOT + 1, 10, 2), (ROOT + 2, 20, 1), (0, 0, 1), (ROOT + 1, 40, 1)]
    made.core.deliver(columns_message(range(5), runs, extras=[1, ROOT + 3]))
    told = acks(made)
    (out,) = made.batches()
    further = array("Q", out.frames[4])
    assert out.ids[0] == ROOT + 1
    assert list(further) == [0, ROOT + 2, 0, ROOT + 3]
    edge = out.ids[1]
    assert told == {ROOT + 1: 10 ^ 40 ^ edge, ROOT + 2: 20 ^ edge, ROOT + 3: 20 ^ edge}
    found = made.core.statistics()
    assert (found.executed, found.acked, found.execute.number) == (5, 5, 5)
    made.core.validate()


def test_a_batch_fails_as_a_whole_and_is_acked_when_the_user_says_so() -> None:
    def boom(batch: Any) -> None:
        raise ValueError("boom")

    made = make(Columns, reads(SHUFFLE), types=FED.types)
    made.component.emits = boom
    made.core.deliver(columns_message(range(3), [(ROOT + 1, 10, 2), (ROOT + 2, 20, 1)]))
    made.core.flush()
    assert made.words_of(FrameKind.FAIL) == [ROOT + 1, ROOT + 2]
    assert (made.core.statistics().failed, made.core.statistics().acked) == (3, 0)
    assert "boom" in made.errors[0]

    held = make(HeldColumns, reads(SHUFFLE), types=FED.types)
    held.core.deliver(columns_message(range(3), [(ROOT + 1, 10, 3)]))
    assert acks(held) == {}
    held.component.ack(held.component.held)
    assert acks(held) == {ROOT + 1: 10}
    assert held.core.statistics().acked == 3


def test_a_bolt_of_tuples_reads_columns_by_rows() -> None:
    made = make(Middle, reads(SHUFFLE), types=FED.types)
    runs = [(ROOT + 1, 10, 2), (ROOT + 2, 20, 2), (0, 0, 1)]
    made.core.deliver(columns_message(range(5), runs, extras=[1, ROOT + 3]))
    received = made.component.received
    assert [tup.values for tup in received] == [[at] for at in range(5)]
    assert len({tup.tuple_key for tup in received[:4]}) == 4
    for tup, told in zip(
        received,
        ({}, {ROOT + 1: 10}, {ROOT + 1: 10}, {ROOT + 1: 10, ROOT + 2: 20, ROOT + 3: 20}, {}),
        strict=True,
    ):
        made.component.ack(tup)
        assert not told or acks(made) == told
    made.core.deliver(columns_message([5, 6]))
    assert [tup["value"] for tup in received[5:]] == [5, 6]
    assert made.core.statistics().executed == 7


def test_rows_of_a_run_with_several_roots_may_be_acked_all_at_once() -> None:
    made = make(Middle, reads(SHUFFLE), types=FED.types)
    runs = [(ROOT + 1, 10, 2), (ROOT + 2, 20, 2)]
    made.core.deliver(columns_message(range(4), runs, extras=[1, ROOT + 3]))
    for tup in made.component.received:
        made.component.ack(tup)
    assert acks(made) == {ROOT + 1: 10, ROOT + 2: 20, ROOT + 3: 20}


@pytest.mark.parametrize("types", [("bigint",), ()])
def test_a_bolt_of_batches_reads_tuples_as_columns(types: tuple[str, ...]) -> None:
    made = make(Columns, reads(SHUFFLE), types=types)
    made.core.deliver(batch([1], [2], [3], roots=[(ROOT, 1), None, (ROOT, 4)]))
    assert made.component.received == [("default", [1, 2, 3])]
    assert acks(made) == {ROOT: 5}
    assert made.core.statistics().executed == 3


def test_a_value_that_is_not_of_the_declared_type_fails_its_message() -> None:
    made = make(Columns, reads(SHUFFLE), types=("bigint",))
    made.core.deliver(batch([1], ["two"], roots=[(ROOT, 1), (ROOT, 2)]))
    made.core.flush()
    assert made.words_of(FrameKind.FAIL) == [ROOT]
    assert "other.default: the values of field 'value' are not a column (int64)" in made.errors[0]


def test_what_is_no_record_batch_is_dropped() -> None:
    made = make(Columns, reads(SHUFFLE), types=FED.types)
    good = columns_message(range(3))
    for body in (b"", b"\x00" * 64, good[1][:-40]):
        with pytest.raises(ProtocolError, match="not a record batch"):
            made.core.deliver([good[0], body])
    with pytest.raises(ProtocolError, match="1 rows for 3 tuples"):
        made.core.deliver([good[0], columns_message([1])[1]])
    assert made.component.received == []


class Foreign:
    """A frame of another library, which has Arrow's C interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        table = pa.table({"key": pa.array(["a", "b"], pa.string_view()), "number": [1, 2]})
        return table.__arrow_c_stream__(requested_schema)


# --- frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pa.record_batch({"number": [1, 2], "key": ["a", "b"]}),
        pa.table(
            {"key": pa.array(["a", "b"], pa.large_string()), "number": [1, 2], "more": [0, 0]}
        ),
        pandas.DataFrame({"key": ["a", "b"], "number": [1, 2]}),
        pandas.DataFrame({"key": pandas.Categorical(["a", "b"]), "number": [1, 2]}, index=[7, 8]),
        {"key": ("a", "b"), "number": pa.array([1, 2], pa.uint8())},
        Foreign(),
    ],
)
def test_frames_of_any_kind_are_emitted(frame: Any) -> None:
    made = make(Source, reads(SHUFFLE), outputs=[TYPED], tracked=False)
    made.component.emit_batch(frame)
    assert [row for _, row in sent(made)] == [["a", 1], ["b", 2]]


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        ({"key": ["a"]}, "tested.default: the frame has no column 'number'; .*key"),
        (
            {"key": [1], "number": [1]},
            "tested.default: field 'key' is declared as string, but the frame has a int: 1",
        ),
        (
            {"key": ["a"], "number": [1.5]},
            "tested.default: field 'number' is declared as bigint, but the frame has a float: 1.5",
        ),
        (
            {"key": ["a"], "number": pa.array([2**63], pa.uint64())},
            "field 'number' is declared as bigint, but the frame has uint64: .*not in range",
        ),
        ({"key": ["a"], "number": [1, 2]}, "the frame is not a table"),
        (
            {"key": pa.array([1]), "number": [1]},
            "'key' is declared as string, but the frame has int64",
        ),
        ({"key": ["a"], "number": [1, "b"]}, "declared as bigint, but the frame has a str: 'b'"),
        ([["a", 1]], "emit_batch takes a RecordBatch, .*not a list"),
    ],
)
def test_a_frame_that_does_not_fit_says_why(frame: Any, complaint: str) -> None:
    made = make(Source, reads(SHUFFLE), outputs=[TYPED])
    with pytest.raises(TypeError, match=complaint):
        made.component.emit_batch(frame, tup_id=1)
    assert sent(made) == []
    assert not made.core.collector.pending


def test_a_stream_without_types_or_a_row_without_end_takes_no_batch() -> None:
    made = make(Source, reads(SHUFFLE))
    with pytest.raises(TypeError, match=r'no types .*outputs = {"a": "string", "b": "string"}'):
        made.component.emit_batch({"a": [1], "b": [2]})
    small = {"topology.message.bytes.max": 100}
    made = make(Source, reads(SHUFFLE), outputs=[TYPED], config=small)
    with pytest.raises(ComponentError, match=r"a row of \d+ bytes is over the limit of 100"):
        made.component.emit_batch({"key": ["x" * 200], "number": [1]})


def test_without_pyarrow_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    cure = r"needs the package pyarrow: pip install 'heronpy-topologies\[tables\]'$"
    made = make(Source, reads(SHUFFLE), outputs=[TYPED])
    with pytest.raises(ComponentError, match=f"^tested: emit_batch {cure}"):
        made.component.emit_batch({"key": ["a"], "number": [1]})
    topology = topology_of(Columns, [TYPED], [], {})
    with pytest.raises(TopologyError, match=f"^bolt 'tested': a BatchBolt {cure}"):
        check_components(topology, runs_here=True)


def test_a_list_in_a_frame_is_a_column_of_the_declared_type_whatever_is_in_it() -> None:
    """Of what Arrow infers of a list, a dict is a struct and a struct in order no struct."""
    types = ("map<string,int>", "array<struct<a:int,b:double>>", "decimal(10,2)")
    typed = StreamSpec("default", ("m", "s", "d"), types=types)
    made = make(Source, reads(SHUFFLE), outputs=[typed], tracked=False)
    frame = {
        "m": [{"x": 1}, {}, None],
        "s": [[{"a": 1}, (2, 2**60)], [], [None]],
        "d": [Decimal("1.5"), 7, None],
    }
    made.component.emit_batch(frame)
    made.core.flush()
    assert rows(made.batches()[0].frames, typed) == [
        [{"x": 1}, [{"a": 1, "b": None}, {"a": 2, "b": float(2**60)}], Decimal("1.50")],
        [{}, [], Decimal("7.00")],
        [None, [None], None],
    ]
    with pytest.raises(TypeError, match=r"field 's' is declared as .*, but the frame has a list"):
        made.component.emit_batch({**frame, "s": [[{"unknown": 1}]] * 3})


STRUCT = {"a": 1, "more": 2}


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("struct<a:int>", STRUCT),
        ("array<struct<a:int>>", [STRUCT]),
        ("struct<s:struct<a:int>>", {"s": STRUCT}),
    ],
)
@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_a_frame_whose_structs_have_a_field_more_is_refused(
    declared: str, value: Any, library: str
) -> None:
    """Arrow's cast leaves it out: the value was cut in silence."""
    typed = StreamSpec("default", ("v",), types=(declared,))
    made = make(Source, reads(SHUFFLE), outputs=[typed])
    frame: Any = pa.table({"v": [value]})
    if library == "polars":
        frame = pytest.importorskip("polars").from_arrow(frame)
    elif library == "pandas":
        frame = pytest.importorskip("pandas").DataFrame({"v": [value]})
    with pytest.raises(TypeError, match="'more' is not a field of the declared type"):
        made.component.emit_batch(frame)
    assert sent(made) == []


def test_a_map_whose_structs_have_a_field_more_is_refused() -> None:
    typed = StreamSpec("default", ("v",), types=("map<string,struct<a:int>>",))
    made = make(Source, reads(SHUFFLE), outputs=[typed])
    item = pa.struct([("a", pa.int32()), ("more", pa.int32())])
    column = pa.array([[("k", STRUCT)]], pa.map_(pa.string(), item))
    with pytest.raises(TypeError, match="'more' is not a field of the declared type"):
        made.component.emit_batch(pa.table({"v": column}))
