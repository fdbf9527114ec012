"""Windows by event time: the examples of the original systems, to the tuple."""

import pytest

from heron_core.algorithms.event_windows.aggregates import Count, Reduce, WholeWindow
from heron_core.algorithms.event_windows.assigners import (
    EVERYTHING,
    Global,
    Session,
    Sliding,
    Tumbling,
)
from heron_core.algorithms.event_windows.interval_join import IntervalJoin
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.storm import (
    Activation,
    Expired,
    Extent,
    StormWindows,
)
from heron_core.algorithms.event_windows.triggers import Trigger
from heron_core.algorithms.event_windows.values import (
    Dropped,
    Failed,
    Firing,
    Late,
    Result,
    TimeWindow,
)
from heron_core.errors import ComponentError, TopologyError


def clock(text: str) -> int:
    """Milliseconds of "6:00:03"."""
    hours, minutes, seconds = map(int, text.split(":"))
    return ((hours * 60 + minutes) * 60 + seconds) * 1000


def test_storms_documented_example() -> None:
    """Windowing.md of Storm: 20 s sliding by 10 s, lag 5 s, two watermarks."""
    windows = StormWindows(Extent(20_000, False), Extent(10_000, False), by_event_time=True)

    def arrive(**events: str) -> None:
        for name, time in events.items():
            assert windows.add(clock(time), name) == []

    def evaluated(watermark: str) -> list[tuple[int | None, int, list[str]]]:
        steps = windows.advance(clock(watermark))
        return [
            (each.start_ms, each.end_ms, each.items)
            for each in steps if isinstance(each, Activation)
        ]  # fmt: skip

    def window(start: str, end: str, *names: str) -> tuple[int, int, list[str]]:
        return clock(start), clock(end), list(names)

    arrive(e1="6:00:03", e2="6:00:05", e3="6:00:07", e4="6:00:18", e5="6:00:26", e6="6:00:36")
    assert evaluated("6:00:31") == [
        window("5:59:50", "6:00:10", "e1", "e2", "e3"),
        window("6:00:00", "6:00:20", "e1", "e2", "e3", "e4"),
        window("6:00:10", "6:00:30", "e4", "e5"),
    ]
    arrive(e7="8:00:25", e8="8:00:26", e9="8:00:27", e10="8:00:39")
    assert evaluated("8:00:34") == [
        window("6:00:20", "6:00:40", "e5", "e6"),
        window("6:00:30", "6:00:50", "e6"),
        window("8:00:10", "8:00:30", "e7", "e8", "e9"),
    ]
    assert windows.retained() == ["e7", "e8", "e9", "e10"]


def test_a_tuple_of_storms_window_expires_once_and_is_new_once() -> None:
    windows = StormWindows(Extent(4, False), Extent(2, False), by_event_time=True)
    for at in (1, 3, 4, 6):
        windows.add(at, at)
    assert windows.advance(9) == [
        Activation([1], [1], [], -2, 2),
        Activation([1, 3, 4], [3, 4], [], 0, 4),
        Expired([1]),
        Activation([3, 4, 6], [6], [1], 2, 6),
        Expired([3, 4]),
        Activation([6], [], [3, 4], 4, 8),
    ]
    assert windows.finish() == [Expired([6])]


@pytest.mark.parametrize("by_event_time", [True, False])
def test_storms_windows_of_a_number_of_tuples(by_event_time: bool) -> None:
    """The last three, after every second; at the end the content of the next window."""
    windows = StormWindows(Extent(3, True), Extent(2, True), by_event_time)
    steps = [step for at in range(1, 6) for step in windows.add(at, at)]
    if by_event_time:
        steps += windows.advance(5)
    assert [each.items for each in steps if isinstance(each, Activation)] == [[1, 2], [2, 3, 4]]
    last, expired = windows.finish()[-2:]
    assert isinstance(last, Activation)
    assert (last.items, last.new) == ([4, 5], [5])
    assert expired == Expired([4, 5])


@pytest.mark.parametrize("by_event_time", [True, False])
@pytest.mark.parametrize(
    ("length", "slide", "last"),
    [(3, 3, [7, 8]), (3, 5, [8]), (2, 5, None), (5, 3, [5, 6, 7, 8]), (9, 1, None), (20, 20, None)],
)
def test_at_the_end_a_tumbling_window_has_no_tuple_of_the_one_before(
    length: int, slide: int, last: list[int] | None, by_event_time: bool
) -> None:
    """The last window ends early, without its missing tuples."""
    windows = StormWindows(Extent(length, True), Extent(slide, True), by_event_time)
    steps = [step for at in range(1, 9) for step in windows.add(at, at)]
    steps += windows.advance(8) if by_event_time else []
    shown = [each for each in steps if isinstance(each, Activation)]
    left = [each for each in windows.finish() if isinstance(each, Activation)]
    if length == slide:
        items = [item for each in (*shown, *left) for item in each.items]
        assert items == list(range(1, 9))
    assert [each.items for each in left] == ([last] if last else [[*range(1, 9)]] * (slide == 20))


