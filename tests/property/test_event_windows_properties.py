"""Windows of random streams against the definition (plain_windows.py), event by event.

Each stream has disorder, late events, several keys, an operator that is replaced by its own
checkpoint in the middle, and a random kind of window, trigger and allowed lateness.
"""

from collections import Counter
from random import Random
from typing import Any

import msgpack
import pytest

from heron_core.algorithms.event_windows.aggregates import WholeWindow
from heron_core.algorithms.event_windows.assigners import (
    Assigner,
    Global,
    Session,
    Sliding,
    Tumbling,
)
from heron_core.algorithms.event_windows.interval_join import IntervalJoin, Pair
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.storm import Activation, Extent, StormWindows
from heron_core.algorithms.event_windows.triggers import Trigger
from heron_core.algorithms.event_windows.values import END_OF_TIME, Dropped, Late, Result
from heron_core.algorithms.event_windows.watermarks import WatermarkGenerator
from tests.property.plain_windows import PlainOperator

STREAMS = 700
"""For each of the kinds of windows: together some thousand streams, in a few seconds."""
EVENTS_MAX = 40
KEYS = ("a", "b", "c")


def random_trigger(rng: Random) -> Trigger:
    maybe = [None, None, 1, 2, 3]
    return Trigger(
        early_count=rng.choice(maybe), early_ms=rng.choice([None, None, 1, 4]),
        late_count=rng.choice(maybe), late_ms=rng.choice([None, None, 1, 4]),
        discarding=rng.random() < 0.4,
    )  # fmt: skip


def random_sliding(rng: Random) -> Assigner:
    length = rng.randint(1, 20)
    return Sliding(length, rng.randint(1, length), rng.randint(-5, 5))


KINDS: dict[str, Any] = {
    "tumbling": lambda rng: Tumbling(rng.randint(1, 15), rng.randint(-5, 5)),
    "sliding": random_sliding,
    "session": lambda rng: Session(rng.randint(1, 8)),
    "global": lambda rng: Global(),
}


def random_steps(rng: Random) -> list[tuple[str, Any]]:
    """Events whose times go on with disorder; watermarks now and then, some of them too early."""
    steps: list[tuple[str, Any]] = []
    time_ms, now_ms, disorder = rng.randint(-30, 30), 0, rng.choice([0, 3, 12])
    for number in range(rng.randint(1, EVENTS_MAX)):
        time_ms += rng.choice([0, 0, 1, 1, 2, 9])
        event_ms = time_ms - rng.randint(0, disorder)
        steps.append(("add", (rng.choice(KEYS[: rng.randint(1, 3)]), event_ms, number)))
        if rng.random() < 0.3:
            steps.append(("watermark", time_ms - rng.randint(0, disorder)))
        if rng.random() < 0.3:
            now_ms += rng.randint(0, 6)
            steps.append(("time", now_ms))
    steps.append(("watermark", END_OF_TIME))
    return steps


class Compared:
    """The operator and its oracle, side by side."""

    def __init__(self, assigner: Assigner, trigger: Trigger, lateness_ms: int) -> None:
        self._arguments = (assigner, WholeWindow(), trigger)
        self._lateness_ms = lateness_ms
        self._operator = self._made()
        self._plain = PlainOperator(assigner, trigger, lateness_ms)
        self._now_ms = 0
        self.accepted: Counter[int] = Counter()
        self.dropped: Counter[int] = Counter()

    def _made(self) -> WindowOperator:
        return WindowOperator(*self._arguments, lateness_ms=self._lateness_ms)

    def step(self, what: str, argument: Any) -> None:
        if what == "add":
            found, expected = self._add(*argument)
        elif what == "watermark":
            found = self._operator.advance_watermark(argument)
            expected = self._plain.advance_watermark(argument)
        else:
            self._now_ms = argument
            found = self._operator.advance_time(argument)
            expected = self._plain.advance_time(argument)
        for each in found:
            if isinstance(each, Dropped):
                self.dropped.update(number for _, number in each.accumulator)
        shown = [each for each in found if not isinstance(each, Dropped)]
        assert sorted(map(repr, shown)) == sorted(map(repr, expected))
        assert self._operator.open_windows == len(self._plain.windows)

    def _add(self, key: str, event_ms: int, number: int) -> Any:
        event = [event_ms, number]
        found = self._operator.add(key, event_ms, event, self._now_ms)
        if not any(isinstance(each, Late) for each in found):
            self.accepted[number] += 1
        return found, self._plain.add(key, event_ms, event, self._now_ms)

    def checkpoint(self) -> None:
        """Another process goes on with the saved state."""
        _, saved = self._operator.changes()
        packed = msgpack.packb([self._operator.watermark_ms, list(saved.items())])
        self._operator = self._made()
        self._operator.restore(*msgpack.unpackb(packed))


