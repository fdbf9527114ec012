"""Metrics that exist because user code reports a value of them, without registering them first."""

from typing import Any

READ_SECS = 1.0
NAMES_MAX = 1000
"""Metrics of one instance: a name for each user or file would fill the memory of all who read."""


class ReportedMetric:
    """A metric whose newest reported value is shown."""

    adds_up = False

    def __init__(self) -> None:
        self.value: Any = None

    def get_value_and_reset(self) -> Any:
        """The newest value."""
        return self.value


class ReportedMetrics:
    """The metrics that one instance has reported so far."""

    def __init__(self) -> None:
        self._by_name: dict[str, ReportedMetric] = {}

    def report(self, context: Any, name: str, value: Any) -> bool:
        """Show `value` among the instance's metrics; False if there are too many names."""
        metric = self._by_name.get(name)
        if metric is None:
            if len(self._by_name) >= NAMES_MAX:
                return False
            metric = self._by_name[name] = ReportedMetric()
            context.register_metric(name, metric, READ_SECS)
        metric.value = value
        return True

    def __contains__(self, name: str) -> bool:
        return name in self._by_name
