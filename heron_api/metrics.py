"""Metrics of components (heronpy.api.metrics)."""

from collections.abc import Callable, Hashable
from typing import Any


class IMetric:
    """A readable and resettable metric; register metrics with the topology context.

    Example:

        class Longest(IMetric):
            value = 0

            def update(self, text):
                self.value = max(self.value, len(text))

            def get_value_and_reset(self):
                value, self.value = self.value, 0
                return value
    """

    adds_up = True
    """Whether whole numbers of successive reads add up to a total (`heronpy stats -c COMPONENT`):
    True for a count, False for a level, a mean, or a count since the start."""

    def get_value_and_reset(self) -> Any:
        """The value since the last call."""
        raise NotImplementedError

    def unread(self) -> Any:
        """The value of `get_value_and_reset` without the reset: keeps totals exact within a time
        bucket and at the topology's end. None if the class does not support reads."""
        return None


class CountMetric(IMetric):
    """Counts one thing."""

    def __init__(self) -> None:
        self.value: float = 0

    def incr(self, to_add: float = 1) -> None:
        """Count `to_add` more."""
        self.value += to_add

    def get_value_and_reset(self) -> float:
        """Return the count and reset to 0."""
        value, self.value = self.value, 0
        return value

    def unread(self) -> float:
        """The count since the last read."""
        return self.value


class TupleCount(CountMetric):
    """Counts each tuple once: when a checkpoint is restored, counts of replayed tuples are
    subtracted."""

    def __init__(self) -> None:
        super().__init__()
        self.total: float = 0
        """Of all time buckets."""
        self._read: float = 0

    def incr(self, to_add: float = 1) -> None:
        """Count `to_add` more."""
        self.total += to_add

    def get_value_and_reset(self) -> float:
        """The count since the last call: below 0 if more was taken back."""
        total, before = self.total, self._read
        self._read = total
        return total - before

    def unread(self) -> float:
        """The count since the last read: below 0 if more was taken back."""
        return self.total - self._read

    def go_on(self, before: "TupleCount") -> None:
        """Take over the counts of a previous metric."""
        self.total, self._read = before.total, before._read


class MultiCountMetric(IMetric):
    """Counters by key."""

    def __init__(self) -> None:
        self.value: dict[Hashable, CountMetric] = {}

    def add_key(self, key: Hashable) -> None:
        """Report `key` even before the first count."""
        self.incr(key, 0)

    def incr(self, key: Hashable, to_add: float = 1) -> None:
        """Count `to_add` more under `key`."""
        metric = self.value.get(key)
        if metric is None:
            metric = self.value[key] = CountMetric()
        metric.incr(to_add)

    def get_value_and_reset(self) -> dict[Hashable, float]:
        """key -> count; every count starts at 0 again."""
        # A copy of the items, because another thread may add a key meanwhile.
        return {key: metric.get_value_and_reset() for key, metric in list(self.value.items())}

    def unread(self) -> dict[Hashable, float]:
        """key -> count since the last read."""
        return {key: metric.unread() for key, metric in list(self.value.items())}


class IReducer:
    """Folds many values into one value.

    Example:

        class Highest(IReducer):
            def init(self):
                self.value = None

            def reduce(self, value):
                self.value = value if self.value is None else max(self.value, value)

            def extract(self):
                return self.value
    """

    def init(self) -> None:
        """Start over."""
        raise NotImplementedError

    def reduce(self, value: Any) -> None:
        """Add one value."""
        raise NotImplementedError

    def extract(self) -> Any:
        """The fold of the values since `init`."""
        raise NotImplementedError


class MeanReducer(IReducer):
    """The arithmetic mean; None without values.

    Example:

        self.call_ms = ReducedMetric(MeanReducer)  # equal to MeanReducedMetric()
    """

    def init(self) -> None:
        """Start over."""
        self.sum = 0.0
        self.count = 0

    def reduce(self, value: float) -> None:
        """Add one number."""
        self.sum += float(value)
        self.count += 1

    def extract(self) -> float | None:
        """The mean since `init`."""
        return self.sum / self.count if self.count else None


class ReducedMetric(IMetric):
    """Folds updates by one reducer.

    Example:

        self.highest = ReducedMetric(Highest)  # an IReducer
        context.register_metric("highest", self.highest, 60)
        self.highest.update(17)
    """

    adds_up = False

    def __init__(self, reducer_cls: Callable[[], IReducer]) -> None:
        self.reducer = reducer_cls()
        self.reducer.init()

    def update(self, value: Any) -> None:
        """Take `value` in."""
        self.reducer.reduce(value)

    def get_value_and_reset(self) -> Any:
        """Return the reduced value and reset."""
        value = self.reducer.extract()
        self.reducer.init()
        return value


class MultiReducedMetric(IMetric):
    """A ReducedMetric for each key.

    Example:

        self.highest = MultiReducedMetric(Highest)  # an IReducer
        self.highest.update("shop-7", 17)
    """

    adds_up = False

    def __init__(self, reducer: Callable[[], IReducer]) -> None:
        self.value: dict[Hashable, ReducedMetric] = {}
        self.reducer = reducer

    def add_key(self, key: Hashable) -> None:
        """Report `key` even before the first value."""
        if key not in self.value:
            self.value[key] = ReducedMetric(self.reducer)

    def update(self, key: Hashable, value: Any) -> None:
        """Take `value` in under `key`."""
        self.add_key(key)
        self.value[key].update(value)

    def get_value_and_reset(self) -> dict[Hashable, Any]:
        """Return key -> reduced value, and reset every key."""
        return {key: metric.get_value_and_reset() for key, metric in list(self.value.items())}


class AssignableMetrics(IMetric):
    """Holds the last value across resets.

    Example:

        self.position = AssignableMetrics(0)
        context.register_metric("position", self.position, 60)
        self.position.update(1_700)
    """

    adds_up = False

    def __init__(self, init_val: Any) -> None:
        self.value = init_val

    def update(self, value: Any) -> None:
        """Hold `value`."""
        self.value = value

    def get_value_and_reset(self) -> Any:
        """Return the value, without a reset."""
        return self.value


class MultiAssignableMetrics(IMetric):
    """Holds the last value of each key, across resets.

    Example:

        self.offsets = MultiAssignableMetrics()
        self.offsets.update("partition-3", 1_700)
    """

    adds_up = False

    def __init__(self) -> None:
        self.map: dict[Hashable, AssignableMetrics] = {}

    def update(self, key: Hashable, value: Any) -> None:
        """Hold `value` under `key`."""
        if key in self.map:
            self.map[key].update(value)
        else:
            self.map[key] = AssignableMetrics(value)

    def get_value_and_reset(self) -> dict[Hashable, Any]:
        """key -> value; the values stay."""
        return {key: metric.get_value_and_reset() for key, metric in list(self.map.items())}


def MeanReducedMetric() -> ReducedMetric:  # noqa: N802 (heronpy's name)
    """A metric that reports the mean of its updates.

    Example:

        self.call_ms = MeanReducedMetric()
        context.register_metric("call_ms", self.call_ms, 60)
        self.call_ms.update(3.5)
    """
    return ReducedMetric(MeanReducer)


def MultiMeanReducedMetric() -> MultiReducedMetric:  # noqa: N802 (heronpy's name)
    """A metric that reports one mean per key.

    Example:

        self.call_ms = MultiMeanReducedMetric()
        self.call_ms.update("prices", 3.5)
    """
    return MultiReducedMetric(MeanReducer)
