"""Every operation on streamlets: its output, worked out by hand."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from heron_core.algorithms.hashing import slot, stable_hash
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.keyedwindow import KeyedWindow
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.transformoperator import TransformOperator
from heronpy_compat.streamlet.window import Window
from heronpy_compat.streamlet.windowconfig import WindowConfig
from tests.unit.heronpy_compat.streamlet.streamlet_support import (
    Fed,
    cluster_of,
    feed,
    given,
    nothing,
    spec_of,
)

CONSUMED: list[Any] = []


def consume(element: Any) -> None:
    """Pickled by name, so that the instance uses this function."""
    CONSUMED.append(element)


def add(left: Any, right: Any) -> Any:
    return left + right


def with_one(element: Any) -> tuple[Any, int]:
    return element, 1


# --- element by element --------------------------------------------------------------------------


def test_map_flat_map_and_filter() -> None:
    """Sentences to words to pairs, only the long ones."""

    def program(builder: Builder) -> None:
        sentences = builder.new_source(given(["to be or", "not to"]))
        words = sentences.flat_map(lambda sentence: sentence.split())
        words.map(lambda word: (word, 1)).filter(lambda pair: len(pair[0]) > 2).consume(nothing)

    cluster = cluster_of(program).run()
    assert cluster.elements("flatmap-1") == ["to", "be", "or", "not", "to"]
    assert cluster.elements("map-1")[3:] == [("not", 1), ("to", 1)]
    assert cluster.elements("filter-1") == [("not", 1)]


def test_flat_map_takes_strings_apart_and_leaves_numbers_whole() -> None:
    """heronpy: whatever can be iterated over is flattened."""

    def program(builder: Builder) -> None:
        builder.new_source(given(["ab", 7, []])).flat_map(lambda each: each).consume(nothing)

    assert cluster_of(program).run().elements("flatmap-1") == ["a", "b", 7]


def test_consume_calls_the_function_for_each_element() -> None:
    """heronpy's consume could not be built."""
    CONSUMED.clear()
    cluster_of(lambda builder: builder.new_source(given([1, 2])).consume(consume)).run()
    assert CONSUMED == [1, 2]


def test_log_writes_the_elements() -> None:
    """log() ends a program and returns None."""
    cluster = cluster_of(lambda builder: builder.new_source(given([1, (2, "b")])).log()).run()
    assert cluster.errors == ["1", "(2, 'b')"]


def test_union_has_the_elements_of_both() -> None:
    """Also of two children of a source, built in turn."""

    def program(builder: Builder) -> None:
        numbers = builder.new_source(given([1, 2]))
        tens = numbers.map(lambda number: number * 10)
        numbers.map(lambda number: -number).union(tens).consume(nothing)

    assert sorted(cluster_of(program).run().elements("union-1")) == [-2, -1, 10, 20]


def test_union_with_what_comes_from_the_same_streamlet() -> None:
    """heronpy: "Logic error while building"."""

    def program(builder: Builder) -> None:
        numbers = builder.new_source(given([1, 2]))
        numbers.union(numbers.map(lambda number: number * 10)).consume(nothing)

    assert sorted(cluster_of(program).run().elements("union-1")) == [1, 2, 10, 20]


# --- partitions ----------------------------------------------------------------------------------


def repartitioned(function: Any) -> list[list[int]]:
    """Elements of 0..5 in each of three partitions; several senders, so without an order."""

    def program(builder: Builder) -> None:
        builder.new_source(given(range(6))).repartition(3, function).consume(nothing)

    return [sorted(each) for each in cluster_of(program).run().partitions("repartition-1")]


def test_repartition_by_functions_of_one_and_of_two_arguments() -> None:
    """heronpy refused every function; partitions beyond the last start again."""
    by_element = [[0, 3], [1, 4], [2, 5]]
    assert repartitioned(lambda element: element) == by_element
    assert repartitioned(lambda element, partitions: element + partitions) == by_element
    assert repartitioned(lambda element, partitions: partitions - 1) == [[], [], [0, 1, 2, 3, 4, 5]]
    both = repartitioned(lambda element: [0, 2] if element == 5 else 1)
    assert both == [[5], [0, 1, 2, 3, 4], [5]]


def test_repartition_without_a_function_spreads_evenly() -> None:
    """Six elements over three partitions: two each."""
    assert list(map(len, repartitioned(None))) == [2, 2, 2]


def test_a_repartition_function_that_returns_nonsense_is_named() -> None:
    """Its tuple fails with a line, the rest go on."""

    def program(builder: Builder) -> None:
        builder.new_source(given([1, 2])).map(str).repartition(2, lambda each: each).log()

    cluster = cluster_of(program).run()
    assert any(
        "the repartition function after map-1 must return the index of a partition" in line
        for line in cluster.errors
    )


def test_clone_gives_streamlets_with_all_elements() -> None:
    """heronpy's clone could not be built."""

    def program(builder: Builder) -> None:
        first, second = builder.new_source(given([1, 2])).clone(2)
        first.map(lambda each: -each).consume(nothing)
        second.map(lambda each: each * 10).consume(nothing)

    cluster = cluster_of(program).run()
    assert cluster.elements("repartition-1") == cluster.elements("repartition-2") == [1, 2]
    assert cluster.elements("map-1") == [-1, -2]
    assert cluster.elements("map-2") == [10, 20]


