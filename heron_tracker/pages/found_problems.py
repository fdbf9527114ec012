"""The problems of a topology, each with the time since when: as seen, or by the history."""

from heron_core.errors import HeronError
from heron_tracker.model.history import COARSE_KEPT_SECS
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import TrackerProblem
from heron_tracker.pages.component_view import fine
from heron_tracker.pages.overview_view import Found
from heron_tracker.pages.since_view import KINDS, busy_since
from heron_tracker.service import Service

KNOWN_MAX = 1000
"""Problems whose beginning is kept: it does not change, and asking the history takes time."""


class FoundProblems:
    """Of all topologies of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: dict[tuple[str, str, str, float], float] = {}

    def of(self, snapshot: TopologySnapshot) -> Found:
        """The worst first."""
        return [
            (problem, self._since(snapshot, problem, at))
            for problem, at in self._service.collector.problems(snapshot.name)
        ]

    def _since(self, snapshot: TopologySnapshot, problem: TrackerProblem, at: float) -> float:
        if problem.kind not in KINDS:
            return at
        key = (snapshot.id, *problem.key, at)
        if key not in self._known:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[key] = self._by_history(snapshot, problem, at)
        return self._known[key]

    def _by_history(self, snapshot: TopologySnapshot, problem: TrackerProblem, at: float) -> float:
        begin = int(at) - COARSE_KEPT_SECS
        try:
            points = self._service.points(snapshot, problem.component, begin, int(at))
        except HeronError:
            return at
        begun = min(float(snapshot.submitted_secs), at)
        by_ten_seconds = busy_since(fine(points), problem, at, begun)
        return busy_since(points, problem, by_ten_seconds, begun)
