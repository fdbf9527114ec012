"""Every form of window against its definition, with slow calls, late ticks and late tuples.

A form (kind, length, slide, trigger, by event time or by arrival) is drawn, then the arrival and
lateness of tuples, and the duration of calls of user code. The bolt runs in the tester, on the
engine's own clock of ticks; beside the bolt runs a definition with equal input: a tuple with the
time of its arrival, or a clock reading. Both have to fire equal windows and count equally many late
tuples.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from time import sleep
from typing import Any

import pytest

from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_api.windows.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heron_api.windows.windowed_bolt import WindowedBolt
from heron_core.algorithms.event_windows.aggregates import WholeWindow
from heron_core.algorithms.event_windows.assigners import Assigner, Session, Sliding, Tumbling
from heron_core.algorithms.event_windows.triggers import AT_WATERMARK, Trigger
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK, Late, Result
from heron_tester.clock import START_TIME
from heron_tester.component_tester import ComponentTester
from tests.property.plain_windows import PlainOperator
from tests.property.test_event_windows_properties import random_trigger

STREAMS = 40
"""For each kind of bolt: together some hundreds of topologies, in some seconds."""
TUPLES_MAX = 40
FIELD, LAG = (
    "topology.bolts.tuple.timestamp.field.name",
    "topology.bolts.tuple.timestamp.max.lag.ms",
)
INTERVAL = "topology.bolts.watermark.event.interval.ms"
LATENESS = "topology.bolts.window.allowed.lateness.ms"
LENGTH, SLIDE = "topology.bolts.window.length.", "topology.bolts.window.sliding.interval."
EXTENT = {False: "duration.ms", True: "count"}

Shown = Counter[tuple[Any, ...]]
"""What identifies a window, and the sorted numbers of its tuples"""
# Clocks and timestamps are odd, ends of windows are even: none is on a border, where the order of a
# tick and a tuple in one millisecond decides.
STARTS_AT = START_TIME + 0.0015


class Definition:
    """What a bolt is to show."""

    def __init__(self) -> None:
        self.shown: Shown = Counter()
        self.late = 0

    def arrives(self, now_ms: int, time_ms: int, number: int) -> None:
        """A tuple."""
        raise NotImplementedError

    def looks(self, now_ms: int) -> None:
        """The bolt looks at the clock."""

    def ends(self) -> None:
        """No tuple is to come."""


@dataclass(slots=True)
class EventTime:
    """The watermark of one source, as known to a bolt after a clock reading."""

    lag_ms: int
    highest_ms: int = NO_WATERMARK
    watermark_ms: int = NO_WATERMARK

    def seen(self, time_ms: int) -> None:
        self.highest_ms = max(self.highest_ms, time_ms - self.lag_ms)

    def looks(self) -> int:
        self.watermark_ms = max(self.watermark_ms, self.highest_ms)
        return self.watermark_ms


class OfStorm(Definition):
    """(end - length, end], ends are whole slides; or the last so many tuples."""

    def __init__(
        self, length: int, by_length: bool, slide: int, by_slide: bool, lag: int | None
    ) -> None:
        super().__init__()
        self._length, self._slide = length, slide
        self._is_count, self._is_slide_count = by_length, by_slide
        self._events = None if lag is None else EventTime(lag)
        self._came: list[tuple[int, int]] = []

    def arrives(self, now_ms: int, time_ms: int, number: int) -> None:
        if self._events is not None:
            self._events.seen(time_ms)
            if time_ms < self._events.watermark_ms:
                self.late += 1
                return
        self._came.append((now_ms if self._events is None else time_ms, number))
        if self._is_slide_count and self._events is None and len(self._came) % self._slide == 0:
            self._show_last(self._length)

    def _show_last(self, most: int) -> None:
        end_ms = self._came[-1][0]
        inside = self._came
        if self._is_count:
            inside = self._came[-most:] if most else []
        else:
            inside = [each for each in inside if end_ms - each[0] < self._length]
        if inside:
            self.shown[(end_ms, tuple(sorted(number for _, number in inside)))] += 1

    def _show_counts(self) -> None:
        """By event time: in the order of timestamps."""
        came = sorted(self._came, key=lambda each: each[0])
        for end in range(self._slide, len(came) + 1, self._slide):
            self._came = came[:end]
            self._show_last(self._length)
        self._came = came

    def looks(self, now_ms: int) -> None:
        if self._events is not None:
            self._events.looks()

    def ends(self) -> None:
        if self._is_slide_count:
            if self._events is not None:
                self._show_counts()
            if rest := len(self._came) % self._slide:
                self._show_last(max(0, self._length - (self._slide - rest)))
            return
        inside: dict[int, list[int]] = {}
        for time_ms, number in self._came:
            first = -(-time_ms // self._slide) * self._slide
            ends = list(range(first, time_ms + self._length, self._slide))
            for end_ms in ends:
                inside.setdefault(end_ms, []).append(number)
        self.shown.update((end_ms, tuple(sorted(each))) for end_ms, each in inside.items())


class OfOperator(Definition):
    """[start, end), by plain_windows; every result counts."""

    def __init__(
        self, windows: Assigner, trigger: Trigger, lateness_ms: int, lag: int | None
    ) -> None:
        super().__init__()
        self._plain = PlainOperator(windows, trigger, lateness_ms)
        self._events = None if lag is None else EventTime(lag)

    def arrives(self, now_ms: int, time_ms: int, number: int) -> None:
        if self._events is None:
            time_ms = max(now_ms, self._plain.watermark_ms)
        found = self._plain.add("", time_ms, [time_ms, number], now_ms)
        if self._events is not None:
            self._events.seen(time_ms)
        self._show(found)

    def looks(self, now_ms: int) -> None:
        watermark_ms = now_ms if self._events is None else self._events.looks()
        self._show(self._plain.advance_watermark(watermark_ms))
        self._show(self._plain.advance_time(now_ms))

    def ends(self) -> None:
        self._show(self._plain.advance_watermark(END_OF_TIME))

    def _show(self, found: list[Any]) -> None:
        for each in found:
            if isinstance(each, Late):
                self.late += 1
            elif isinstance(each, Result):
                numbers = tuple(sorted(number for _, number in each.value))
                self.shown[(each.window.end_ms, numbers, str(each.firing))] += 1


@dataclass(slots=True)
class Form:
    """A drawn form."""

    bolt: Any
    config: dict[str, Any]
    definition: Definition
    trigger: Trigger = AT_WATERMARK
    window: Any = None


class Watched:
    """A window bolt beside its definition; `delays_ms` are the durations of its next calls."""

    form: Form
    delays_ms: Callable[[], int]

    def note(self, *what: Any) -> None:
        self.found[what] += 1
        sleep(self.delays_ms() / 1000)

    @property
    def found(self) -> Shown:
        shown: Shown = vars(self).setdefault("shown", Counter())
        return shown

    def now_ms(self) -> int:
        clock: Any = self
        return int(clock.window_clock() * 1000)


def watched(bolt: Any) -> Any:
    """The bolt whose runner's ticks are looks at the clock."""

    def process(self: Any, tup: Any) -> None:
        number, time_ms = tup.values[:2]
        self.form.definition.arrives(self.now_ms(), time_ms, number)
        bolt.process(self, tup)

    def initialize(self: Any, config: Any, context: Any) -> None:
        bolt.initialize(self, config, context)
        tick = self.time_runner.tick

        def looked() -> None:
            self.form.definition.looks(self.now_ms())
            tick()

        self.time_runner.tick = looked

    return {"process": process, "initialize": initialize}


