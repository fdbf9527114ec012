"""Spark's DStreams by their names."""

from collections.abc import Callable
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heronpy_compat.dstreams import DStream, MappedState, StateSpec, StreamingContext
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.testing import TopologyTester
from tests.unit.heronpy_compat.streamlet.streamlet_support import Fed, nothing

LINES = [["to be or not to be"], ["that is the question", "to do is to be"]]


def words(context: StreamingContext) -> DStream:
    return context.queueStream(LINES).flatMap(lambda line: line.split(" "))


def running(program: Callable[[StreamingContext], DStream]) -> TopologyTester:
    context, topology = StreamingContext("Words", 1), TopologyBuilder("Words")
    program(context).streamlet.set_name("shown").consume(nothing)
    topology.set_config({"topology.streamlet.fusion": False})
    context.builder.build(topology)
    return TopologyTester(topology)


def shown(tester: TopologyTester) -> list[Any]:
    return [each[0] for each in tester.values("shown", "output")]


def once(word: str) -> tuple[str, int]:
    return word, 1


def add(left: int, right: int) -> int:
    return left + right


def test_words_are_counted_in_batches() -> None:
    """The seeds' first program."""
    with running(lambda ssc: words(ssc).map(once).reduceByKey(add)) as tester:
        tester.run_spouts()
        tester.finish()
        assert dict(shown(tester)) == {
            "to": 4, "be": 3, "or": 1, "not": 1, "that": 1, "is": 2, "the": 1, "question": 1,
            "do": 1,
        }  # fmt: skip


def test_update_state_is_called_for_each_key_in_each_batch() -> None:
    def update(values: list[int], last: int | None) -> int:
        return sum(values, last or 0)

    with running(
        lambda ssc: ssc.source(Fed()).map(once).updateStateByKey(update, initialRDD=[("z", 5)])
    ) as tester:
        (source,) = tester.component("generator-1")
        source._generator.waiting.extend("aab")
        tester.run_spouts(3)
        tester.advance(3)
        found = shown(tester)
        assert set(found) == {("a", 2), ("b", 1), ("z", 5)}
        assert found.count(("a", 2)) > 1


def test_a_function_of_four_gets_the_time() -> None:
    def track(time_ms: int, word: str, one: int | None, state: MappedState) -> Any:
        assert time_ms > 1_000_000_000_000
        state.update((one or 0) + (state.getOption() or 0))
        return (word, state.get()) if word == "to" else None

    spec = StateSpec.function(track).initialState({"to": 10}).numPartitions(2).timeout(30)
    with running(lambda ssc: words(ssc).map(once).trackStateByKey(spec)) as tester:
        tester.run_spouts()
        assert shown(tester) == [("to", count) for count in (11, 12, 13, 14)]
        assert len(tester.tasks("shown")) == 2


@pytest.mark.parametrize("inverse", [None, lambda left, right: left - right])
def test_windows_with_and_without_an_inverse(inverse: Any) -> None:
    def program(ssc: StreamingContext) -> DStream:
        pairs = ssc.source(Fed()).map(once)
        return pairs.reduceByKeyAndWindow(add, inverse, 3, 1, filterFunc=lambda pair: pair[1] > 1)

    with running(program) as tester:
        (source,) = tester.component("generator-1")
        source._generator.waiting.extend("aab")
        tester.run_spouts(3)
        tester.advance(6)
        assert shown(tester) == [("a", 2)] * 3


def test_values_are_mapped_filtered_united_and_counted() -> None:
    def program(ssc: StreamingContext) -> DStream:
        left, right = ssc.queueStream([[("a", 1)]]), ssc.queueStream([[("a", 2), ("b", 3)]])
        both = left.union(right).repartition(1).mapValues(lambda value: value * 10)
        return both.filter(lambda pair: pair[1] < 30).countByValueAndWindow(2, 1)

    with running(program) as tester:
        tester.run_spouts()
        tester.finish()
        assert set(shown(tester)) == {(("a", 10), 1), (("a", 20), 1)}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda ssc: StreamingContext("Words", 0), "batchDuration is a number of seconds"),
        (lambda ssc: words(ssc).mapWithState(7), "mapWithState takes StateSpec.function"),  # type: ignore[arg-type]
        (lambda ssc: StateSpec.function(7), "StateSpec.function takes a function, not 7"),  # type: ignore[arg-type]
        (lambda ssc: StateSpec.function(once).timeout("1s"), "timeout is a number of seconds"),  # type: ignore[arg-type]
    ],
)
def test_what_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(StreamletError, match=message):
        wrong(StreamingContext("Words", 1))
