"""Collections as sources, and running values by key without windows (Gearpump's operations)."""

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet import collection
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.testing import TopologyTester

LINES = ["to be or not to be", "that is the question", "to do is to be"] * 20
WORDS = Counter(word for line in LINES for word in line.split())
EXACT = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}


def ignored(element: Any) -> None:
    """For `consume`."""


def running(program: Callable[[Builder], Streamlet], **options: Any) -> TopologyTester:
    builder, topology = Builder(), TopologyBuilder("Running")
    program(builder).consume(ignored)
    builder.build(topology)
    return TopologyTester(topology, **options)


def results(tester: TopologyTester, component: str) -> list[Any]:
    return [each[0] for each in tester.values(component, "output")]


def counted(builder: Builder) -> Streamlet:
    """Gearpump's word count, as its documentation writes it."""
    words = builder.from_collection(LINES).flat_map(str.split)
    summed: Streamlet = words.map(lambda word: (word, 1)).group_by_key().sum()
    return summed.set_num_partitions(3)


def test_words_of_a_collection_are_counted_without_a_window() -> None:
    with running(counted) as tester:
        tester.run_spouts()
        found = results(tester, "sum-1")
    assert dict(found) == WORDS
    # Each element gives a result: the values of a word are 1, 2, 3, …
    assert Counter(word for word, _ in found) == WORDS
    assert sorted(value for word, value in found if word == "to") == list(range(1, 81))


@pytest.mark.parametrize(
    ("name", "operation", "expected"),
    [
        ("count-1", lambda grouped: grouped.count(), {0: 4, 1: 3, 2: 3}),
        ("sum-1", lambda grouped: grouped.sum(), {0: 18, 1: 12, 2: 15}),
        (
            "sum-1",
            lambda grouped: grouped.sum(lambda number: number * 10),
            {0: 180, 1: 120, 2: 150},
        ),
        ("reduce-1", lambda grouped: grouped.reduce(max), {0: 9, 1: 7, 2: 8}),
    ],
)
def test_elements_are_grouped_by_a_function(
    name: str, operation: Any, expected: dict[int, int]
) -> None:
    with running(
        lambda builder: operation(builder.from_collection(range(10)).group_by(lambda n: n % 3))
    ) as tester:
        tester.run_spouts()
        assert dict(results(tester, name)) == expected


def test_values_of_pairs_are_reduced_and_summed_by_a_function() -> None:
    pairs = [("a", {"price": 2}), ("b", {"price": 5}), ("a", {"price": 4})]
    with running(
        lambda builder: (
            builder.from_collection(pairs).group_by_key().sum(lambda each: each["price"])
        )
    ) as tester:
        tester.run_spouts()
        assert results(tester, "sum-1") == [("a", 2), ("b", 5), ("a", 6)]


@pytest.mark.parametrize("seed", [1, 2])
def test_running_values_are_exact_whatever_crashes(seed: int) -> None:
    """The collection goes back to its position, the sums to theirs: the newest sum of each word,
    which the last element of the word emitted, is its count."""
    with running(counted, config=EXACT, order="random", seed=seed) as tester:
        for step in range(6):
            tester.run_spouts(7)
            tester.checkpoint()
            tester.run_spouts(3)
            tester.crash(["collection-1", "sum-1"][step % 2])
        tester.run_spouts()
        newest: dict[str, int] = {}
        for word, value in results(tester, "sum-1"):
            newest[word] = max(value, newest.get(word, 0))
        assert newest == WORDS


def test_none_is_a_value_like_others() -> None:
    pairs: list[tuple[str, Any]] = [("a", 1), ("a", 2), ("a", 3)]
    with running(
        lambda builder: (
            builder.from_collection(pairs)
            .group_by_key()
            .reduce(lambda so_far, value: None if value == 2 else (so_far, value))
        )
    ) as tester:
        tester.run_spouts()
        assert results(tester, "reduce-1") == [("a", 1), ("a", None), ("a", (None, 3))]


def test_what_is_no_pair_fails_and_is_named() -> None:
    elements: list[Any] = [7]
    with running(lambda builder: builder.from_collection(elements).group_by_key().sum()) as tester:
        tester.run_spouts()
        problems = [*tester.errors("collection-1"), *tester.errors("sum-1")]
        assert "takes elements (key, value), not 7" in str(problems[0])


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ("a text", "takes a list of elements or another iterable, not 'a text'"),
        (7, "takes a list of elements or another iterable, not 7"),
        ([1, None], "element 1 is None"),
        (count(), "at most 3 elements: use new_source with a Generator"),
    ],
)
def test_what_is_no_collection(
    elements: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "ELEMENTS_MAX", 3)
    with pytest.raises(StreamletError) as caught:
        Builder().from_collection(elements)
    assert message in str(caught.value)


def test_a_collection_has_one_partition() -> None:
    made = Builder().from_collection([1]).set_num_partitions(1)
    with pytest.raises(StreamletError, match=r"repartition\(2\)"):
        made.set_num_partitions(2)


@pytest.mark.parametrize("operation", ["reduce", "sum"])
def test_what_no_values_are_reduced_with(operation: str) -> None:
    grouped = Builder().from_collection([1]).group_by(lambda number: number)
    with pytest.raises(StreamletError, match=f"{operation} takes a function, not 7"):
        getattr(grouped, operation)(7)