class _Storms(Watched, WindowedBolt):
    def execute(self, window: Any) -> None:
        numbers = tuple(sorted(tup.values[0] for tup in window.get()))
        self.note(window.get_end_timestamp(), numbers)


class _Keyed(Watched, KeyedWindowBolt):
    outputs = ["x"]
    aggregate = WholeWindow()

    def value(self, tup: Any, timestamp_ms: int) -> Any:
        return [timestamp_ms, tup.values[0]]

    def values(self, result: Any) -> Any:
        numbers = tuple(sorted(number for _, number in result.value))
        self.note(result.window.end_ms, numbers, str(result.firing))


class _Tumbles(Watched, TumblingWindowBolt):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        if tuples:
            self.note(
                window_info.end * 1000, tuple(sorted(tup.values[0] for tup in tuples)), "on time"
            )


class _Slides(Watched, SlidingWindowBolt):
    processWindow = _Tumbles.processWindow  # noqa: N815


def drawn_time(rng: Random, config: dict[str, Any]) -> int | None:
    """The lag of a form by event time; None for a form by arrival."""
    if rng.random() < 0.4:
        return None
    lag = rng.choice([0, 20, 300])
    config |= {FIELD: "time_ms", LAG: lag, INTERVAL: rng.choice([0, 100, 1000])}
    return lag