def test_partitions_are_inherited_but_for_reduce_by_key() -> None:
    """heronpy's rule: a stage takes the number of the (left) streamlet before."""
    window = WindowConfig.create_tumbling_window(10)

    def program(builder: Builder) -> None:
        left = builder.new_source(given([])).map(with_one).set_num_partitions(3)
        right = builder.new_source(given([])).set_num_partitions(2)
        left.join(right, window, add).log()
        right.union(left).filter(bool).reduce_by_window(window, add).log()
        left.reduce_by_key_and_window(window, add).consume(nothing)

    parallelism = {name: each.parallelism for name, each in spec_of(program).by_name.items()}
    assert parallelism == {
        "supplier-1": 1, "map-1": 3, "supplier-2": 2, "join-1": 3, "log-1": 3, "union-1": 2,
        "filter-1": 2, "reducebywindow-1": 2, "log-2": 2, "reducebykeyandwindow-1": 1,
        "consume-1": 1,
    }  # fmt: skip


def test_names_are_the_users_or_the_lowest_that_is_free() -> None:
    """The user's map-2 is left out when numbers are given."""

    def program(builder: Builder) -> None:
        source = builder.new_source(given([])).set_name("numbers")
        source.map(str).set_name("map-2").map(str).map(str).log()

    assert list(spec_of(program).by_name) == ["numbers", "map-2", "map-1", "map-3", "log-1"]


# --- windows -------------------------------------------------------------------------------------


def reduced(window: WindowConfig, keyed: bool = True) -> Any:
    """A program that sums its input."""

    def program(builder: Builder) -> None:
        source = builder.new_source(Fed())
        if keyed:
            source.reduce_by_key_and_window(window, add).consume(nothing)
        else:
            source.reduce_by_window(window, lambda so_far, each: (so_far or 0) + each).log()

    return program


def test_sliding_windows_hold_each_element_duration_by_slide_times() -> None:
    """Windows of 2 s every second; time begins at 1000."""
    cluster = cluster_of(reduced(WindowConfig.create_sliding_window(2, 1)))
    feed(cluster, ("a", 1))
    cluster.tick(1)
    feed(cluster, ("a", 2), ("b", 5))
    for _ in range(3):
        cluster.tick(1)
    assert cluster.elements("reducebykeyandwindow-1") == [
        (KeyedWindow("a", Window(999, 1001)), 1),
        (KeyedWindow("a", Window(1000, 1002)), 3),
        (KeyedWindow("b", Window(1000, 1002)), 5),
        (KeyedWindow("a", Window(1001, 1003)), 2),
        (KeyedWindow("b", Window(1001, 1003)), 5),
    ]


def test_tumbling_windows_hold_each_element_once() -> None:
    """heronpy's held each twice: its window of 2 s repeated the previous window's elements."""
    cluster = cluster_of(reduced(WindowConfig.create_tumbling_window(2)))
    feed(cluster, ("a", 1), ("b", 5), ("a", 2))
    cluster.tick(2)
    feed(cluster, ("a", 10))
    cluster.tick(2)
    cluster.tick(2)
    assert cluster.elements("reducebykeyandwindow-1") == [
        (KeyedWindow("a", Window(1000, 1002)), 3),
        (KeyedWindow("b", Window(1000, 1002)), 5),
        (KeyedWindow("a", Window(1002, 1004)), 10),
    ]


def test_reduce_by_window_of_a_function_that_takes_no_none() -> None:
    """In heronpy `lambda x, y: x + y` failed; it begins with the first element."""

    def program(builder: Builder) -> None:
        window = WindowConfig.create_tumbling_window(1)
        builder.new_source(Fed()).reduce_by_window(window, add).log()

    cluster = cluster_of(program)
    feed(cluster, 1, 2, 3)
    cluster.tick(1)
    assert cluster.elements("reducebywindow-1") == [(Window(1000, 1001), 6)]


def test_reduce_by_window_begins_with_none_and_emits_for_empty_windows() -> None:
    """The elements need not be pairs, as they had to in heronpy."""
    cluster = cluster_of(reduced(WindowConfig.create_tumbling_window(1), keyed=False))
    feed(cluster, 1, 2)
    cluster.tick(1)
    cluster.tick(1)
    assert cluster.elements("reducebywindow-1") == [
        (Window(1000, 1001), 3),
        (Window(1001, 1002), None),
    ]


def test_the_last_window_of_a_finite_run_is_a_part_of_one() -> None:
    """A window of a day, and a source that ends at once: the result comes at the end."""

    def program(builder: Builder) -> None:
        pairs = builder.new_source(given([("a", 1), ("b", 2), ("a", 3)]))
        counted = pairs.reduce_by_key_and_window(WindowConfig.create_tumbling_window(86400), add)
        counted.map(lambda each: (each[0]._key, each[1])).consume(nothing)

    cluster = cluster_of(program).run()
    assert cluster.elements("map-1") == [("a", 4), ("b", 2)]
    assert cluster.finish().elements("map-1") == [("a", 4), ("b", 2)]


