"""A latency of a component's tasks over time, as a heat map."""

from collections.abc import Mapping, Sequence
from typing import Any

from heron_core.instance_report import DISTRIBUTIONS
from heron_core.instance_series import latency_series
from heron_core.number_text import milliseconds
from heron_tracker.model.history import Point
from heron_tracker.pages.component_view import heat_map

MEAN = "mean_ms"
"""The series that `means` makes."""


def measured_kinds(points: Sequence[Point]) -> list[str]:
    """The kinds of latency that there is anything of."""
    every = [values for point in points for values in point.values.values()]
    samples = {kind: latency_series(kind)[1] for kind in DISTRIBUTIONS}
    return [kind for kind, name in samples.items() if any(name in each for each in every)]


def means(points: Sequence[Point], kind: str) -> list[Point]:
    """The mean of the tuples of each point, in milliseconds; tasks without any are left out."""
    secs, samples = latency_series(kind)
    return [
        Point(
            point.component,
            point.at,
            point.secs,
            {
                task: {MEAN: values.get(secs, 0.0) / values[samples] * 1000}
                for task, values in point.values.items()
                if values.get(samples)
            },
        )
        for point in points
    ]


def latency_map(points: Sequence[Point], names: Mapping[int, str], kind: str) -> dict[str, Any]:
    """Options of ECharts: as `heat_map`, the darkest is the longest mean that there was."""
    mean_points = means(points, kind)
    longest_ms = max(
        (value[MEAN] for point in mean_points for value in point.values.values()), default=0.0
    )
    options = heat_map(mean_points, names, MEAN)
    options["visualMap"] |= {
        "max": longest_ms or 1.0, "show": True, "calculable": False, "orient": "horizontal",
        "top": 0, "right": 12, "itemHeight": 80, "text": [milliseconds(longest_ms), "0"],
    }  # fmt: skip
    options["grid"]["top"] = 40
    return options
