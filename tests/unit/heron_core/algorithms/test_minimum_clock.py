"""Until when all is finished: by a queue's numbers, and by all locations of a topology."""

from heron_core.algorithms.finished_until import SAMPLES_MAX, FinishedUntil, OpenNumbers
from heron_core.algorithms.minimum_clock import Location, LocationClock, LocationKind, MinimumClock

QUEUE, OTHER, TREES = (
    Location(LocationKind.QUEUE, 2),
    Location(LocationKind.QUEUE, 3),
    Location(LocationKind.TREES, 1),
)


def test_the_newest_mark_below_what_is_open_is_the_bound() -> None:
    bound = FinishedUntil(9.0)
    assert bound.observe(10.0, OpenNumbers(12, 40)) == 9.0
    assert bound.observe(11.0, OpenNumbers(12, 52)) == 9.0
    assert bound.observe(12.0, OpenNumbers(55, 61)) == 11.0
    assert bound.observe(13.0, OpenNumbers(61, 61)) == 11.0
    assert bound.observe(14.0, None) == 14.0
    assert bound.observe(15.0, OpenNumbers(62, 62)) == 14.0


def test_a_stall_of_hours_keeps_few_marks_and_ends_exactly() -> None:
    bound = FinishedUntil(0.0)
    for second in range(1, 20_000):
        assert bound.observe(float(second), OpenNumbers(1, second)) == 0.0
    assert len(bound) <= SAMPLES_MAX
    before = bound.observe(20_000.0, OpenNumbers(10_000, 20_000))
    assert 9_000 < before < 10_000
    assert bound.observe(20_001.0, None) == 20_001.0


def test_a_clock_needs_each_place_once() -> None:
    clock = MinimumClock([QUEUE, TREES])
    clock.heard({QUEUE: 1.0}, 10.0)
    assert clock.lowest() is None
    assert clock.lowest([QUEUE]) == LocationClock(QUEUE, 9.0)
    clock.heard({TREES: 4.0, OTHER: 9.0}, 10.0)
    assert clock.lowest() == LocationClock(TREES, 6.0)
    assert clock.lowest([]) is None


def test_a_place_of_the_next_plan_starts_with_the_plan() -> None:
    clock = MinimumClock([QUEUE])
    clock.heard({QUEUE: 0.5}, 10.0)
    clock.expect([QUEUE, OTHER], 11.0)
    assert clock.lowest([OTHER]) == LocationClock(OTHER, 11.0)
    clock.heard({OTHER: 60.0}, 12.0)
    assert clock.lowest([OTHER]) == LocationClock(OTHER, 11.0)
    clock.expect([OTHER], 13.0)
    assert clock.lowest() == LocationClock(OTHER, 11.0)
    assert list(clock) == [OTHER]
