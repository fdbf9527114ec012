"""Sources of streamlets, losses under each delivery semantics, and the end of sources."""

from typing import Any

import pytest

from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.transformoperator import TransformOperator
from heronpy_compat.streamlet.windowconfig import WindowConfig
from tests.unit.heronpy_compat.streamlet.streamlet_support import (
    cluster_of,
    given,
    nothing,
    spec_of,
)
from tests.unit.local_cluster import LocalCluster

AT_LEAST = {"topology_reliability_mode": "ATLEAST_ONCE"}
REFUSED: list[Any] = []


def refuse_three_once(element: Any) -> Any:
    """Raises for the first 3; pickled by name, so that every stage shares REFUSED."""
    number = element[1] if isinstance(element, tuple) else element
    if number == 3 and not REFUSED:
        REFUSED.append(element)
        raise ValueError("not now")
    return element


@pytest.fixture(autouse=True)
def _nothing_refused() -> None:
    REFUSED.clear()


def unfinished(cluster: LocalCluster) -> int:
    kept = [len(cluster.instances[task].component._pending) for task in cluster.spouts]
    return sum(map(len, cluster.trees.values())) + sum(kept)


class Partitioned(Generator):
    """Gives its partition's numbers of 0..5, and None at times, until the end."""

    def setup(self, context: Context) -> None:
        of = range(context.get_partition_index(), 6, context.get_num_partitions())
        self.left = [each for number in of for each in (None, number)]

    def get(self) -> Any:
        if not self.left:
            raise StopIteration
        return self.left.pop(0)


class Doubling(Generator):
    """Emits an element by its context and returns another."""

    def setup(self, context: Context) -> None:
        self.context, self.numbers = context, iter([1, 2])

    def get(self) -> Any:
        number = next(self.numbers)
        self.context.emit(number * 10)
        return number


def test_a_generator_knows_its_partition_and_may_have_nothing_now() -> None:
    def program(builder: Builder) -> None:
        builder.new_source(Partitioned()).set_num_partitions(2).consume(nothing)

    cluster = cluster_of(program)
    for _ in range(20):
        cluster.turn()
    assert cluster.partitions("generator-1") == [[0, 2, 4], [1, 3, 5]]


def test_a_generator_may_emit_by_its_context() -> None:
    cluster = cluster_of(lambda builder: builder.new_source(Doubling()).consume(nothing)).run()
    assert cluster.elements("generator-1") == [10, 1, 20, 2]


def test_a_supplier_emits_every_result() -> None:
    """None as well, unlike a generator (heronpy)."""
    cluster = cluster_of(lambda builder: builder.new_source(given([1, None])).consume(nothing))
    assert cluster.run().elements("supplier-1") == [1, None]


def test_at_most_once_a_failed_element_is_gone() -> None:
    def program(builder: Builder) -> None:
        builder.new_source(given([1, 3, 5])).map(refuse_three_once).consume(nothing)

    cluster = cluster_of(program).run()
    assert cluster.elements("map-1") == [1, 5]
    assert unfinished(cluster) == 0


def test_at_least_once_a_failed_element_is_emitted_again() -> None:
    """The source had ended; it opens again for the replay, and ends again."""

    def program(builder: Builder) -> None:
        numbers = builder.new_source(given([1, 3, 5])).map(lambda number: number)
        numbers.map(refuse_three_once).consume(nothing)

    cluster = cluster_of(program, **AT_LEAST).run()
    assert cluster.elements("map-2") == [1, 5, 3]
    assert unfinished(cluster) == 0


def test_a_failure_far_behind_a_window_reaches_the_source() -> None:
    """A window's emit is anchored to its elements: heronpy lost the anchor."""
    window = WindowConfig.create_tumbling_window(1)

    def program(builder: Builder) -> None:
        pairs = builder.new_source(given([("a", 1), ("b", 3), ("a", 2)]))
        sums = pairs.reduce_by_key_and_window(window, lambda left, right: left + right)
        sums.map(lambda each: (each[0]._key, each[1])).filter(refuse_three_once).consume(nothing)

    cluster = cluster_of(program, **AT_LEAST).run()
    # The windows are complete when the source has ended.
    # a is 1 + 2 and the first 3 to arrive, so both of its elements come again, b's does not.
    assert REFUSED == [("a", 3)]
    assert cluster.elements("filter-1") == [("b", 3)]
    cluster.run().tick(2)  # the first window ended ahead of the clock
    assert cluster.elements("filter-1") == [("b", 3), ("a", 3)]
    assert unfinished(cluster) == 0


def test_a_failed_pair_of_a_join_is_emitted_again_by_both_sources() -> None:
    window = WindowConfig.create_tumbling_window(1)

    def program(builder: Builder) -> None:
        left, right = builder.new_source(given([("k", 1)])), builder.new_source(given([("k", 2)]))
        joined = left.join(right, window, lambda one, two: one + two)
        joined.map(refuse_three_once).map(lambda each: each[1]).consume(nothing)

    cluster = cluster_of(program, **AT_LEAST).run()
    assert cluster.elements("map-2") == []
    cluster.run().tick(2)  # the first window ended ahead of the clock
    assert cluster.elements("map-2") == [3]
    assert cluster.elements("supplier-1") == [("k", 1), ("k", 1)]
    assert cluster.elements("supplier-2") == [("k", 2), ("k", 2)]
    assert unfinished(cluster) == 0


class Passing(TransformOperator):
    def setup(self, context: Context) -> None:
        self.context = context

    def transform(self, tup: Any) -> None:
        self.context.emit(tup.values[0])


def test_what_an_operator_emits_is_anchored_to_what_it_got() -> None:
    def program(builder: Builder) -> None:
        passed = builder.new_source(given([3, 4])).transform(Passing())
        passed.map(refuse_three_once).consume(nothing)

    cluster = cluster_of(program, **AT_LEAST).run()
    assert cluster.elements("map-1") == [4, 3]
    assert unfinished(cluster) == 0


def test_an_error_in_a_window_fails_its_elements() -> None:
    """The reduce function raises once; the sources send the elements again."""
    window = WindowConfig.create_tumbling_window(1)

    def program(builder: Builder) -> None:
        numbers = builder.new_source(given([3, 4]))
        sums = numbers.reduce_by_window(
            window, lambda so_far, each: (so_far or 0) + refuse_three_once(each)
        )
        sums.map(lambda each: each[1]).consume(nothing)

    cluster = cluster_of(program, **AT_LEAST).run()
    assert cluster.elements("map-1") == []
    assert "raised" in cluster.errors[0]
    cluster.run().tick(2)  # the first window ended ahead of the clock
    assert cluster.elements("map-1") == [7]
    assert unfinished(cluster) == 0


def test_a_config_of_the_users_reaches_the_stages() -> None:
    """Config.set_delivery_semantics decides for the sources."""
    config = Config({"mine": 1})
    config.set_delivery_semantics(Config.ATLEAST_ONCE)
    topology = spec_of(lambda builder: builder.new_source(given([1])).consume(nothing), config)
    cluster = LocalCluster(topology).run()
    assert cluster.topology.config["mine"] == 1
    assert cluster.trees[1].unknown == 0
    assert cluster.component("supplier-1")._tracked