@pytest.mark.parametrize("slide", [5, 10])
def test_tuples_of_the_millisecond_of_the_watermark_are_in_the_window_that_ends_with_it(
    slide: int,
) -> None:
    """As for events in whole seconds: the first event of a second is not the last."""
    windows = StormWindows(Extent(10, False), Extent(slide, False), by_event_time=True)
    windows.add(7, "first")
    windows.add(10, "second")
    shown = [each for each in windows.advance(10) if isinstance(each, Activation)]
    windows.add(10, "third")
    shown += [each for each in windows.advance(11) if isinstance(each, Activation)]
    assert [(each.end_ms, each.items) for each in shown] == [(10, ["first", "second", "third"])]


def test_a_stream_that_is_ahead_hides_nothing_of_a_slow_one() -> None:
    """Storm stops its scan at the first tuple ahead by more than the lag."""
    windows = StormWindows(Extent(10, False), Extent(10, False), by_event_time=True)
    windows.add(100, "fast")
    windows.add(5, "slow")
    (step,) = windows.advance(11)
    assert isinstance(step, Activation)
    assert step.items == ["slow"]


def test_gearpumps_table_g3() -> None:
    """Words with timestamps 3 2 5 4 1, windows of 2: nothing at watermark 0, [0, 2) at 2."""
    words = WindowOperator(Tumbling(2), WholeWindow())
    for number, at in enumerate((3, 2, 5, 4, 1)):
        assert words.add("gearpump", at, [at, number], 0) == []
    assert words.open_windows == 3
    assert words.advance_watermark(0) == []
    first = Result("gearpump", TimeWindow(0, 2), [[1, 4]], Firing.ON_TIME, 1)
    assert words.advance_watermark(2) == [first, Dropped([[1, 4]])]
    left = [each.value for each in words.finish() if isinstance(each, Result)]
    assert left == [[[2, 1], [3, 0]], [[4, 3], [5, 2]]]
    assert words.open_windows == 0


def test_an_event_is_late_when_all_of_its_windows_are_dropped() -> None:
    """Windows of 10, lateness 5: at watermark 14 an event of 9 still counts, at 15 not any more."""
    counts = WindowOperator(Tumbling(10), Count(), lateness_ms=5)
    counts.add("a", 1, None, 0)
    counts.advance_watermark(14)
    assert counts.add("a", 9, None, 0) == [Result("a", TimeWindow(0, 10), 2, Firing.LATE, 2)]
    assert counts.advance_watermark(15) == [Dropped(2)]
    assert counts.add("a", 9, "x", 0) == [Late("a", 9, "x")]
    assert counts.add("a", 10, "x", 0) == []


def test_sessions_become_one_when_an_event_comes_between_them() -> None:
    sums = WindowOperator(Session(5), Reduce(lambda left, right: left + right))
    for at in (10, 18, 14):
        assert sums.add("a", at, at, 0) == []
    assert sums.open_windows == 1
    assert sums.finish()[0] == Result("a", TimeWindow(10, 23), 42, Firing.ON_TIME, 1)
    apart = WindowOperator(Session(5), Count())
    apart.add("a", 10, None, 0)
    apart.add("a", 15, None, 0)
    assert apart.open_windows == 2


def test_a_global_window_is_shown_by_count_and_at_the_end() -> None:
    trigger = Trigger(early_count=2, discarding=True)
    counts = WindowOperator(Global(), Count(), trigger)
    shown = [each for at in range(5) for each in counts.add("a", at, None, 0)] + counts.finish()
    results = [(each.value, each.firing) for each in shown if isinstance(each, Result)]
    assert results == [(2, "early"), (2, "early"), (1, "on time")]
    assert counts.add("a", 1, None, 0) == [Late("a", 1, None)]


def test_early_results_by_the_clock() -> None:
    counts = WindowOperator(Tumbling(100), Count(), Trigger(early_ms=10))
    counts.add("a", 1, None, 1000)
    counts.add("a", 2, None, 1009)
    assert (counts.next_time_ms(), counts.advance_time(1009)) == (1010, [])
    assert counts.advance_time(1010) == [Result("a", TimeWindow(0, 100), 2, Firing.EARLY, 1)]
    assert counts.next_time_ms() is None