def storms(rng: Random) -> Form:
    config: dict[str, Any] = {}
    lag = drawn_time(rng, config)
    by_slide = rng.random() < 0.4
    by_length = by_slide and rng.random() < 0.5
    length = rng.randint(1, 7) if by_length else 160 * rng.randint(1, 12)
    slide = rng.randint(1, 7) if by_slide else 160 * rng.randint(1, 12)
    config |= {LENGTH + EXTENT[by_length]: length, SLIDE + EXTENT[by_slide]: slide}
    return Form(_Storms, config, OfStorm(length, by_length, slide, by_slide, lag))


def drawn_windows(rng: Random) -> Assigner:
    length = 160 * rng.randint(1, 12)
    kinds: list[Assigner] = [
        Tumbling(length), Sliding(length, 80 * rng.randint(1, length // 80)), Session(length),
    ]  # fmt: skip
    return rng.choice(kinds)


def keyed(rng: Random) -> Form:
    config: dict[str, Any] = {INTERVAL: rng.choice([0, 100, 1000])}
    lag = drawn_time(rng, config)
    windows = drawn_windows(rng)
    lateness = 0 if lag is None else rng.choice([0, 0, 400])
    config[LATENESS] = lateness
    trigger = random_trigger(rng) if rng.random() < 0.3 else AT_WATERMARK
    definition = OfOperator(windows, trigger, lateness, lag)
    return Form(_Keyed, config, definition, trigger=trigger, window=windows)


def heronpys(rng: Random) -> Form:
    config: dict[str, Any] = {}
    lag = drawn_time(rng, config)
    secs = 2 * rng.randint(1, 3)
    slide = 2 * rng.randint(1, secs // 2)
    is_sliding = rng.random() < 0.6
    if is_sliding:
        config |= {
            SlidingWindowBolt.WINDOW_DURATION_SECS: secs,
            SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS: slide,
        }
    else:
        config |= {TumblingWindowBolt.WINDOW_DURATION_SECS: secs}
    windows = Sliding(secs * 1000, slide * 1000) if is_sliding else Tumbling(secs * 1000)
    definition = OfOperator(windows, AT_WATERMARK, 0, lag)
    return Form(_Slides if is_sliding else _Tumbles, config, definition)


def of_form(form: Form, delays_ms: Callable[[], int]) -> Any:
    """The class of the bolt."""
    made = watched(form.bolt)
    if form.window is not None:
        made |= {"window": form.window, "trigger": form.trigger}
    own = {"form": form, "delays_ms": staticmethod(delays_ms)}
    return type(form.bolt.__name__, (form.bolt,), made | own)


@pytest.mark.parametrize("draw", [storms, keyed, heronpys])
def test_every_window_has_the_tuples_of_its_definition_however_late_calls_and_ticks_are(
    draw: Callable[[Random], Form],
) -> None:
    for seed in range(STREAMS):
        rng = Random(f"{draw.__name__} {seed}")
        form = draw(rng)
        try:
            run(form, rng)
        except Exception as error:
            error.add_note(f"{draw.__name__} {seed}: {form.config} {form.window} {form.trigger}")
            raise


def run(form: Form, rng: Random) -> None:
    slow = rng.choice([0.0, 0.1, 0.5])
    bolt = of_form(form, lambda: rng.choice([40, 500, 4000]) if rng.random() < slow else 0)
    disorder = rng.choice([0, 10, 200])
    number_of_tuples = rng.randint(1, TUPLES_MAX)
    config = {**form.config, "topology.message.timeout.secs": 10_000}
    with ComponentTester(
        bolt, inputs={"numbers": ["number", "time_ms"]}, config=config, start_time=STARTS_AT
    ) as tester:
        for number in range(number_of_tuples):
            now_ms = int(tester.now * 1000)
            tester.process([number, now_ms - 2 * rng.randint(0, disorder)])
            tester.advance(
                rng.choice([0, 0, 2, 40, 400, 3000 if rng.random() < 0.2 else 20]) / 1000
            )
        tester.finish()
        form.definition.ends()
        assert tester.component.found == form.definition.shown
        assert sorted(tester.acked) == list(range(1, number_of_tuples + 1))
        counted = tester.metrics()["user"].get("numLateRecordsDropped", 0)
        assert counted == form.definition.late
