"""Stages fused into a bolt: conditions and names; the rest is unchanged."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given as for_each
from hypothesis import settings
from hypothesis import strategies as st

from heron_core.errors import TopologyError
from heron_core.topology import topology_to_json
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.transformoperator import TransformOperator
from heronpy_compat.windows import Tumbling
from tests.unit.heronpy_compat.streamlet.streamlet_support import (
    Fed,
    Program,
    fused_of,
    given,
    nothing,
    spec_of,
)
from tests.unit.local_cluster import LocalCluster

RAMMAP = "topology.component.rammap"
FUSION = "topology.streamlet.fusion"
CONSUMED: list[Any] = []


def consume(element: Any) -> None:
    """Pickled by name, so that the instance uses this function."""
    CONSUMED.append(element)


def names_of(program: Program, **config: Any) -> list[str]:
    """The components' names."""
    return [each.name for each in fused_of(program, **config).components]


def stages(builder: Builder) -> Streamlet:
    """A source and three stages, the second with the user's name."""
    longer = builder.new_source(given([])).map(str).filter(len).set_name("longer than 0")
    return longer.flat_map(str.split)


def test_neighbours_are_one_bolt_called_after_all_of_them() -> None:
    """Names are as without fusion."""
    fused = names_of(lambda builder: stages(builder).log())
    assert fused == ["supplier-1", "map-1+longer than 0+flatmap-1+log-1"]
    apart = names_of(lambda builder: stages(builder).log(), **{FUSION: "false"})
    assert apart == ["supplier-1", "map-1", "longer than 0", "flatmap-1", "log-1"]


def test_a_number_of_partitions_of_its_own_is_a_bolt_of_its_own() -> None:
    """Equal numbers, set or inherited, are fused."""

    def program(builder: Builder) -> None:
        two = builder.new_source(given([])).map(str).set_num_partitions(2)
        two.filter(len).map(str).set_num_partitions(3).map(str).set_num_partitions(3).log()

    topology = fused_of(program)
    assert {each.name: each.parallelism for each in topology.components} == {
        "supplier-1": 1, "map-1+filter-1": 2, "map-2+map-3+log-1": 3,
    }  # fmt: skip


class Forwarding(TransformOperator):
    """Possibly stateful, and so not fused."""

    def setup(self, context: Any) -> None:
        self.context = context

    def transform(self, tup: Any) -> None:
        self.context.emit(tup.values[0])


def test_messages_stay_where_they_say_something() -> None:
    """A second reader, a union, a repartition, an operator with state, a window: the stage before
    each, and the stage behind a repartition, is a separate bolt."""

    def program(builder: Builder) -> None:
        numbers = builder.new_source(given([])).map(int)
        numbers.filter(bool).union(numbers.map(str)).map(str).consume(nothing)
        spread = numbers.repartition(1, lambda element: 0).map(str)
        moved = spread.transform(Forwarding()).map(str).filter(bool)
        moved.key_by(len).window(Tumbling(1000)).reduce(max).log()

    assert names_of(program) == [
        "supplier-1", "map-1", "filter-1", "map-2", "union-1+map-3+consume-1",
        "repartition-1+map-4", "transform-1", "map-5+filter-2", "eventwindow-1", "log-1",
    ]  # fmt: skip


def test_who_has_memory_or_cores_of_its_own_is_a_bolt_of_its_own() -> None:
    """A component named by the config must exist."""
    names = names_of(lambda builder: stages(builder).log(), **{RAMMAP: "longer than 0:1073741824"})
    assert names == ["supplier-1", "map-1", "longer than 0", "flatmap-1+log-1"]


def test_names_do_not_grow_beyond_a_line() -> None:
    def program(builder: Builder) -> None:
        streamlet = builder.new_source(given([]))
        for _ in range(30):
            streamlet = streamlet.map(str)
        streamlet.log()

    _, *names = names_of(program)
    assert len(names) == 3
    assert [each for name in names for each in name.split("+")] == [
        *(f"map-{number}" for number in range(1, 31)),
        "log-1",
    ]
    assert max(map(len, names)) <= 100


def test_a_switch_that_is_no_boolean() -> None:
    with pytest.raises(RuntimeError, match=r"topology\.streamlet\.fusion must be true or false"):
        fused_of(lambda builder: stages(builder).log(), **{FUSION: "maybe"})


def test_a_function_that_cannot_travel_is_named_with_its_stage() -> None:
    generator = (number for number in range(3))
    topology = fused_of(lambda builder: stages(builder).map(lambda _: generator).log())
    message = r"config of map-1\+longer.*: the value of function of map-2 cannot be pickled"
    with pytest.raises(TopologyError, match=message):
        topology_to_json(topology)


