"""Ticks, windows, timers and on_finish that raise: a letter that names the call, or an error."""

from typing import Any

import pytest

from heron_api.windows.keyed_process_bolt import KeyedProcessBolt
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_api.windows.window_bolt import TumblingWindowBolt
from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import Tumbling


class Numbers(Spout):
    outputs = ["number", "time_ms"]

    def next_tuple(self) -> None:
        self.finish()


class Ticking(Bolt):
    auto_ack = True

    def process(self, tup: Any) -> None:
        pass

    def process_tick(self, tup: Any) -> None:
        raise ValueError("a tick")

    def on_watermark(self, watermark_ms: int) -> None:
        raise ValueError("a watermark")

    def on_finish(self) -> None:
        raise ValueError("the end")


class Window(TumblingWindowBolt):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        raise ValueError("a window")


class KeyedWindow(KeyedWindowBolt):
    outputs = ["count"]
    key_fields = ["number"]
    timestamp_field = "time_ms"
    window = Tumbling(1000)

    def values(self, result: Any) -> Any:
        raise ValueError("a result")


class Timed(KeyedProcessBolt):
    auto_ack = True
    timestamp_field = "time_ms"

    def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        self.timers.register_event_time_timer(timestamp_ms or 0)

    def on_timer(self, timestamp_ms: int, timer: Any) -> None:
        raise ValueError("a timer")


class Letters(Bolt):
    auto_ack = True

    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        self.seen.append((tup["exception"], tup["fields"], tup["values"]))


def topology_of(kind: Any, config: dict[str, Any], letters: bool = True) -> Any:
    numbers = Numbers.spec(name="numbers")
    raising = kind.spec(name="raising", inputs={numbers: Grouping.fields("number")}, config=config)
    members: dict[str, Any] = {"numbers": numbers, "raising": raising, "__module__": __name__}
    if letters:
        members["letters"] = Letters.spec(name="letters", inputs=[raising["errors"]])
    return type("Raising", (Topology,), members)


CALLS = [
    (Ticking, {"topology.tick.tuple.freq.secs": 1}, [
        ("a tick", "process_tick", ""), ("a watermark", "on_watermark", ""),
        ("the end", "on_finish", ""),
    ]),
    (KeyedWindow, {}, [("a result", "", "the window from 0 to 1000 ms of key (7,)")]),
    (Timed, {}, [("a timer", "", "the timer of 500 ms, key 7")]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "config", "wanted"), CALLS)
def test_a_call_that_raises_is_a_letter_which_names_it(
    kind: type, config: dict[str, Any], wanted: list[tuple[str, str, str]]
) -> None:
    with TopologyTester(topology_of(kind, config)) as tester:
        tester.feed("numbers", [7, 500])
        tester.run()
        tester.advance(1.5)
        tester.run_spouts()
        tester.finish()
        (letters,) = tester.component("letters")
        assert {each[1][0] for each in letters.seen if each[1]} == {"call"}
        told = [(each[0], *each[2]) for each in letters.seen]
        assert tester.errors("raising")
    for exception, where, about in wanted:
        assert any(
            exception in each[0] and where in each[1] and each[2] == about for each in told
        ), told


def test_a_window_that_fails_its_tuples_makes_a_letter_of_each_and_none_of_the_call() -> None:
    config = {"tumblingwindowbolt_duration_secs": 1}
    with TopologyTester(topology_of(Window, config)) as tester:
        for number in (1, 2):
            tester.feed("numbers", [number, 0])
        tester.run()
        tester.advance(2)
        (letters,) = tester.component("letters")
        tuples = [each[2] for each in letters.seen if each[1] == ["number", "time_ms"]]
        assert sorted(tuples) == [[1, 0], [2, 0]]
        calls = [each[2] for each in letters.seen if each[1] != ["number", "time_ms"]]
        assert all(about.endswith(" s, 0 tuples") for _, about in calls), "of empty windows"
        assert "s, 2 tuples" in tester.errors("raising")[0].text