@pytest.mark.parametrize("kind", KINDS)
def test_windows_are_what_their_definition_says(kind: str) -> None:
    for seed in range(STREAMS):
        rng = Random(f"{kind} {seed}")
        assigner, trigger = KINDS[kind](rng), random_trigger(rng)
        compared = Compared(assigner, trigger, rng.choice([0, 0, 2, 10]))
        steps = random_steps(rng)
        stop = rng.randrange(len(steps))
        try:
            for at, (what, argument) in enumerate(steps):
                if at == stop:
                    compared.checkpoint()
                compared.step(what, argument)
            # Accepted events are released: by each window with a copy, or once.
            assert set(compared.dropped) == set(compared.accepted)
            if kind != "sliding":
                assert compared.dropped == compared.accepted
        except AssertionError as error:
            error.add_note(f"{kind}, stream {seed}: {assigner} {trigger} {steps}")
            raise


def test_an_element_of_a_sliding_window_is_held_once() -> None:
    """In any number of windows, an event is added to one accumulator and released once."""
    for seed in range(100):
        rng = Random(seed)
        compared = Compared(random_sliding(rng), Trigger(early_count=2), 3)
        for what, argument in random_steps(rng):
            compared.step(what, argument)
        assert compared.dropped == compared.accepted


def test_pairs_of_a_join_are_those_of_the_definition() -> None:
    """Each two punctual events within reach are a pair."""
    for seed in range(STREAMS):
        rng = Random(seed)
        lower = rng.randint(-8, 8)
        upper = lower + rng.randint(0, 8)
        join, taken, dropped = IntervalJoin(lower, upper), [], []
        pairs: Counter[Any] = Counter()
        steps = random_steps(rng)
        stop = rng.randrange(len(steps))
        for at, (what, argument) in enumerate(steps):
            if at == stop:
                packed = msgpack.packb([join.watermark_ms, list(join.changes().keys.items())])
                join = IntervalJoin(lower, upper)
                join.restore(*msgpack.unpackb(packed))
            if what == "watermark":
                dropped += [each.accumulator for each in join.advance_watermark(argument)]
            elif what == "add":
                key, event_ms, number = argument
                found = join.add(key, number % 2 == 1, event_ms, number)
                pairs.update((each.left, each.right) for each in found if isinstance(each, Pair))
                if event_ms >= join.watermark_ms:
                    taken.append((key, event_ms, number))
                else:
                    assert found == [Late(key, event_ms, number)]
        lefts = [each for each in taken if each[2] % 2 == 0]
        rights = [each for each in taken if each[2] % 2 == 1]
        expected = Counter(
            (left[2], right[2]) for left in lefts for right in rights
            if left[0] == right[0] and lower <= right[1] - left[1] <= upper
        )  # fmt: skip
        assert pairs == expected, (seed, lower, upper, steps)
        assert sorted(dropped) == sorted(each[2] for each in taken)
        assert join.kept == 0


def test_a_watermark_is_the_least_of_the_sources_that_are_not_idle() -> None:
    """Against the definition over all input; the watermark does not fall."""
    for seed in range(STREAMS):
        rng = Random(seed)
        lag, idle = rng.randint(0, 5), rng.choice([None, 3, 10])
        generator = WatermarkGenerator("xyz", lag, idle, 0)
        seen: list[tuple[str, int, int]] = []
        highest = generator.watermark_ms
        now = 0
        for _ in range(rng.randint(1, EVENTS_MAX)):
            now += rng.choice([0, 1, 2, 5])
            if rng.random() < 0.7:
                seen.append((rng.choice("xyyz"), rng.randint(-20, 20) + now, now))
                generator.seen(*seen[-1])
            marks = []
            for source in "xyz":
                own = [each for each in seen if each[0] == source]
                heard = max((each[2] for each in own), default=0)
                if idle is None or now - heard < idle:
                    marks.append(max((each[1] - lag for each in own), default=-(2**63)))
            highest = max([highest, *([min(marks)] if marks else [])])
            assert generator.advance(now) == highest, (seed, seen)


