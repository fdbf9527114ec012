"""Since when a bolt is too busy, by the history: the service may have been started after that."""

from collections.abc import Sequence

from heron_core.stats import BUSY_SHARE
from heron_tracker.model.history import Point
from heron_tracker.model.tracker_problem import ProblemKind, TrackerProblem

KINDS = frozenset({ProblemKind.BOTTLENECK, ProblemKind.SKEWED})
"""Problems visible in the history: a task is busy nearly all the time."""
SHARE = 0.8 * BUSY_SHARE
"""Mean utilisation of a point: lower at its start and between bursts."""
GAP_SECS = 60
"""Longest gap between points that counts as continuous."""
SERIES = "__capacity"


def busy_since(points: Sequence[Point], problem: TrackerProblem, at: float, begun: float) -> float:
    """Start of the unbroken points before `at` in which the component's busiest task was
    overloaded; `at` for a problem of another kind, or without points.

    Never before `begun`, when the topology began: its first point began earlier."""
    if problem.kind not in KINDS:
        return at
    since = at
    for point in sorted(points, key=lambda each: each.at, reverse=True):
        if point.at >= since:
            continue
        busiest = max((value.get(SERIES, 0.0) for value in point.values.values()), default=0.0)
        if since - (point.at + point.secs) > GAP_SECS or busiest < SHARE:
            break
        since = max(float(point.at), begun)
    return since
