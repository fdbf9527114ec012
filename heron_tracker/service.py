"""What the routes need: the newest of each topology, the history, and the store for actions."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heron_core.operations import OperationKind, Requester
from heron_core.stats import InstanceStats
from heron_core.validation import choices
from heron_io.saved_states import StateOfCheckpoint, open_saved
from heron_io.state_queries import StateAnswer, TooManyQueries, WantedState, query_state
from heron_io.state_store.protocol import StateStore
from heron_io.stream_sample import WantedSample, sampled
from heron_io.user_home import home_path
from heron_tracker import actions
from heron_tracker.envelope import NO_QUESTIONS, NotFound, Unavailable
from heron_tracker.heron_api.metrics import Wanted, rows_of
from heron_tracker.model.collector import TrackerCollector
from heron_tracker.model.history import COARSE_KEPT_SECS, Point, timelines
from heron_tracker.model.history_store import HistoryStore
from heron_tracker.model.problems import summary
from heron_tracker.model.query_clients import QUERIES_AT_ONCE
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import ProblemCause
from heron_tracker.profiling import Profilers
from heron_tracker.rights import RIGHTS

AskMaster = Callable[[str, str, dict[str, Any]], dict[str, Any]]
"""Topology, command and arguments -> the master's answer; HeronError if rejected."""
QueryMaster = Callable[[str, str, dict[str, Any], float], dict[str, Any]]
"""The same, and how long to wait."""