def test_a_result_that_cannot_be_made_drops_its_window_alone() -> None:
    def divided(left: int, right: int) -> float:
        return left / right

    made = WindowOperator(Sliding(2, 1), Reduce(divided))
    for at, value in ((0, 1), (1, 0), (4, 7)):
        made.add("a", at, value, 0)
    found = made.finish()
    (failed,) = [each for each in found if isinstance(each, Failed)]
    assert (failed.window, str(failed.error)) == ((0, 2), "division by zero")
    assert [each.value for each in found if isinstance(each, Result)] == [1, 7, 7]


@pytest.mark.parametrize(
    ("length", "slide", "slices"),
    [(10, 5, [(0, 5), (5, 10)]), (5, 3, [(0, 2), (2, 3), (3, 5), (5, 6)]), (3, 3, [(0, 3)])],
)
def test_sliding_windows_are_made_of_slices(
    length: int, slide: int, slices: list[tuple[int, int]]
) -> None:
    windows = Sliding(length, slide)
    for cell in slices:
        for at in range(*cell):
            assert windows.cell(at) == cell
            assert at in range(*windows.windows(at)[0])
            assert at in range(*windows.windows(at)[-1])
    assert Global().windows(7) == (EVERYTHING,)


def test_the_number_of_open_windows_has_a_limit() -> None:
    counts = WindowOperator(Tumbling(10), Count(), windows_max=2)
    counts.add("a", 1, None, 0)
    counts.add("b", 1, None, 0)
    with pytest.raises(ComponentError, match="2 windows of keys are open, the limit"):
        counts.add("c", 1, None, 0)
    assert counts.add("a", 2, None, 0) == []
    join = IntervalJoin(0, 1, kept_max=1)
    join.add("a", False, 1, None)
    with pytest.raises(ComponentError, match="1 events wait for their pairs, the limit"):
        join.add("a", False, 1, None)


def test_wrong_windows_are_named() -> None:
    for make, message in (
        (lambda: Tumbling(0), "the length of a window must be a whole number of milliseconds"),
        (lambda: Tumbling(1.5), "at least 1, not 1.5"),  # type: ignore[arg-type]
        (lambda: Sliding(5, 10), "a slide of 10 ms is longer than its window of 5 ms"),
        (lambda: Sliding(10**9, 1), "more than 100000 windows"),
        (lambda: Session(0), "the gap of a session"),
        (lambda: Trigger(early_count=0), "early_count must be a whole number from 1, not 0"),
        (lambda: Extent(0, True), "a window of 0 tuples"),
        (lambda: IntervalJoin(2, 1), "2 ms is more than 1 ms"),
        (lambda: WindowOperator(Tumbling(1), Count(), lateness_ms=-1), "the allowed lateness"),
    ):
        with pytest.raises(TopologyError, match=message):
            make()


def test_open_windows_that_get_nothing_more() -> None:
    """Windows with an end are late from then on; a window without is open again with the next
    event."""
    counts = WindowOperator(Tumbling(10), Count(), lateness_ms=5)
    counts.add("a", 1, None, 0)
    counts.add("b", 12, None, 0)
    shown = [each.window for each in counts.complete_open() if isinstance(each, Result)]
    assert shown == [(0, 10), (10, 20)]
    assert counts.add("b", 12, None, 0) == [Late("b", 12, None)]
    assert counts.add("b", 20, None, 0) == []
    forever = WindowOperator(Global(), Count())
    for _ in range(2):
        assert forever.add("a", 1, None, 0) == []
        early = Result("a", EVERYTHING, 1, Firing.EARLY, 1)
        assert forever.complete_open() == [early, Dropped(1)]


class Looked(int):
    """A timestamp that counts its reads."""

    looks = 0

    def __le__(self, other: int) -> bool:
        Looked.looks += 1
        return int(self) <= other

    def __rsub__(self, other: int) -> int:
        Looked.looks += 1
        return other - int(self)


@pytest.mark.parametrize("is_count", [True, False])
def test_the_work_of_storms_windows_grows_with_the_tuples_alone(is_count: bool) -> None:
    """Between two watermarks: a window does not scan tuples behind its end."""
    looks = []
    for number in (200, 400):
        windows = StormWindows(Extent(10, is_count), Extent(1, is_count), by_event_time=True)
        for time_ms in range(number):
            windows.add(Looked(time_ms), time_ms)
        Looked.looks = 0
        assert len(windows.advance(number)) > number
        looks.append(Looked.looks)
    assert looks[1] <= 2.5 * looks[0]
