"""process: a function of a key's elements, with state and timers."""

from collections.abc import Iterator
from typing import Any

import pytest

from heron_api.state.keyed_state import value_state
from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import KeyedProcess, ProcessContext
from tests.unit.heronpy_compat.streamlet.streamlet_support import given, nothing

VISITS = [("a", 1000), ("b", 1010), ("a", 1150), ("b", 1020), ("a", 9000)]
EVERY_TUPLE = {"topology.bolts.watermark.event.interval.ms": 0}


class Inactive(KeyedProcess):
    """Who has been away for 100 ms, with the number of visits until then."""

    visits = value_state(default=0)

    def open(self, context: ProcessContext) -> None:
        self.last = context.value_state("last")

    def process_element(self, element: Any, context: ProcessContext) -> None:
        assert context.timestamp_ms is not None
        self.visits.put(self.visits.get() + 1)
        self.last.put(context.timestamp_ms)
        context.timers.register_event_time_timer(context.timestamp_ms + 100)

    def on_timer(self, timestamp_ms: int, context: ProcessContext) -> Iterator[Any]:
        if self.last.get() == timestamp_ms - 100:
            yield context.key, timestamp_ms, self.visits.get()


def running(process: Any, on_timer: Any = None, **config: str) -> TopologyTester:
    builder, topology = Builder(), TopologyBuilder("Processed")
    visits = builder.new_source(given(VISITS)).set_num_partitions(1)
    timed = visits.with_event_time(lambda visit: visit[1], lag_ms=100)
    made = timed.key_by(lambda visit: visit[0]).process(process, on_timer)
    made.set_num_partitions(2).consume(nothing)
    builder.build(topology)
    extra = {key.replace("_", "."): value for key, value in config.items()}
    return TopologyTester(topology, config={**EVERY_TUPLE, **extra})


@pytest.mark.parametrize("mode", ["ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"])
def test_a_class_with_states_and_timers(mode: str) -> None:
    with running(Inactive, topology_reliability_mode=mode) as tester:
        tester.run_spouts()
        found = [each[0] for each in tester.values("process-1", "output")]
        # The visit of 9000 ms comes before the watermark that it brings, as in Flink.
        assert sorted(found) == [("a", 9100, 3), ("b", 1120, 2)]


def test_plain_functions_and_an_object() -> None:
    def count(element: Any, context: ProcessContext) -> list[Any]:
        state = context.value_state("count", default=0)
        state.put(state.get() + 1)
        context.timers.register_event_time_timer(10_000)
        return [(context.key, state.get())]

    def at_the_end(timestamp_ms: int, context: ProcessContext) -> list[Any]:
        return [("end", context.key, context.value_state("count", default=0).get())]

    with running(count, at_the_end) as tester:
        tester.run_spouts()
        found = [each[0] for each in tester.values("process-1", "output")]
        assert sorted(found, key=str) == sorted(
            [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("end", "a", 3), ("end", "b", 2)],
            key=str,
        )


def test_an_object_of_the_class_and_a_watermark_of_the_test() -> None:
    with running(Inactive()) as tester:
        tester.run_spouts(2)
        tester.advance_watermark("process-1", 1101)
        assert tester.values("process-1", "output") == [[("a", 1100, 1)]]


def test_what_returns_no_elements_is_named() -> None:
    with running(lambda element, context: 7) as tester:
        tester.run_spouts(1)
        (error,) = tester.errors("process-1")
        assert "FunctionProcess must return or yield elements, not 7" in str(error)


@pytest.mark.parametrize(
    ("process", "on_timer", "message"),
    [
        (7, None, "process takes a function, not 7"),
        (len, 7, "process takes a function, not 7"),
        (Inactive, len, "has its own on_timer"),
    ],
)
def test_what_cannot_be_processed_with(process: Any, on_timer: Any, message: str) -> None:
    with pytest.raises(StreamletError, match=message):
        running(process, on_timer)
