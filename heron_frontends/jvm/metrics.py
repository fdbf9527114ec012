"""Metrics of a Java class as metrics of the instance."""

from collections.abc import Mapping
from typing import Any

from heron_api.metrics import CountMetric, MultiCountMetric
from heron_frontends.adapters.reported_metrics import NAMES_MAX, READ_SECS, ReportedMetrics


class JavaMetrics:
    """Counts are added up until the engine reads them, so that their totals are exact; of anything
    else the newest value is shown."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._counts: dict[str, Any] = {}
        self._reported = ReportedMetrics()

    def count(self, name: str, value: Any) -> bool:
        """So many more, or so many of each key; False if there are too many names. ValueError for
        the name of a metric of the engine's."""
        kind = MultiCountMetric if isinstance(value, Mapping) else CountMetric
        metric: Any = self._counts.get(name)
        if metric is None:
            if len(self._counts) >= NAMES_MAX:
                return False
            metric = kind()
            self._context.register_metric(name, metric, READ_SECS)
            self._counts[name] = metric
        if isinstance(value, Mapping):
            for key, number in value.items():
                metric.incr(str(key), number)
        else:
            metric.incr(value)
        return True

    def report(self, name: str, value: Any) -> bool:
        """The newest value; False and ValueError as for counts."""
        return self._reported.report(self._context, name, value)