SAMPLES_AT_ONCE = 4
"""Each holds a thread of the service for seconds."""
_free_queries = threading.Semaphore(QUERIES_AT_ONCE)
_free_samples = threading.Semaphore(SAMPLES_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Service:
    """Everything behind the routes."""

    collector: TrackerCollector
    history: HistoryStore
    store: StateStore
    calendar: Callable[[], float] = time.time
    started_at: float = field(default_factory=time.time)
    ask_master: AskMaster | None = None
    """None if masters can be queried for statistics only."""
    query_master: QueryMaster | None = None
    """None where no master can be asked about state."""
    profilers: Profilers = field(default_factory=Profilers)

    def all(
        self,
        clusters: Sequence[str] | None = None,
        environs: Sequence[str] | None = None,
        role: str | None = None,
        names: Sequence[str] | None = None,
    ) -> list[TopologySnapshot]:
        """The matching topologies; missing criteria match all."""
        return [
            snapshot
            for snapshot in self.collector.snapshots()
            if RIGHTS.sees(snapshot)
            and (not clusters or snapshot.cluster in clusters)
            and (not environs or snapshot.environ in environs)
            and (not role or snapshot.role == role)
            and (not names or snapshot.name in names)
        ]

    def visible(self, name: str) -> TopologySnapshot | None:
        """Newest snapshot of a topology; None for an unknown topology, and without the right."""
        snapshot = self.collector.snapshot(name)
        return snapshot if snapshot is not None and RIGHTS.sees(snapshot) else None

    def topology(
        self,
        name: str,
        cluster: str | None = None,
        environ: str | None = None,
        role: str | None = None,
    ) -> TopologySnapshot:
        """One topology; NotFound, with existing names, without a match."""
        snapshot = self.collector.snapshot(name)
        given = (cluster, environ, role)
        if snapshot is not None and all(
            wanted in (None, "", has)
            for wanted, has in zip(
                given, (snapshot.cluster, snapshot.environ, snapshot.role), strict=True
            )
        ):
            return RIGHTS.check_visible(snapshot)
        where = "".join(f" in {wanted!r:.100}" for wanted in given if wanted)
        names = [snapshot.name for snapshot in self.all()]
        # What is asked for in another cluster may be there: its name is not a misspelt one.
        known = choices("running", "" if where else name, names)
        raise NotFound(f"no topology called {name!r:.200}{where} is running: {known:.500}")

    def by_id(self, topology_id: str) -> TopologySnapshot:
        """The topology with Storm's id, or of that name."""
        for each in self.collector.snapshots():
            if topology_id in (each.id, each.name):
                return self.topology(each.name)
        names = [each.name for each in self.all()]
        known = choices("running", topology_id, names)
        raise NotFound(f"no topology with the id {topology_id!r:.200} is running: {known:.500}")

    def known(self, name: str) -> TopologySnapshot | None:
        """The topology with this name or Storm's id, also without rights; None if unknown."""
        for snapshot in self.collector.snapshots():
            if name in (snapshot.id, snapshot.name):
                return snapshot
        return None

    def with_stats(self, snapshot: TopologySnapshot) -> TopologySnapshot:
        """The snapshot; Unavailable, with the reason, if the master has not answered lately."""
        if snapshot.stats is None:
            reason = snapshot.trouble or "it was not asked yet"
            raise Unavailable(f"there are no statistics of {snapshot.name}: {reason}")
        return snapshot

    def instance(self, snapshot: TopologySnapshot, name: str) -> InstanceStats:
        """An instance by Heron's id or component[index]; NotFound if unknown."""
        for component in self.with_stats(snapshot).components:
            rows = rows_of(snapshot, Wanted(component, instances=(name,)))
            if rows:
                return rows[0]
        known = choices("instances", name, [each.instance for each in snapshot.instances])
        raise NotFound(f"{snapshot.name} has no instance {name!r:.200}: {known:.500}")

    def points(
        self, snapshot: TopologySnapshot, component: str, start: int, end: int
    ) -> list[Point]:
        """The history of a component."""
        return self.history.points(snapshot.id, component, start, end)

    def last_error_at(self, snapshot: TopologySnapshot, component: str) -> int | None:
        """When the history counted an error of a component last, in seconds since 1970."""
        now = int(self.calendar())
        points = self.points(snapshot, component, now - COARSE_KEPT_SECS, now)
        _, last = exception_times(points)
        return int(last) if last else None

    def added_in(self, snapshot: TopologySnapshot) -> Callable[[str, str, int], float]:
        """(component, series, secs) -> what was added in the last `secs`. Points are read once."""
        now, known = int(self.calendar()), dict[tuple[str, int], list[Point]]()

        def added(component: str, series: str, secs: int) -> float:
            key = (component, secs)
            if key not in known:
                known[key] = self.points(snapshot, component, now - secs, now)
            by_task = timelines(known[key], series, now - secs, now)
            return sum(sum(minutes.values()) for minutes in by_task.values())

        return added

    def problems(self, snapshot: TopologySnapshot) -> dict[str, Any]:
        """The sentence on top, and every finding with the time since when."""
        now = self.calendar()
        rows: list[dict[str, Any]] = [
            {
                "kind": problem.kind.value, "component": problem.component,
                "instance": problem.instance, "sentence": problem.sentence,
                "what": problem.what, "remedy": problem.remedy, "cure": problem.remedy,
                "since": since,
                "secs": round(max(0.0, now - since), 1),
            }
            for problem, since in self.collector.problems(snapshot.name)
        ]  # fmt: skip
        stats = snapshot.stats
        if stats is not None:
            top = rows[0]["sentence"] if rows else summary(stats)
        else:
            top = snapshot.trouble or "it was not asked yet"
        return {
            "topology": snapshot.name,
            "state": snapshot.state,
            "summary": top,
            "headline": top,
            "trouble": snapshot.trouble,
            "stats_at": snapshot.stats_at or None,
            "problems": rows,
        }

    def problem_counts(self) -> Iterator[tuple[str, Counter[ProblemCause]]]:
        """topology -> kind of problem -> number of problems; of the visible topologies."""
        for snapshot in self.all():
            causes = Counter(problem.label for problem, _ in self.collector.problems(snapshot.name))
            yield snapshot.name, causes

    def sample(self, topology: str, wanted: WantedSample) -> list[dict[str, Any]]:
        """The next tuples of a component's stream, on arrival or after a timeout; HeronError for
        an unknown stream."""
        snapshot, ask = RIGHTS.check_may_operate(self.topology(topology)), self.ask_master
        if ask is None:
            raise Unavailable(NO_QUESTIONS.format(name=snapshot.name))
        if not _free_samples.acquire(blocking=False):
            raise Unavailable(f"{SAMPLES_AT_ONCE} samples are being taken already: try again")
        try:
            return sampled(lambda *question: ask(snapshot.name, *question), wanted)
        finally:
            _free_samples.release()

    def query(self, topology: str, wanted: WantedState) -> StateAnswer:
        """What a state has now; TooManyQueries if as many as there may be are in flight."""
        snapshot, ask = self.topology(topology), self.query_master
        if ask is None:
            raise Unavailable(NO_QUESTIONS.format(name=snapshot.name))
        if not _free_queries.acquire(blocking=False):
            raise TooManyQueries(f"{QUERIES_AT_ONCE} queries are in flight already: try again")
        try:
            return query_state(lambda *question: ask(snapshot.name, *question), wanted)
        finally:
            _free_queries.release()

    def saved_state(self, topology: str, name: str) -> StateOfCheckpoint:
        """A state as of the last completed checkpoint, whose store this machine has to reach."""
        snapshot = self.topology(topology)
        return open_saved(snapshot.name, name, self.store, home_path(), is_folder=False)

    def ask(
        self,
        snapshot: TopologySnapshot,
        kind: OperationKind,
        arguments: Mapping[str, Any],
        asked_by: Requester,
    ) -> int:
        """Leave a client's request of an operation; its number."""
        RIGHTS.check_may_operate(snapshot)
        return actions.ask(self.store, snapshot, kind, arguments, asked_by)


def exception_times(points: Sequence[Point]) -> tuple[str, str]:
    """When errors were counted first and last, in seconds since 1970; empty if never."""
    times = [
        point.at
        for point in points
        if any(values.get("__error-count") for values in point.values.values())
    ]
    return (str(min(times)), str(max(times))) if times else ("", "")
