"""Points of the series over time: made of what instances report, and of finer points.

Counters are kept as increments per bucket of time, levels as their mean, so that points of any
length can be merged, and restarted processes leave no trace. The clock is an argument everywhere:
seconds since 1970.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from heron_core.instance_series import SERIES, values_of
from heron_core.stats import InstanceStats

FINE_SECS = 10
FINE_KEPT_SECS = 3600
COARSE_SECS = 300
COARSE_KEPT_SECS = 3 * 24 * 3600
HOUR_SECS = 3600
MONTH_SECS = 30 * 24 * 3600
LEVELS = ((FINE_SECS, FINE_KEPT_SECS), (COARSE_SECS, COARSE_KEPT_SECS), (HOUR_SECS, MONTH_SECS))
"""Length of points, and seconds for which they are kept: each level is made of the level before.
A component has 360 + 864 + 720 points."""
MINUTE_SECS = 60
"""The step of Heron's timelines."""

Values = Mapping[int, Mapping[str, float]]
"""task -> series -> increment, or mean level. A series of zeros may be left out."""


@dataclass(frozen=True, slots=True)
class Point:
    """One component in one time bucket."""

    component: str
    at: int
    """When the bucket begins."""
    secs: int
    values: Values


@dataclass(slots=True)
class Sums:
    """Accumulated values of one bucket."""

    added: dict[str, float] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)
    samples: int = 0

    def add(self, values: Mapping[str, float]) -> None:
        """Add a sample."""
        self.samples += 1
        for name, value in values.items():
            into = self.added if SERIES[name].counts else self.levels
            into[name] = into.get(name, 0.0) + value

    def values(self) -> dict[str, float]:
        """Sums of what counts, means of the rest; zeros are left out."""
        means = {name: value / self.samples for name, value in self.levels.items()}
        return {name: value for name, value in (*self.added.items(), *means.items()) if value}


@dataclass(frozen=True, slots=True)
class ReportedValues:
    """Last report of a process."""

    pid: int | None
    values: Mapping[str, float]


class Recorder:
    """Makes points of FINE_SECS out of one topology's reports."""

    def __init__(self) -> None:
        self._reported: dict[int, ReportedValues] = {}
        self._is_first = True
        self._at = 0
        self._sums: dict[tuple[str, int], Sums] = {}

    def take(self, instances: Iterable[InstanceStats], at: float) -> list[Point]:
        """Add the instances' reports at `at`; returns completed points."""
        begin = int(at) // FINE_SECS * FINE_SECS
        done = self.flush() if begin != self._at else []
        self._at = begin
        for each in instances:
            values = self._since_last(each)
            self._sums.setdefault((each.component, each.task), Sums()).add(values)
        self._is_first = False
        return done

    def flush(self) -> list[Point]:
        """The point in progress."""
        found: dict[str, dict[int, dict[str, float]]] = {}
        for (component, task), sums in self._sums.items():
            found.setdefault(component, {})[task] = sums.values()
        self._sums = {}
        return [Point(name, self._at, FINE_SECS, values) for name, values in found.items()]

    def _since_last(self, instance: InstanceStats) -> dict[str, float]:
        """Counters as increments since the last report, levels unchanged."""
        new = values_of(instance)
        last = self._reported.get(instance.task)
        self._reported[instance.task] = ReportedValues(instance.pid, new)
        return {
            name: self._added(name, value, instance.pid, last) if SERIES[name].counts else value
            for name, value in new.items()
        }

    def _added(
        self, name: str, value: float, pid: int | None, last: ReportedValues | None
    ) -> float:
        if last is None:  # activity before the first report has no time
            return 0.0 if self._is_first else value
        before = last.values[name]
        return value - before if pid == last.pid and value >= before else value


def rolled_up(points: Sequence[Point], at: int, secs: int) -> list[Point]:
    """The instances' values as one point per component, starting at `at`."""
    by_component: dict[str, dict[int, Sums]] = {}
    for point in points:
        tasks = by_component.setdefault(point.component, {})
        for task, values in point.values.items():
            tasks.setdefault(task, Sums()).add(values)
    return [
        Point(component, at, secs, {task: sums.values() for task, sums in tasks.items()})
        for component, tasks in by_component.items()
    ]


def whole_windows(last: int, at: float, secs: int, finer_kept_secs: int) -> list[int]:
    """Beginnings of the buckets of `secs` that are over at `at`, after the bucket at `last`; finer
    points reach back `finer_kept_secs`."""
    over = int(at) // secs * secs
    first = max(last + secs, (over - finer_kept_secs) // secs * secs)
    return list(range(first, over, secs))


Timeline = dict[int, float]
"""Beginning of a minute -> value."""


def timelines(points: Sequence[Point], series: str, start: int, end: int) -> dict[int, Timeline]:
    """task -> timeline by minutes from `start` to `end`. Of overlapping points the finer are
    used; points longer than a minute are spread evenly."""
    counts = SERIES[series].counts
    cells: dict[int, dict[int, list[tuple[int, float]]]] = {}
    for point in points:
        for minute, share in _minutes(point):
            if not start <= minute <= end:
                continue
            for task, values in point.values.items():
                value = values.get(series, 0.0) * (share if counts else 1.0)
                cells.setdefault(task, {}).setdefault(minute, []).append((point.secs, value))
    return {
        task: {minute: _cell(each, counts) for minute, each in sorted(minutes.items())}
        for task, minutes in cells.items()
    }


def _minutes(point: Point) -> Iterable[tuple[int, float]]:
    """The minutes of a point, each with its share."""
    first = point.at // MINUTE_SECS * MINUTE_SECS
    number = max(1, point.secs // MINUTE_SECS)
    return [(first + at * MINUTE_SECS, 1 / number) for at in range(number)]


def _cell(found: Sequence[tuple[int, float]], counts: bool) -> float:
    finest = min(secs for secs, _ in found)
    values = [value for secs, value in found if secs == finest]
    return sum(values) if counts else sum(values) / len(values)


def totals(points: Sequence[Point], series: str, start: float) -> dict[int, float]:
    """task -> what was added since `start`, or the newest level."""
    counts, by_task = SERIES[series].counts, dict[int, float]()
    for point in sorted(points, key=lambda each: each.at):
        if point.secs != FINE_SECS or point.at + point.secs <= start:
            continue
        for task, values in point.values.items():
            value = values.get(series, 0.0)
            by_task[task] = by_task.get(task, 0.0) + value if counts else value
    return by_task
