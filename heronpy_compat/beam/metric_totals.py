"""Metrics of bundles and tasks added up: MonitoringInfos of equal URN and labels are one."""

from collections.abc import Callable, Iterable
from typing import Any

from apache_beam.coders.coders import IterableCoder, StrUtf8Coder
from apache_beam.metrics import monitoring_infos

_SET_CODER = IterableCoder(StrUtf8Coder())


def _union(first: Any, second: Any) -> bytes:
    values = set(monitoring_infos.extract_string_set_value(first))
    values |= monitoring_infos.extract_string_set_value(second)
    return bytes(_SET_CODER.encode(sorted(values)))


def _joined_trie(first: Any, second: Any) -> bytes:
    joined = monitoring_infos.extract_bounded_trie_value(first).combine(
        monitoring_infos.extract_bounded_trie_value(second)
    )
    return bytes(joined.to_proto().SerializeToString())


def _latest(first: Any, second: Any) -> bytes:
    at = monitoring_infos.extract_gauge_value
    return bytes(max(second, first, key=lambda info: at(info)[0]).payload)


_OF_TYPE: dict[str, Callable[[Any, Any], bytes]] = {
    monitoring_infos.STRING_SET_TYPE: _union,
    monitoring_infos.BOUNDED_TRIE_TYPE: _joined_trie,
    monitoring_infos.LATEST_INT64_TYPE: _latest,
}


class MetricTotals:
    """The sum of MonitoringInfos; the latest of a type without a sum (histograms, progress)."""

    def __init__(self, infos: Iterable[Any] = ()) -> None:
        self._totals: dict[Any, Any] = {}
        self.add(infos)

    def add(self, infos: Iterable[Any]) -> None:
        """Add the metrics of a bundle, or of a task."""
        totals = self._totals
        for info in infos:
            key = monitoring_infos.to_key(info)
            totals[key] = _sum(totals[key], info) if key in totals else info

    @property
    def infos(self) -> list[Any]:
        """The totals, as MonitoringInfos."""
        return list(self._totals.values())


def _sum(total: Any, info: Any) -> Any:
    join = _OF_TYPE.get(info.type)
    if join is None:
        return [*monitoring_infos.consolidate([total, info])][-1]
    joined = type(info)()
    joined.CopyFrom(info)
    joined.payload = join(total, info)
    return joined
