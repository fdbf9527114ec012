"""Known topologies, due queries to masters, and the newest answers.

Pure: the clock is an argument. The threads of collector.py query; requests only read the
results, so the number of requests has no effect on a master, and requests never wait for a
master.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from heron_core.records import replace
from heron_engine.scheduler.stored_outcomes import TROUBLES
from heron_tracker.model.problems import over, problems
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import TrackerProblem
from heron_tracker.options import TrackerOptions


@dataclass(slots=True)
class Tracked:
    """State of one topology."""

    due: float
    """When its master is to be asked next; seconds of a monotonic clock, as all times here."""
    asking: bool = False
    watched_until: float = 0.0
    unanswered: int = 0
    """Questions in a row that the master has not answered."""
    snapshot: TopologySnapshot | None = None
    since: dict[tuple[str, str], float] = field(default_factory=dict)
    """(kind, subject) of a problem -> when it was first seen, in seconds since 1970."""
    problems: tuple[TrackerProblem, ...] = ()


class Tracker:
    """State of all topologies."""

    def __init__(self, options: TrackerOptions) -> None:
        self._options = options
        self._tracked: dict[str, Tracked] = {}
        self._scraped_until = float("-inf")

    def found(self, names: Iterable[str], now: float) -> list[str]:
        """The topologies in the state store; returns topologies gone since the last call."""
        there = set(names)
        gone = sorted(self._tracked.keys() - there)
        for name in gone:
            del self._tracked[name]
        for name in sorted(there - self._tracked.keys()):
            self._tracked[name] = Tracked(due=now)
        return gone

    def due(self, now: float) -> list[str]:
        """The due topologies, most overdue first; each is marked as being queried until
        `answered`."""
        pause_secs = self._watched_pause_secs(now)
        late = [
            (tracked.due, name)
            for name, tracked in self._tracked.items()
            if not tracked.asking and self._due(tracked, now, pause_secs) <= now
        ]
        names = [name for _, name in sorted(late)]
        for name in names:
            self._tracked[name].asking = True
        return names

    def _watched_pause_secs(self, now: float) -> float:
        """Query interval of a viewed topology."""
        watched = sum(now < each.watched_until for each in self._tracked.values())
        pause_secs = max(self._options.watched_secs, watched / self._options.watched_per_sec_max)
        return min(pause_secs, self._options.idle_secs)

    def _scraped_pause_secs(self) -> float:
        """Between two questions about each topology while Prometheus scrapes all of them."""
        number = len(self._tracked)
        return max(self._options.scraped_secs, number / self._options.watched_per_sec_max)

    def _due(self, tracked: Tracked, now: float, watched_pause_secs: float) -> float:
        """The fast interval applies to topologies being viewed, and to all while Prometheus
        scrapes them."""
        if tracked.unanswered:
            return tracked.due
        pause_secs = self._options.idle_secs
        if now < tracked.watched_until:
            pause_secs = watched_pause_secs
        elif now < self._scraped_until:
            pause_secs = min(self._scraped_pause_secs(), pause_secs)
        return min(tracked.due, tracked.due - self._options.idle_secs + pause_secs)

    def answered(self, snapshot: TopologySnapshot, now: float, at: float) -> None:
        """What was found of a topology at `at`, in seconds since 1970."""
        tracked = self._tracked.get(snapshot.name)
        if tracked is None:  # gone meanwhile
            return
        tracked.asking = False
        tracked.unanswered = 0 if snapshot.stats is not None else tracked.unanswered + 1
        tracked.due = now + self._pause_secs(tracked.unanswered)
        tracked.snapshot = self._with_last_numbers(snapshot, tracked.snapshot, at)
        self._take_problems(tracked, at)

    def _pause_secs(self, unanswered: int) -> float:
        """Until the next question."""
        if not unanswered:
            return self._options.idle_secs
        doubled = self._options.watched_secs * 2.0 ** min(unanswered - 1, 10)
        return min(doubled, self._options.unanswered_secs_max)

    def _with_last_numbers(
        self, snapshot: TopologySnapshot, previous: TopologySnapshot | None, at: float
    ) -> TopologySnapshot:
        """Keep the last answer if a master misses a query, unless the topology's run has
        changed."""
        if snapshot.stats is not None or previous is None or previous.stats is None:
            return snapshot
        if snapshot.has_ended:
            return snapshot
        is_fresh = at - previous.stats_at <= self._options.stale_secs
        if not is_fresh or snapshot.id != previous.id:
            return snapshot
        return replace(snapshot, stats=previous.stats, stats_at=previous.stats_at)

    def _take_problems(self, tracked: Tracked, at: float) -> None:
        snapshot = tracked.snapshot
        current: tuple[TrackerProblem, ...] = ()
        if snapshot is not None and snapshot.state in TROUBLES:
            at = float(snapshot.execution.get("at", at))
            current = (over(snapshot.state, str(snapshot.execution.get("reason", ""))),)
        elif snapshot is not None and snapshot.stats is not None:
            current = problems(snapshot.stats, at)
        tracked.since = {each.key: tracked.since.get(each.key, at) for each in current}
        tracked.problems = current

    def watch(self, name: str, now: float) -> None:
        """Mark the topology as viewed."""
        if name in self._tracked:
            self._tracked[name].watched_until = now + self._options.watched_for_secs

    def scraped(self, now: float) -> None:
        """Prometheus has asked for all topologies, and will ask again."""
        self._scraped_until = now + self._options.scraped_for_secs

    def snapshots(self) -> list[TopologySnapshot]:
        """The newest of each topology, by name."""
        newest = (self._tracked[name].snapshot for name in sorted(self._tracked))
        return [each for each in newest if each is not None]

    def snapshot(self, name: str) -> TopologySnapshot | None:
        """The newest snapshot; None for an unknown topology, or before the first answer."""
        tracked = self._tracked.get(name)
        return None if tracked is None else tracked.snapshot

    def problems(self, name: str) -> list[tuple[TrackerProblem, float]]:
        """What is wrong with a topology, the worst first, each with the time since when."""
        tracked = self._tracked.get(name)
        if tracked is None:
            return []
        return [(each, tracked.since[each.key]) for each in tracked.problems]

    @property
    def is_complete(self) -> bool:
        """Whether something is known of every topology."""
        return all(each.snapshot is not None for each in self._tracked.values())
