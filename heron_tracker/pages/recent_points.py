"""The last hour of components, for the pictures of a page that stays open."""

from heron_tracker.model.history import FINE_SECS, Point
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.component_view import fine
from heron_tracker.service import Service

HISTORY_SECS = 3600


class RecentPoints:
    """Of one topology: its history is read once, then only what is new in it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._id = ""
        self._points: dict[str, list[Point]] = {}

    def of(self, snapshot: TopologySnapshot, component: str) -> list[Point]:
        """The points of ten seconds of a component, in order."""
        if snapshot.id != self._id:
            self._id, self._points = snapshot.id, {}
        now = int(self._service.calendar())
        known = self._points.get(component, [])
        first = known[-1].at + FINE_SECS if known else now - HISTORY_SECS
        new = [
            point
            for point in fine(self._service.points(snapshot, component, first, now))
            if not known or point.at >= first
        ]
        kept = [point for point in known if point.at > now - HISTORY_SECS]
        self._points[component] = points = kept + new
        return points
