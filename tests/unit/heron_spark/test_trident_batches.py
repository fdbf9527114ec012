"""Trident in micro-batches: the tester's answers, each batch once in its states."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from heron_spark.compile.plan import compile_topology, problems
from heron_tester.sources import topology_of
from heronpy_compat.testing import LocalDRPC, TopologyTester
from heronpy_compat.trident import (
    Count,
    CountAsAggregator,
    Emitter,
    FixedBatchSpout,
    ICommitterTridentSpout,
    MapGet,
    MemoryMapState,
    NonTransactionalMap,
    OpaqueMap,
    StateFactory,
    Sum,
    TransactionalMap,
    TridentTopology,
    TumblingCountWindow,
)
from heronpy_compat.trident.spouts import BatchCoordinator, TridentSpout
from heronpy_compat.trident.state.map_states import SnapshottableMap
from tests.unit.heron_spark.micro_batch_support import MicroBatches
from tests.unit.heronpy_compat.trident.trident_support import (
    AT_ONCE,
    SEEN,
    FailBatches,
    Opaque,
    Queue,
    Split,
    Transactional,
    see,
)

LINES = ("the cow jumped", "over the moon", "the man went", "to the store", "and bought some")
NUMBERS = (1, 2, 3, 4, 5, 6)
EXACT = sum(NUMBERS)


def counted(topology: TridentTopology) -> None:
    """Each count of each word."""
    words = topology.new_stream("lines", FixedBatchSpout("line", 2, *([line] for line in LINES)))
    words = words.shuffle().each("line", Split(), "word").parallelism_hint(3)
    counts = words.group_by("word").persistent_aggregate(
        MemoryMapState.opaque(), None, Count(), "count"
    )
    counts.parallelism_hint(2).new_values_stream().project(["word", "count"]).peek(see)


def joined(topology: TridentTopology) -> None:
    """Keys with their names."""
    pairs = FixedBatchSpout(["key", "number"], 2, ["a", 1], ["b", 2], ["a", 3], ["d", 4])
    left = topology.new_stream("pairs", pairs)
    names = topology.new_stream("names", FixedBatchSpout(["id", "name"], 9, ["a", "A"], ["d", "D"]))
    topology.join([left, names], ["key", "id"], ["key", "number", "name"]).peek(see)


def merged(topology: TridentTopology) -> None:
    """Two spouts whose ends differ."""
    first = topology.new_stream("first", Transactional((1, 2, 3, 4), (10, 20), size=1))
    second = topology.new_stream("second", FixedBatchSpout("number", 2, [5], [6], [7]))
    topology.merge([first, second.shuffle()]).peek(see)


def queried(topology: TridentTopology) -> None:
    """A state queried by another stream, of a separate batch group."""
    counts = topology.new_stream("lines", FixedBatchSpout("line", 1, ["a a"])).each(
        "line", Split(), "word"
    )
    state = counts.group_by("word").persistent_aggregate(
        MemoryMapState.transactional(), None, Count(), "count"
    )
    asked = topology.new_stream("asked", Transactional((), ("a",), size=1))
    asked.group_by("value").state_query(state, "value", MapGet(), "count").peek(see)


def windowed(topology: TridentTopology) -> None:
    """Windows over several batches."""
    numbers = topology.new_stream("numbers", Transactional(tuple(range(10)), size=3))
    windows = numbers.window(TumblingCountWindow.of(4), "value", CountAsAggregator(), "count")
    windows.peek(see)


def seen_in_tester(make: Callable[[TridentTopology], None]) -> list[list[Any]]:
    SEEN.clear()
    topology = TridentTopology()
    make(topology)
    with TopologyTester(topology.build("Same", AT_ONCE)) as tester:
        tester.run_spouts()
        tester.finish()
    return sorted(SEEN)


@pytest.mark.parametrize("make", [counted, joined, merged, windowed])
@pytest.mark.parametrize("restarts_hosts", [False, True])
def test_the_answers_are_those_of_the_tester(
    tmp_path: Path, make: Callable[[TridentTopology], None], restarts_hosts: bool
) -> None:
    """Also if each batch comes to new processes, as of an executor that is lost."""
    expected = seen_in_tester(make)
    SEEN.clear()
    topology = TridentTopology()
    make(topology)
    batches = MicroBatches(topology.build("Same", {}), tmp_path)
    batches.restarts_hosts = restarts_hosts
    batches.run()
    assert expected
    assert sorted(SEEN) == expected
    assert batches.failures == []


def test_a_state_is_queried_as_the_batches_before_have_left_it(tmp_path: Path) -> None:
    SEEN.clear()
    topology = TridentTopology()
    queried(topology)
    MicroBatches(topology.build("Queried", {}), tmp_path).run()
    assert [value for value, _ in SEEN] == ["a"]


OF_BATCH_1 = 1 + 2 + 3


class Database(StateFactory):
    """A backing map outside of all processes: durable as soon as it is written."""

    rows: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def make_state(self, conf: Any, context: Any, partition_index: int, total: int) -> Any:
        return SnapshottableMap(self._kind.build(self))

    def multi_get(self, keys: Any) -> list[Any]:
        return [self.rows.get(tuple(key)) for key in keys]

    def multi_put(self, keys: Any, values: Any) -> None:
        self.rows.update(zip(map(tuple, keys), values, strict=True))


@pytest.mark.parametrize(
    ("spout", "state", "total"),
    [
        (Transactional(NUMBERS), MemoryMapState.transactional(), EXACT),
        (Transactional(NUMBERS), MemoryMapState.opaque(), EXACT),
        (Opaque(NUMBERS), MemoryMapState.opaque(), EXACT),
        # Its rows are in the files of the micro-batch before a state's update.
        (Queue(*NUMBERS, replays=True), MemoryMapState.transactional(), EXACT),
        (Transactional(NUMBERS), Database(TransactionalMap), EXACT),
        (Opaque(NUMBERS), Database(OpaqueMap), EXACT),
        (Transactional(NUMBERS), Database(NonTransactionalMap), EXACT + OF_BATCH_1),
    ],
)
def test_a_batch_that_is_repeated_behind_its_update(
    tmp_path: Path, spout: TridentSpout, state: StateFactory, total: int
) -> None:
    """The state has batch 1, and its process ends before the micro-batch is stored."""
    SEEN.clear()
    Database.rows.clear()
    FailBatches.left["failing"] = 1
    topology = TridentTopology()
    values = topology.new_stream("numbers", spout)
    totals = values.persistent_aggregate(state, "value", Sum(), "total")
    totals.new_values_stream().each("total", FailBatches()).peek(see)
    batches = MicroBatches(topology.build("Totals", {}), tmp_path)
    batches.run()
    assert batches.failures == ["as the test says"]
    assert SEEN[-1] == [total]


def test_a_spout_whose_rows_are_not_stored_emits_again_what_it_promises(tmp_path: Path) -> None:
    """An opaque spout has changed rows then, each counted exactly once."""
    SEEN.clear()
    topology = TridentTopology()
    spout = BreaksOnce(NUMBERS)
    totals = topology.new_stream("numbers", spout).persistent_aggregate(
        MemoryMapState.opaque(), "value", Sum(), "total"
    )
    totals.new_values_stream().peek(see)
    BreaksOnce.left = 1
    batches = MicroBatches(topology.build("Broken", {}), tmp_path)
    batches.run()
    assert batches.failures == ["behind its rows"]
    assert SEEN[-1] == [EXACT]


class BreaksOnce(Opaque):
    """Raises after its emits."""

    left = 0

    def get_emitter(self, conf: dict[str, Any], context: Any) -> Any:
        inner = super().get_emitter(conf, context)
        emit = inner.emit_partition_batch

        def breaking(attempt: Any, *arguments: Any) -> Any:
            metadata = emit(attempt, *arguments)
            if BreaksOnce.left:
                BreaksOnce.left -= 1
                raise ValueError("behind its rows")
            return metadata

        inner.emit_partition_batch = breaking
        return inner


class Committer(ICommitterTridentSpout):
    """Would commit its emits."""

    output_fields = ("value",)

    def get_coordinator(self, stream_id: str, conf: dict[str, Any], context: Any) -> Any:
        return BatchCoordinator()

    def get_emitter(self, stream_id: str, conf: dict[str, Any], context: Any) -> Any:
        return Emitter()


def test_what_cannot_run_is_named_in_a_line() -> None:
    topology = TridentTopology()
    topology.new_drpc_stream("words", LocalDRPC()).each("args", Split(), "word")
    topology.new_stream("committing", Committer()).peek(see)
    requests, committing = problems(topology_of(topology.build("Refused", {}), None, None, {}))
    assert requests.startswith("bolt 'spout-drpc-words' takes requests (new_drpc_stream)")
    assert committing.startswith("bolt 'spout-committing' is an ICommitterTridentSpout")
    assert requests.endswith("use --engine native")


def test_coordinators_are_a_level_before_spouts_and_bolts() -> None:
    topology = TridentTopology()
    counted(topology)
    plan = compile_topology(topology_of(topology.build("Levels", {}), None, None, {}))
    names = [{plan.packing.instances[task].component for task in tasks} for tasks in plan.levels]
    assert names == [{"mastercoord-bg0"}, {"spout-lines"}, {"b-0"}, {"b-1"}]
