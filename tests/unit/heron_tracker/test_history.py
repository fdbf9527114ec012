"""Since when: points of ten seconds and five minutes, across restarts, in a limited file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_core.records import replace
from heron_core.stats import InstanceStats
from heron_tracker.model.history import (
    COARSE_KEPT_SECS,
    COARSE_SECS,
    FINE_KEPT_SECS,
    FINE_SECS,
    HOUR_SECS,
    MONTH_SECS,
    Point,
    Recorder,
    rolled_up,
    timelines,
    totals,
)
from heron_tracker.model.history_store import HistoryStore, history_file
from heron_tracker.pages.recent_points import RecentPoints
from tests.unit.heron_tracker.tracker_support import SUBMITTED_SECS, instance, snapshot

START = SUBMITTED_SECS // COARSE_SECS * COARSE_SECS
EMITTED, CAPACITY = "__emit-count", "__capacity"


def rows(emitted: int, capacity: float = 0.5, pid: int = 1) -> Sequence[InstanceStats]:
    """One instance of count."""
    return (instance(4, emitted=emitted, capacity=capacity, pid=pid),)


def test_what_was_added_in_ten_seconds() -> None:
    """For any rate of reports; counts before the first poll have no time."""
    recorder = Recorder()
    found = []
    for secs in range(0, 40, 2):
        found += recorder.take(rows(1000 + secs * 5, capacity=secs / 100), START + secs + 0.5)
    assert [(each.at, each.secs) for each in found] == [(START + x, FINE_SECS) for x in (0, 10, 20)]
    assert [each.values[4][EMITTED] for each in found] == [40, 50, 50]
    assert found[1].values[4][CAPACITY] == pytest.approx(0.14)


@dataclass
class Looked:
    """A service with a growing history and a note of each request's start."""

    now: float
    history: list[Point]
    starts: list[int]

    def calendar(self) -> float:
        """The time."""
        return self.now

    def points(self, found: object, component: str, start: int, end: int) -> list[Point]:
        """As in the store: with the points of five minutes, and some earlier ones."""
        self.starts.append(start)
        coarse = Point(component, START, COARSE_SECS, {})
        return [coarse, *(each for each in self.history if each.at > start - FINE_SECS)]


def test_a_page_that_stays_open_reads_its_history_once() -> None:
    """Then only news. Points older than an hour go; another run has its own history."""
    history = [Point("count", START + at, FINE_SECS, {4: {EMITTED: 1}}) for at in range(0, 50, 10)]
    looked = Looked(START + 50.0, history, [])
    recent = RecentPoints(looked)  # type: ignore[arg-type]
    assert recent.of(snapshot(), "count") == history
    new = Point("count", START + 50, FINE_SECS, {})
    history.append(new)
    looked.now = START + 3620.0
    assert recent.of(snapshot(), "count") == history[3:]
    assert looked.starts == [START + 50 - 3600, START + 50]
    again = replace(snapshot(), execution={})
    assert recent.of(again, "count") == history[2:]
    assert looked.starts[-1] == START + 20


def test_a_new_process_counts_from_zero() -> None:
    """Whether its count is lower than its predecessor's or not."""
    recorder = Recorder()
    recorder.take(rows(100), START)
    recorder.take(rows(7, pid=2), START + 2.0)
    recorder.take(rows(500, pid=3), START + 4.0)
    (point,) = recorder.flush()
    assert point.values[4][EMITTED] == 507


def test_an_instance_that_was_added_later_counts_as_a_whole() -> None:
    recorder = Recorder()
    recorder.take(rows(100), START)
    recorder.take((*rows(100), instance(5, emitted=30)), START + 2.0)
    (point,) = recorder.flush()
    assert point.values[5][EMITTED] == 30


def test_points_are_put_together() -> None:
    """Counts add up, levels are averaged, silence is not counted as zero."""
    points = [
        Point("count", START, 10, {4: {EMITTED: 10.0, CAPACITY: 0.2}}),
        Point("count", START + 10, 10, {4: {EMITTED: 20.0, CAPACITY: 0.4}, 5: {CAPACITY: 0.9}}),
        Point("split", START, 10, {2: {EMITTED: 1.0}}),
    ]
    count, split = rolled_up(points, START, COARSE_SECS)
    assert count == Point(
        "count", START, COARSE_SECS,
        {4: {EMITTED: 30.0, CAPACITY: (0.2 + 0.4) / 2}, 5: {CAPACITY: 0.9}},
    )  # fmt: skip
    assert split.values == {2: {EMITTED: 1.0}}


