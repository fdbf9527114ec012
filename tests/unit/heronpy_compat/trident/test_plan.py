"""How operations become bolts, and what is refused."""

from typing import Any

import pytest

from heron_core.errors import TopologyError
from heronpy_compat.trident import (
    Count,
    FilterNull,
    FixedBatchSpout,
    MapGet,
    MemoryMapState,
    TridentError,
    TridentTopology,
)
from heronpy_compat.trident.plan import ComponentPlan, TridentPlan, plan_of
from tests.unit.heronpy_compat.trident.trident_support import Split

LINES = FixedBatchSpout("line", 2, ["a b"])


def plan(topology: TridentTopology) -> TridentPlan:
    return plan_of(topology.graph)


def shape(component: ComponentPlan) -> tuple[str, int, list[str]]:
    operations = [type(node.processor).__name__ for node in component.nodes]
    return component.name, component.parallelism, operations


def word_count(topology: TridentTopology) -> Any:
    lines = topology.new_stream("lines", LINES).parallelism_hint(4)
    words = lines.shuffle().name("split").each("line", Split(), "word").parallelism_hint(2)
    counts = words.group_by("word").name("count")
    return counts.persistent_aggregate(MemoryMapState.Factory(), None, Count(), "count")


def test_operations_between_repartitionings_are_one_bolt() -> None:
    """Words are combined where they are split, and again where they are stored."""
    topology = TridentTopology()
    word_count(topology).parallelism_hint(3)
    assert [shape(component) for component in plan(topology).components] == [
        ("spout-lines", 1, []),
        ("b-0-split-count", 2, ["EachProcessor", "AggregateProcessor"]),
        ("b-1-count", 3, ["AggregateProcessor", "PersistProcessor"]),
    ]


def test_tuples_that_keep_their_partition_have_as_many_tasks() -> None:
    """The fixed spout has one task at most, so what follows it without a repartitioning has."""
    topology = TridentTopology()
    lines = topology.new_stream("lines", LINES)
    lines.each("line", Split(), "word").parallelism_hint(4)
    assert [each.parallelism for each in plan(topology).components] == [1, 1]


def test_a_query_runs_in_the_bolt_of_its_state_and_has_a_coordinator_of_its_own() -> None:
    topology = TridentTopology()
    counts = word_count(topology)
    questions = topology.new_stream("questions", FixedBatchSpout("word", 1, ["a"]))
    questions.group_by("word").state_query(counts, "word", MapGet(), "count")
    made = plan(topology)
    assert made.groups == ("bg0", "bg1")
    (bolt,) = [each for each in made.components if "PersistProcessor" in shape(each)[2]]
    assert shape(bolt)[2] == ["AggregateProcessor", "PersistProcessor", "QueryProcessor"]
    assert bolt.groups == ("bg0", "bg1")
    assert bolt.committing == {"bg0"}
    assert made.late("bg0") == {bolt.name}
    assert made.late("bg1") == frozenset()


def test_what_follows_a_commit_is_late() -> None:
    topology = TridentTopology()
    values = word_count(topology).new_values_stream()
    values.shuffle().each("count", FilterNull()).shuffle().each("count", FilterNull())
    made = plan(topology)
    assert [each.name for each in made.components][-2:] == ["b-2-count", "b-3-count"]
    assert made.late("bg0") == {"b-1-count", "b-2-count", "b-3-count"}


def test_streams_that_meet_are_one_bolt_and_one_group() -> None:
    topology = TridentTopology()
    first = topology.new_stream("first", LINES).each("line", FilterNull())
    second = topology.new_stream("second", LINES).each("line", FilterNull())
    topology.merge([first, second])
    made = plan(topology)
    assert made.groups == ("bg0",)
    assert [shape(each)[2] for each in made.components if each.spout is None] == [
        ["EachProcessor", "EachProcessor", "MultiReduceProcessor"]
    ]


def test_a_stream_that_is_read_twice_travels_once_to_each_bolt() -> None:
    topology = TridentTopology()
    spread = topology.new_stream("lines", LINES).shuffle()
    left, right = spread.each("line", FilterNull()), spread.each("line", FilterNull())
    left.shuffle().project("line")
    right.shuffle().project("line")
    (spout, *bolts) = plan(topology).components
    assert len(spout.outputs) == 2
    assert {stream.target for stream in spout.outputs} <= {bolt.name for bolt in bolts}


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda t, s: s.each("nothing", FilterNull()), "unknown field 'nothing'; the stream has"),
        (lambda t, s: s.each("line", Split(), "line"), "field 'line' is in the stream already"),
        (lambda t, s: s.each("line", Split(), ["a", "a"]), "duplicate field 'a'"),
        (lambda t, s: s.each("line", FilterNull(), "word"), "a filter has no output fields"),
        (lambda t, s: s.each("line", print), "each takes a Function or a Filter"),
        (lambda t, s: s.map(7), "map takes a function"),
        (lambda t, s: s.partition(7), "partition takes an ICustomGrouping"),
        (lambda t, s: s.parallelism_hint(0), "from 1 on, not 0"),
        (lambda t, s: s.aggregate("line", Split(), "n"), "an aggregator of the three kinds"),
        (lambda t, s: s.partition_persist(7, "line", Split()), "made by a StateFactory"),
        (lambda t, s: s.persistent_aggregate(MemoryMapState.opaque(), "line", Split(), "n"),
         "takes a CombinerAggregator or a ReducerAggregator"),
        (lambda t, s: s.chained_agg().chain_end(), "the chain has no aggregation"),
        (lambda t, s: t.new_stream("lines", LINES), "two spouts are called 'lines'"),
        (lambda t, s: t.new_stream("other", print), "new_stream takes an ITridentSpout"),
        (lambda t, s: t.merge([s, s]), "a stream is combined with itself"),
        (lambda t, s: t.merge("line", [s, t.new_stream("m", FixedBatchSpout(["a", "b"], 1))]),
         "are not as many fields"),
        (lambda t, s: t.join([s], ["line"], ["line"]), "join takes two streams or more"),
        (lambda t, s: s.addResource("GPU", 1), "Stream.addResource of Storm's Trident is not here"),
        (lambda t, s: t.setResourceDefaults(1), "TridentTopology.setResourceDefaults of Storm's"),
        (lambda t, s: TridentTopology().merge([s]), "streams of two topologies"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_says_so_in_one_line(build: Any, complaint: str) -> None:
    topology = TridentTopology()
    stream = topology.new_stream("lines", LINES)
    with pytest.raises(TridentError, match=complaint) as raised:
        build(topology, stream)
    assert "\n" not in str(raised.value)


def test_a_state_is_not_queried_by_its_own_updates_behind_a_repartitioning() -> None:
    topology = TridentTopology()
    counts = word_count(topology)
    counts.new_values_stream().group_by("word").state_query(counts, "word", MapGet(), "again")
    with pytest.raises(TridentError, match="would wait for its own tuples"):
        topology.build("Circle")


@pytest.mark.parametrize("mode", ["ATMOST_ONCE", "EFFECTIVELY_ONCE"])
def test_other_modes_are_refused(mode: str) -> None:
    topology = TridentTopology()
    topology.new_stream("lines", LINES)
    with pytest.raises(TopologyError, match="ATLEAST_ONCE, not"):
        topology.build("Lines", {"topology.reliability.mode": mode})


def test_a_topology_without_a_spout_is_refused() -> None:
    with pytest.raises(TridentError, match="needs a spout"):
        TridentTopology().build("Nothing")