def test_storms_windows_are_all_aligned_ones_that_hold_something() -> None:
    """Whatever is jumped over: each end up to the watermark that has tuples, once, in order."""
    for seed in range(STREAMS):
        rng = Random(seed)
        slide = rng.randint(2, 9)
        length = slide * rng.randint(1, 3) + rng.randint(0, 1)
        windows = StormWindows(Extent(length, False), Extent(slide, False), by_event_time=True)
        taken: list[tuple[int, int]] = []
        watermark = before = -1000 * slide - 1
        found: list[Any] = []
        for what, argument in random_steps(rng):
            if what == "add":
                _, at, number = argument
                if at >= watermark:
                    taken.append((at, number))
                    windows.add(at, (at, number))
            elif what == "watermark" and watermark < argument < END_OF_TIME:
                before, watermark = watermark, argument
                steps = windows.advance(watermark)
                found = [each for each in steps if isinstance(each, Activation)]
                ends = range(-(-before // slide) * slide, watermark, slide)
                contents = {end: [x for x in taken if end - length < x[0] <= end] for end in ends}
                expected = [(end, content) for end, content in contents.items() if content]
                assert [(each.end_ms, each.items) for each in found] == expected, (seed, length)
        windows.finish()
        assert windows.retained() == []


def test_storms_windows_of_numbers_of_tuples_by_event_time_are_in_order_of_their_timestamps() -> (
    None
):
    """In any order of arrival, with any number of equal timestamps."""
    for seed in range(STREAMS):
        rng = Random(seed)
        length, slide = rng.randint(1, 5), rng.randint(1, 5)
        windows = StormWindows(Extent(length, True), Extent(slide, True), by_event_time=True)
        taken: list[tuple[int, int]] = []
        watermark = -(2**63)
        steps: list[Any] = []
        for what, argument in random_steps(rng):
            if what == "add":
                _, at, number = argument
                if at >= watermark:
                    taken.append((at, number))
                    windows.add(at, (at, number))
            elif what == "watermark" and watermark < argument < END_OF_TIME:
                watermark = argument
                steps += windows.advance(watermark)
        steps += windows.finish()
        taken.sort(key=lambda each: each[0])
        expected = [
            taken[max(0, end - length) : end] for end in range(slide, len(taken) + 1, slide)
        ]
        if rest := len(taken) % slide:
            expected.append(taken[max(0, len(taken) - max(0, length - slide + rest)) :])
        found = [each.items for each in steps if isinstance(each, Activation)]
        assert found == [each for each in expected if each], (seed, length, slide)


@pytest.mark.parametrize("kind", [each for each in KINDS if each != "global"])
def test_what_is_shown_so_far_changes_no_last_result_and_doubles_no_window(kind: str) -> None:
    """Silence shows the open windows, which go on; an unchanged window is not repeated."""
    for seed in range(STREAMS // 4):
        rng = Random(seed)
        assigner = KINDS[kind](rng)
        plain, quiet = (WindowOperator(assigner, WholeWindow()) for _ in range(2))
        expected: dict[Any, Any] = {}
        found: dict[Any, Any] = {}
        for step in random_steps(rng):
            for operator, results in ((plain, expected), (quiet, found)):
                for each in outputs_of(operator, *step):
                    if isinstance(each, Result):
                        assert results.get((each.key, each.window)) != list(each.value), seed
                        results[each.key, each.window] = list(each.value)
            if rng.random() < 0.3:
                for each in quiet.show_so_far():
                    if isinstance(each, Result):
                        found[each.key, each.window] = list(each.value)
        if kind != "session":  # sessions that are joined later were shown in parts
            assert found == expected, seed
        else:
            assert expected.items() <= found.items(), seed


def outputs_of(operator: WindowOperator, what: str, argument: Any) -> list[Any]:
    if what == "watermark":
        return operator.advance_watermark(argument)
    if what == "time":
        return operator.advance_time(argument)
    key, time_ms, number = argument
    return operator.add(key, time_ms, [time_ms, number], 0)