def test_a_window_of_a_day_and_more_is_not_cut() -> None:
    """heronpy took timedelta.seconds: 25 hours became one."""
    config = (
        spec_of(reduced(WindowConfig.create_sliding_window(90000, 86400)))
        .by_name["reducebykeyandwindow-1"]
        .config
    )
    assert config["slidingwindowbolt_duration_secs"] == 90000
    assert config["slidingwindowbolt_slideinterval_secs"] == 86400


def test_equal_keys_meet_in_the_partition_that_the_stable_hash_names() -> None:
    """1, 1.0 and True are one key; Python's own hash of strings differs from process to process."""
    keys: list[Any] = ["storm", "heron", 1, 1.0, True, ("a", 2), None]

    def program(builder: Builder) -> None:
        pairs = builder.new_source(given([(key, 1) for key in keys]))
        window = WindowConfig.create_tumbling_window(60)
        pairs.reduce_by_key_and_window(window, add).set_num_partitions(4).consume(nothing)

    cluster = cluster_of(program).run()
    results = cluster.partitions("reducebykeyandwindow-1")
    held = [{window._key for window, _ in part} for part in results]
    expected: list[set[Any]] = [set(), set(), set(), set()]
    for key in keys:
        expected[slot(stable_hash([key]), 4)].add(key)
    assert held == expected
    assert Counter({window._key: count for part in results for window, count in part})[1] == 3


# --- joins ---------------------------------------------------------------------------------------

LEFT = [("both", "l1"), ("both", "l2"), ("left", "l3")]
RIGHT = [("both", "r1"), ("right", "r2")]
PAIRED = [("both", ("l1", "r1")), ("both", ("l2", "r1"))]
ONLY_LEFT = [("left", ("l3", None))]
ONLY_RIGHT = [("right", (None, "r2"))]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("join", PAIRED),
        ("outer_left_join", PAIRED + ONLY_LEFT),
        ("outer_right_join", PAIRED + ONLY_RIGHT),
        ("outer_join", PAIRED + ONLY_LEFT + ONLY_RIGHT),
    ],
)
def test_joins(method: str, expected: list[Any]) -> None:
    """Each left value with each right value of a key; heronpy refused the outer join."""

    def program(builder: Builder) -> None:
        left, right = builder.new_source(given(LEFT)), builder.new_source(given(RIGHT))
        window = WindowConfig.create_tumbling_window(60)
        joined: Streamlet = getattr(left, method)(right, window, lambda one, two: (one, two))
        joined.consume(nothing)

    found = cluster_of(program).run().finish().elements("join-1")
    assert sorted((window._key, result) for window, result in found) == sorted(expected, key=str)


def test_a_streamlet_cannot_be_its_own_partner() -> None:
    """heronpy: RuntimeError, "Logic error while building"."""
    window = WindowConfig.create_tumbling_window(1)
    combinations: list[Callable[[Any], object]] = [
        lambda source: source.union(source),
        lambda source: source.join(source, window, add),
    ]
    for combine in combinations:

        def built(builder: Any, combine: Callable[[Any], object] = combine) -> object:
            return combine(builder.new_source(given([])))

        with pytest.raises(RuntimeError, match="Logic error while building"):
            spec_of(built)


# --- transform -----------------------------------------------------------------------------------


class Numbered(TransformOperator):
    """Numbers the elements, in its state; leaves some out, repeats some."""

    def setup(self, context: Any) -> None:
        self.context = context

    def transform(self, tup: Any) -> None:
        state = self.context.get_state()
        state.put("number", (state.get("number") or 0) + 1)
        for _ in range(tup.values[0]):
            self.context.emit((state.get("number"), tup.values[0]))


def test_transform_emits_as_the_operator_says() -> None:
    """heronpy's transform raised on the first tuple."""

    def program(builder: Builder) -> None:
        builder.new_source(given([1, 0, 2])).transform(Numbered()).consume(nothing)

    elements = cluster_of(program).run().elements("transform-1")
    assert elements == [(1, 1), (3, 2), (3, 2)]


class Asking(TransformOperator):
    """Emits values of its context."""

    def setup(self, context: Any) -> None:
        self.context = context

    def transform(self, tup: Any) -> None:
        context = self.context
        self.context.emit(
            (
                context.get_task_id(),
                context.get_stream_name(),
                context.get_num_partitions(),
                context.get_partition_index(),
                context.get_config()["mine"],
            )
        )


def test_the_context_of_a_stage() -> None:
    """Task 1 is the source, 2 and 3 are the partitions of the transform."""

    def program(builder: Builder) -> None:
        asked = builder.new_source(given([1, 2])).transform(Asking()).set_num_partitions(2)
        asked.set_num_partitions(2).consume(nothing)

    elements = cluster_of(program, mine=7).run().elements("transform-1")
    assert sorted(elements) == [(2, "output", 2, 0, 7), (3, "output", 2, 1, 7)]
