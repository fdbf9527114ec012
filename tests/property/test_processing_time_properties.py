"""Windows by processing time: each tuple is in exactly the windows of its arrival.

Arrivals are random, ticks come at any time, at times seconds late, the clock is put back, and an
operator is replaced by its own checkpoint. Every bolt with windows by processing time is compared
with the definition: the windows around the millisecond of a tuple's arrival.
"""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from heron_api.windows.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heron_core.algorithms.event_windows.aggregates import WholeWindow
from heron_core.algorithms.event_windows.assigners import Sliding, Tumbling
from heron_core.algorithms.event_windows.heron import HeronWindows
from heron_core.algorithms.event_windows.storm import Activation, Extent, StormWindows
from heron_tester.component_tester import ComponentTester
from heronpy_compat.windows import (
    BatchWindowBolt,
    KeyedWindowBolt,
    WindowedBolt,
)

STREAMS = 300
TUPLES = 60

Shown = Counter[tuple[int, int]]
"""(tuple, end of a window in ms) -> how often"""


def random_arrivals(rng: Random) -> list[tuple[int, int | None]]:
    """(millisecond, tuple, or None for a tick), in order; a tick is late by up to ten slides."""
    steps: list[tuple[int, int | None]] = []
    now_ms = rng.randint(0, 50)
    for number in range(TUPLES):
        now_ms += rng.choice([0, 0, 1, 3, 10, 40, 400 if rng.random() < 0.1 else 2])
        steps.append((now_ms, number))
        if rng.random() < 0.3:
            steps.append((now_ms, None))
    return steps