def test_a_fused_stage_is_the_right_side_of_a_join() -> None:
    """The join knows its sides by the names of components."""

    def program(builder: Builder) -> None:
        def side(*values: int) -> Any:
            source = builder.new_source(given(values)).map(lambda each: each).filter(bool)
            return source.with_event_time(lambda value: value).key_by(lambda value: value % 10)

        joined = side(1, 12).window_join(
            side(21, 3), Tumbling(1000), lambda left, right: left - right
        )
        joined.map(lambda pair: pair[1]).consume(consume)

    CONSUMED.clear()
    LocalCluster(fused_of(program)).run().finish()
    assert CONSUMED == [-20]


# --- failures ------------------------------------------------------------------------------------


def refuse_three(number: int) -> int:
    """Raises for one number."""
    if number == 3:
        raise ValueError("three")
    return number * 10


def failing(builder: Builder) -> None:
    """Two of six elements of one tuple cannot be numbers, a third is refused."""
    numbers = builder.new_source(given(["1 x 3 2 y 4"])).flat_map(str.split).map(int)
    numbers.map(refuse_three).consume(consume)


def test_an_element_fails_alone_and_the_error_names_stage_and_line() -> None:
    """The stage first, as a function of Python's has no line; then the number of further
    failures."""
    CONSUMED.clear()
    cluster = LocalCluster(fused_of(failing)).run()
    assert CONSUMED == [10, 20, 40]
    (error,) = cluster.errors
    assert "invalid literal for int() with base 10: 'x'; in map-1; 2 more elements" in error

    CONSUMED.clear()

    def refusing(builder: Builder) -> None:
        builder.new_source(given([1, 3])).map(refuse_three).consume(consume)

    (error,) = LocalCluster(fused_of(refusing)).run().errors
    line = refuse_three.__code__.co_firstlineno + 3
    assert "ValueError: three; in map-1 (" in error
    assert error.endswith(f"test_streamlet_fusion.py:{line})\n")
    assert "fusedbolt.py" not in error


FAILED: list[int] = []


def refuse_three_once(number: int) -> int:
    """Raises for the first 3."""
    if number == 3 and not FAILED:
        FAILED.append(number)
        raise ValueError("not now")
    return number


def test_at_least_once_a_tuple_fails_as_a_whole_and_comes_again() -> None:
    """All trees end; results of the tuple's remaining elements count twice, as with separate
    bolts."""

    def program(builder: Builder) -> None:
        pairs = builder.new_source(given([(1, 2), (3, 4)])).flat_map(lambda pair: pair)
        pairs.map(refuse_three_once).consume(consume)

    seen = []
    for topology in (fused_of(program), spec_of(program)):
        CONSUMED.clear()
        FAILED.clear()
        mode = {"topology_reliability_mode": "ATLEAST_ONCE"}
        cluster = LocalCluster(topology, **mode).run()
        seen.append(Counter(CONSUMED))
        assert not any(cluster.trees.values())
    assert seen == [Counter({1: 1, 2: 1, 3: 1, 4: 2})] * 2


# --- equal to bolts of their own -----------------------------------------------------------------

Apply = Callable[[Streamlet], Streamlet]
APPLIED: list[Apply] = [
    lambda streamlet: streamlet.map(lambda number: number + 1),
    lambda streamlet: streamlet.map(lambda number: number // (number % 7)),
    lambda streamlet: streamlet.filter(lambda number: number % 3),
    lambda streamlet: streamlet.filter(lambda number: 10 % number > 1),
    lambda streamlet: streamlet.flat_map(range_of),
    lambda streamlet: streamlet.flat_map(lambda number: number),
    lambda streamlet: streamlet.repartition(2, lambda number: number),
    lambda streamlet: streamlet.set_num_partitions(2).union(streamlet.map(lambda number: -number)),
]


def range_of(number: int) -> Any:
    """A generator , possibly raising after some elements."""
    for each in range(number % 4):
        yield each + 12 // (3 - each)


@settings(max_examples=30, deadline=None, derandomize=True)
@for_each(
    st.lists(st.sampled_from(APPLIED), max_size=7),
    st.lists(st.integers(-20, 20), max_size=12),
)
def test_any_chain_gives_what_bolts_of_their_own_give(
    chain: list[Apply], given_: list[int]
) -> None:
    """Also where functions raise: elements are compared as a multiset, as tasks race."""

    def program(builder: Builder) -> None:
        streamlet = builder.new_source(given(given_))
        for apply in chain:
            streamlet = apply(streamlet)
        streamlet.consume(consume)

    found = []
    for topology in (fused_of(program), spec_of(program)):
        CONSUMED.clear()
        LocalCluster(topology).run()
        found.append(Counter(CONSUMED))
    assert found[0] == found[1]


def test_a_source_that_never_ends_feeds_a_fused_bolt() -> None:
    """None of a Generator means a pause, in front of a fused bolt, too."""

    def program(builder: Builder) -> None:
        builder.new_source(Fed()).map(str).consume(consume)

    CONSUMED.clear()
    cluster = LocalCluster(fused_of(program))
    cluster.component("generator-1")._generator.waiting.extend([None, 5])
    for _ in range(3):
        cluster.turn()
    assert CONSUMED == ["5"]