def test_timelines_have_a_value_a_minute() -> None:
    """Points of five minutes are spread; where finer ones exist too, only the finer ones count."""
    coarse = Point("count", START, COARSE_SECS, {4: {EMITTED: 500.0, CAPACITY: 0.5}})
    fine = [
        Point("count", START + 60 + x, FINE_SECS, {4: {EMITTED: 7.0, CAPACITY: x / 100}})
        for x in (0, 10, 20)
    ]
    found = timelines([coarse, *fine], EMITTED, START, START + 120)
    assert found == {4: {START: 100.0, START + 60: 21.0, START + 120: 100.0}}
    levels = timelines([coarse, *fine], CAPACITY, START, START + 60)
    assert levels == {4: {START: 0.5, START + 60: pytest.approx(0.1)}}
    assert totals(fine, EMITTED, START + 75) == {4: 14.0}
    assert totals(fine, CAPACITY, START) == {4: pytest.approx(0.2)}


def test_three_days_are_kept(tmp_path: Path) -> None:
    """An hour finely, three days coarsely; the file is opened again by a later service."""
    path = history_file(str(tmp_path), "file:///somewhere")
    store, end = HistoryStore(path), START + COARSE_KEPT_SECS + 3 * 3600
    for at in range(START, end, COARSE_SECS):
        store.record("words-1", rows((at - START) * 2), float(at))
    store.close()
    store = HistoryStore(path)
    every = store.points("words-1", "count", 0, end)
    fine = [each.at for each in every if each.secs == FINE_SECS]
    coarse = [each.at for each in every if each.secs == COARSE_SECS]
    assert end - FINE_KEPT_SECS - 300 <= min(fine) <= end - FINE_KEPT_SECS + 300
    assert end - COARSE_KEPT_SECS - 600 <= min(coarse) <= end - COARSE_KEPT_SECS + 600
    assert coarse == list(range(min(coarse), max(coarse) + 1, COARSE_SECS)), "none is missing"
    assert {each.values[4][EMITTED] for each in every if each.secs == COARSE_SECS} == {600.0}
    assert store.points("words-1", "split", 0, end) == []
    assert store.points("words-2", "count", 0, end) == []
    store.close()


def test_thirty_days_are_kept_by_hours(tmp_path: Path) -> None:
    """Points of a minute come for a day; a service that was away for a day leaves a gap."""
    path, day = history_file(str(tmp_path), "file:///somewhere"), 24 * HOUR_SECS
    store = HistoryStore(path)
    times = [*range(START, START + day, 120), *range(START + 2 * day, START + 3 * day, 120)]
    for at in times:
        store.record("words-1", rows((at - START) * 2), float(at))
    store.close()
    store = HistoryStore(path)
    end = START + MONTH_SECS
    store.record("words-1", rows(0), float(end))
    store.record("words-1", rows(0), float(end + FINE_SECS))
    found = store.points("words-1", "count", 0, end)
    hours = [each for each in found if each.secs == HOUR_SECS]
    first = START + HOUR_SECS  # the hour before is just over 30 days old
    expected = [*range(first, START + day, HOUR_SECS)]
    assert [each.at for each in hours if each.at < START + day] == expected
    assert {each.secs for each in found if each.at < end} == {HOUR_SECS}, "finer ones are over"
    counted = timelines(found, EMITTED, first, START + day)
    assert sum(counted[4].values()) == pytest.approx(2 * (day - HOUR_SECS), rel=0.01)
    store.close()


def test_a_full_file_makes_room_for_what_is_new(tmp_path: Path) -> None:
    store = HistoryStore(str(tmp_path / "history.sqlite"), bytes_max=48 * 1024)
    for at in range(START, START + 3000, 10):
        many = [instance(4 + x % 2, emitted=at * x, pid=at + x) for x in range(2)]
        for name in ("a", "b", "c"):
            store.record(name, many, float(at))
    assert store.points("a", "count", START + 2900, START + 3000)
    assert not store.points("a", "count", START, START + 100)
    store.close()
    assert sum(each.stat().st_size for each in tmp_path.glob("history.sqlite")) <= 48 * 1024


def test_a_file_that_is_no_history_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    path.write_text("not a database" * 100)
    with pytest.raises(HeronError, match="cannot be opened: file is not a database"):
        HistoryStore(str(path))