def of_storm(arrived_ms: int, length: int, slide: int) -> list[int]:
    """The ends of the windows (end - length, end] that hold a tuple."""
    first = -(-arrived_ms // slide) * slide
    return list(range(first, arrived_ms + length, slide))


def of_start(arrived_ms: int, length: int, slide: int) -> list[int]:
    """The ends of the windows [end - length, end) that hold a tuple; starts are whole slides."""
    last_start = arrived_ms // slide * slide
    return [
        start + length
        for start in range(last_start, arrived_ms - length, -slide)
    ]  # fmt: skip


def test_storms_windows_hold_each_tuple_in_exactly_the_windows_of_its_arrival() -> None:
    for seed in range(STREAMS):
        rng = Random(seed)
        length, slide = rng.randint(1, 60), rng.randint(1, 40)
        windows = StormWindows(Extent(length, False), Extent(slide, False), by_event_time=False)
        shown: Shown = Counter()
        expected: Shown = Counter()
        gone: list[int] = []

        def take(steps: list[Any], shown: Shown = shown, gone: list[int] = gone) -> None:
            for step in steps:
                if isinstance(step, Activation):
                    shown.update((each, step.end_ms) for each in step.items)
                else:
                    gone.extend(step.items)

        last_tick_ms = -1
        for now_ms, number in random_arrivals(rng):
            if number is None:
                take(windows.advance(now_ms))
                last_tick_ms = now_ms
            else:
                take(windows.add(now_ms, number))
                # The window that a tick has shown in this very millisecond is over.
                is_over = now_ms == last_tick_ms and now_ms % slide == 0
                came_ms = now_ms if not is_over or not shown_at(shown, now_ms) else now_ms + 1
                expected.update((number, end) for end in of_storm(came_ms, length, slide))
            if rng.random() < 0.1:
                position, retained = windows.saved()
                windows = StormWindows(
                    Extent(length, False), Extent(slide, False), by_event_time=False
                )
                windows.restore([(position, each) for each in retained])
        take(windows.finish())
        assert shown == expected, seed
        assert sorted(gone) == list(range(TUPLES)), seed


def test_herons_windows_hold_each_tuple_in_exactly_the_windows_of_its_arrival() -> None:
    """Whatever checkpoint it goes on from; from the beginning on empty ones are shown as well."""
    for seed in range(STREAMS):
        rng = Random(seed)
        length = rng.randint(1, 60)
        slide = rng.randint(1, length)
        windows = HeronWindows(length, slide)
        expected: Shown = Counter()
        steps: list[Any] = []
        arrivals = random_arrivals(rng)
        for now_ms, number in arrivals:
            if number is None:
                steps += windows.advance(now_ms)
            else:
                steps += windows.add(now_ms, number)
                expected.update((number, end) for end in of_start(now_ms, length, slide))
            if rng.random() < 0.1:
                position, retained = windows.saved()
                windows = HeronWindows(length, slide)
                windows.restore([(position, each) for each in retained])
        steps += windows.finish()
        shown = [each for each in steps if isinstance(each, Activation)]
        gone = [item for each in steps if not isinstance(each, Activation) for item in each.items]
        assert Counter((x, each.end_ms) for each in shown for x in each.items) == expected, seed
        assert sorted(gone) == list(range(TUPLES)), seed
        ends = [each.end_ms for each in shown]
        assert ends == sorted(set(ends)), f"{seed}: a window was shown twice"


def test_herons_empty_windows_are_shown_from_the_beginning_on() -> None:
    windows = HeronWindows(5, 2)
    steps = [*windows.advance(100), *windows.add(101, "a"), *windows.advance(108)]
    assert [(each.end_ms, each.items) for each in steps if isinstance(each, Activation)] == [
        (101, []), (103, ["a"]), (105, ["a"]), (107, []),
    ]  # fmt: skip
    assert [each.items for each in steps if not isinstance(each, Activation)] == [["a"]]


def shown_at(shown: Shown, end_ms: int) -> bool:
    return any(end == end_ms for _, end in shown)


def test_a_clock_that_is_put_back_neither_loses_nor_doubles_a_tuple() -> None:
    for seed in range(STREAMS):
        rng = Random(seed)
        slide = rng.randint(1, 40)
        windows = StormWindows(Extent(slide, False), Extent(slide, False), by_event_time=False)
        found: list[int] = []
        for at_ms, number in random_arrivals(rng):
            now_ms = at_ms - rng.choice([0, 0, 0, 7, 100])
            steps = windows.advance(now_ms) if number is None else windows.add(now_ms, number)
            found += [x for each in steps if isinstance(each, Activation) for x in each.items]
        steps = windows.finish()
        found += [x for each in steps if isinstance(each, Activation) for x in each.items]
        assert sorted(found) == list(range(TUPLES)), seed


@pytest.mark.parametrize(("length", "slide"), [((10, True), (30, False)), ((3, True), (30, False))])
def test_the_last_so_many_tuples_are_those_of_the_slides_end(length: Any, slide: Any) -> None:
    for seed in range(STREAMS):
        rng = Random(seed)
        windows = StormWindows(Extent(*length), Extent(*slide), by_event_time=False)
        came: list[tuple[int, int]] = []
        for now_ms, number in random_arrivals(rng):
            if number is not None:
                windows.add(now_ms, number)
                came.append((now_ms, number))
                continue
            for each in windows.advance(now_ms - 1):  # whatever comes in this millisecond
                if isinstance(each, Activation):
                    due = [number for arrived, number in came if arrived <= each.end_ms]
                    assert each.items == due[-length[0] :], seed


class Kept:
    """Counts each tuple with the end of each window around it."""

    shown: Shown

    def keep(self, end_ms: int, tuples: list[Any]) -> None:
        shown = vars(self).setdefault("shown", Counter())
        shown.update((each.values[0], end_ms) for each in tuples)


class Slides(Kept, SlidingWindowBolt):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        self.keep(window_info.end * 1000, tuples)


class Tumbles(Kept, TumblingWindowBolt):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        self.keep(window_info.end * 1000, tuples)


class Storms(Kept, WindowedBolt):
    def execute(self, window: Any) -> None:
        self.keep(window.get_end_timestamp(), window.get())


class Keyed(Kept, KeyedWindowBolt):
    outputs = ["x"]
    aggregate = WholeWindow()
    window: Any = Sliding(3000, 1000)

    def value(self, tup: Any, timestamp_ms: int) -> Any:
        return [timestamp_ms, tup.values[0], tup]

    def values(self, result: Any) -> Any:
        self.keep(result.window.end_ms, [each[2] for each in result.value])


class KeyedTumbling(Keyed):
    window: Any = Tumbling(2000)


class Batched(Kept, BatchWindowBolt):
    outputs = {"end_ms": "bigint", "tuples": "bigint"}
    window = Sliding(3000, 1000)
    aggregates = {"tuples": "count"}

    def values(self, result: Any) -> Any:
        shown = vars(self).setdefault("shown", Counter())
        shown[(0, result.window.end_ms)] += result.value["tuples"][0].as_py()


DURATION_SECS = SlidingWindowBolt.WINDOW_DURATION_SECS
SLIDE_SECS = SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS
STORM = {
    "topology.bolts.window.length.duration.ms": 3000,
    "topology.bolts.window.sliding.interval.duration.ms": 1000,
}
BOLTS: list[tuple[Any, dict[str, Any], Callable[[int, int, int], list[int]], int, int]] = [
    (Slides, {DURATION_SECS: 3, SLIDE_SECS: 1}, of_start, 3000, 1000),
    (Tumbles, {TumblingWindowBolt.WINDOW_DURATION_SECS: 2}, of_start, 2000, 2000),
    (Storms, STORM, of_storm, 3000, 1000),
    (Keyed, {}, of_start, 3000, 1000),
    (KeyedTumbling, {}, of_start, 2000, 2000),
    (Batched, {}, of_start, 3000, 1000),
]


@pytest.mark.parametrize(("bolt", "config", "ends", "length", "slide"), BOLTS)
def test_every_bolt_puts_tuples_into_the_windows_of_their_arrival_however_late_its_ticks(
    bolt: Any, config: Any, ends: Any, length: int, slide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(7)
    expected: Shown = Counter()
    now_ms = 1_000_000_137
    monkeypatch.setattr(bolt, "window_clock", staticmethod(lambda: now_ms / 1000))
    with ComponentTester(bolt, inputs={"numbers": ["number"]}, config=config) as tester:
        for number in range(400):
            # Off the borders: the side is decided by a tick in their millisecond.
            now_ms += rng.choice([2, 10, 30, 100, 700 if rng.random() < 0.2 else 10])
            now_ms += now_ms % 1000 == 0
            tester.process([number])
            expected.update((number, end) for end in ends(now_ms, length, slide))
            if rng.random() < 0.05:
                now_ms += rng.randint(0, 9000)  # it was busy
                now_ms += now_ms % 1000 == 0
                tester.tick()
        tester.finish()
        assert sorted(tester.acked) == list(range(1, 401))
        if bolt is Batched:
            expected = Counter({(0, end): n for end, n in in_windows(expected).items()})
        assert tester.component.shown == expected


def in_windows(shown: Shown) -> Counter[int]:
    found: Counter[int] = Counter()
    for (_, end), number in shown.items():
        found[end] += number
    return found
