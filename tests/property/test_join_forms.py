"""Joins of streamlets against their definitions: by event time with late elements, and by arrival.

Two sources are drawn, with the order of their elements, lateness, and the end of each source. The
streamlets run in the tester; a definition beside gets equal input. Both must have equal pairs, and
equal late elements.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heron_core.algorithms.event_windows.assigners import Assigner, Session, Sliding, Tumbling
from heron_core.algorithms.event_windows.triggers import AT_WATERMARK
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK, Late, Result
from heron_tester.clock import START_TIME
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.windowconfig import WindowConfig
from heronpy_compat.testing import TopologyTester
from tests.property.plain_windows import PlainOperator

STREAMS = 15
"""For each kind of join: together some hundred elements, in some seconds."""
ELEMENTS_MAX = 14
"""Of each side."""
KEYS = "ab"
CONFIG = {
    "topology.bolts.watermark.event.interval.ms": 0,
    "topology.streamlet.fusion": False,
    "topology.message.timeout.secs": 10_000,
}
MODES = ("ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE")
LEFT, RIGHT = "left", "right"
LATE = "numLateRecordsDropped"
# Clocks are odd, ends of windows are even: none is on a border.
STARTS_AT = START_TIME + 0.0015
KINDS = ("inner", "left", "right", "outer")

Element = tuple[str, int, str]
"""Key, event time in milliseconds, a name of its own."""


@dataclass(slots=True)
class Drawn:
    """Two sources."""

    steps: list[tuple[str, Element | None, float]]
    """The side, its next element or None for its end, and the seconds before."""
    lag_ms: int

    def of(self, side: str) -> list[Element]:
        """The elements of a side."""
        return [each for at, each, _ in self.steps if at == side and each is not None]


def drawn(rng: Random) -> Drawn:
    """Sides with disordered event times, one ahead of the second."""
    disorder, ahead_ms = rng.choice([0, 40, 400]), rng.choice([0, 0, 500])
    left = {side: rng.randint(0, ELEMENTS_MAX) + 1 for side in (LEFT, RIGHT)}
    steps: list[tuple[str, Element | None, float]] = []
    time_ms = 1_000_000
    while any(left.values()):
        side = rng.choice([each for each, number in left.items() if number])
        left[side] -= 1
        time_ms += rng.choice([0, 0, 20, 20, 160, 700])
        at_ms = time_ms - rng.randint(0, disorder) + ahead_ms * (side == RIGHT)
        element = (rng.choice(KEYS), at_ms, f"{side}{len(steps)}") if left[side] else None
        steps.append((side, element, rng.choice([0, 0, 0.002, 0.4, 3.0])))
    return Drawn(steps, rng.choice([0, 20, 300]))


@dataclass(slots=True)
class EventTime:
    """The watermark of two sources, which follows each element."""

    lag_ms: int
    marks: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((LEFT, RIGHT), NO_WATERMARK)
    )
    watermark_ms: int = NO_WATERMARK

    def seen(self, side: str, time_ms: int) -> None:
        self.marks[side] = max(self.marks[side], time_ms - self.lag_ms)
        self.advance()

    def ends(self, side: str) -> None:
        del self.marks[side]
        self.advance()

    def advance(self) -> None:
        if self.marks:
            self.watermark_ms = max(self.watermark_ms, min(self.marks.values()))


Pairs = Counter[tuple[Any, ...]]


def pairs_of(kind: str, left: Sequence[Any], right: Sequence[Any]) -> list[tuple[Any, Any]]:
    """The definition of a join of one key."""
    lefts = left or ([None] if kind in ("right", "outer") else [])
    rights = right or ([None] if kind in ("left", "outer") else [])
    return [(one, other) for one in lefts for other in rights]


def add_results(found: list[Any], kind: str, pairs: Pairs, late: list[str]) -> None:
    """What windows of [time, number, side, name] come to."""
    for each in found:
        if isinstance(each, Late):
            late.append(each.value[3])
        elif isinstance(each, Result):
            sides = [[x[3] for x in each.value if x[2] == side] for side in (LEFT, RIGHT)]
            window = (each.key, each.window.start_ms, each.window.end_ms)
            pairs.update((*window, *pair) for pair in pairs_of(kind, *sides))


def run(
    given: Drawn,
    program: Callable[[Any, Any], Any],
    mode: str,
    arrives: Callable[[str, Any, int], None],
) -> tuple[list[Any], int]:
    """(results, number of late elements) of the streamlet made by `program` of both sources.
    `arrives` gets the side, its element or None, and the time in milliseconds."""
    builder, topology = Builder(), TopologyBuilder("Joined")
    sources = [
        builder.new_source(partial(next, iter(given.of(side)))).set_name(side)
        for side in (LEFT, RIGHT)
    ]
    joined = program(*sources)
    joined.consume(lambda _: None)
    topology.set_config(CONFIG)
    builder.build(topology)
    config = {**CONFIG, "topology.reliability.mode": mode}
    with TopologyTester(topology, config=config, start_time=STARTS_AT) as tester:
        for side, element, secs in given.steps:
            tester.advance(secs)
            arrives(side, element, int(tester.now * 1000))
            tester.run_spouts(1, side)
        tester.finish()
        late = int(tester.metrics("joined")["user"].get(LATE, 0))
        return [each[0] for each in tester.values("joined", "output")], late


def drawn_window(rng: Random) -> Assigner:
    length = 160 * rng.randint(1, 8)
    kinds: list[Assigner] = [
        Tumbling(length),
        Sliding(length, 80 * rng.randint(1, length // 80)),
        Session(length),
    ]
    return rng.choice(kinds)


def key_of(element: Element) -> str:
    return element[0]


def time_of(element: Element) -> int:
    return element[1]


def both(left: Element | None, right: Element | None) -> tuple[Any, Any]:
    return (left and left[2], right and right[2])


def shown(results: list[Any]) -> Pairs:
    """Pairs of a KeyedWindow and a pair."""
    found: Pairs = Counter()
    for keyed, pair in results:
        key, window = vars(keyed).values()
        found[(key, *(round(secs * 1000) for secs in vars(window).values()), *pair)] += 1
    return found


def window_joins(rng: Random) -> None:
    """By event time with lateness, or by the time of arrival."""
    given, kind, window = drawn(rng), rng.choice(KINDS), drawn_window(rng)
    by_event_time, lateness = rng.random() < 0.7, rng.choice([0, 0, 400])
    if not by_event_time:
        lateness = 0
    plain, events = PlainOperator(window, AT_WATERMARK, lateness), EventTime(given.lag_ms)
    pairs: Pairs = Counter()
    late: list[str] = []

    def arrives(side: str, element: Element | None, now_ms: int) -> None:
        found: list[Any] = []
        if element is None:
            events.ends(side)
        else:
            time_ms = element[1] if by_event_time else now_ms
            event: Any = [time_ms, 0, side, element[2]]
            found += plain.add(element[0], time_ms, event, now_ms)
            events.seen(side, time_ms)
        if by_event_time:
            found += plain.advance_watermark(events.watermark_ms)
        if not events.marks:
            found += plain.advance_watermark(END_OF_TIME)
        add_results(found, kind, pairs, late)

    def program(left: Any, right: Any) -> Any:
        if by_event_time:
            left, right = (
                each.with_event_time(time_of, lag_ms=given.lag_ms) for each in (left, right)
            )
        left, right = left.key_by(key_of), right.key_by(key_of)
        return (
            left.window_join(right, window, both, kind=kind, allowed_lateness_ms=lateness)
            .set_name("joined")
            .set_num_partitions(1)
        )

    results, dropped = run(given, program, rng.choice(MODES), arrives)
    assert shown(results) == pairs
    assert dropped == len(late)


def interval_joins(rng: Random) -> None:
    """All pairs that are so close in time, of elements that are not late."""
    given = drawn(rng)
    events = EventTime(given.lag_ms)
    lower = 20 * rng.randint(-20, 20)
    upper = lower + 20 * rng.randint(0, 30)
    kept: dict[str, list[Element]] = {LEFT: [], RIGHT: []}
    late = 0

    def arrives(side: str, element: Element | None, now_ms: int) -> None:
        nonlocal late
        if element is None:
            events.ends(side)
            return
        if element[1] < events.watermark_ms:
            late += 1
        else:
            kept[side].append(element)
        events.seen(side, element[1])

    def program(left: Any, right: Any) -> Any:
        left, right = (each.with_event_time(time_of, lag_ms=given.lag_ms) for each in (left, right))
        left, right = left.key_by(key_of), right.key_by(key_of)
        joined = left.interval_join(right, lower, upper, both)
        return joined.set_name("joined").set_num_partitions(1)

    results, dropped = run(given, program, rng.choice(MODES), arrives)
    expected = Counter(
        (one[0], (one[2], other[2])) for one in kept[LEFT] for other in kept[RIGHT]
        if one[0] == other[0] and lower <= other[1] - one[1] <= upper
    )  # fmt: skip
    assert Counter(results) == expected
    assert dropped == late


def heronpys_joins(rng: Random) -> None:
    """By the time of arrival, in windows of whole seconds."""
    given, kind = drawn(rng), rng.choice(KINDS)
    secs = 2 * rng.randint(1, 3)
    slide = rng.choice([secs, 2 * rng.randint(1, secs // 2)])
    plain = PlainOperator(Sliding(secs * 1000, slide * 1000), AT_WATERMARK, 0)
    pairs: Pairs = Counter()
    ended: list[str] = []

    def arrives(side: str, element: Element | None, now_ms: int) -> None:
        if element is None:
            ended.append(side)
        else:
            event: Any = [now_ms, 0, side, element[2]]
            plain.add(element[0], now_ms, event, now_ms)
        if len(ended) == 2:
            add_results(plain.advance_watermark(END_OF_TIME), kind, pairs, [])

    def program(left: Any, right: Any) -> Any:
        left, right = (each.map(lambda each: (each[0], each)) for each in (left, right))
        join = {"inner": left.join, "left": left.outer_left_join,
                "right": left.outer_right_join, "outer": left.outer_join}[kind]  # fmt: skip
        windows = WindowConfig.create_sliding_window(secs, slide)
        return join(right, windows, both).set_name("joined").set_num_partitions(1)

    results, _ = run(given, program, rng.choice(MODES), arrives)
    assert shown(results) == pairs


@pytest.mark.parametrize("form", [window_joins, interval_joins, heronpys_joins])
def test_a_join_has_the_pairs_of_its_definition_however_late_elements_are(
    form: Callable[[Random], None],
) -> None:
    for seed in range(STREAMS):
        try:
            form(Random(f"{form.__name__} {seed}"))
        except Exception as error:
            error.add_note(f"{form.__name__} {seed}")
            raise
