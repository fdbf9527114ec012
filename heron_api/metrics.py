"""Metrics that components count with (heronpy.api.metrics)."""

from collections.abc import Callable, Hashable
from typing import Any


class IMetric:
    """Anything that can be read and started over; register it with the topology context."""

    adds_up = True
    """Whether whole numbers of successive reads add up to a total (`heronpy stats -c COMPONENT`):
    True for a count, False for a level, a mean, or a count since the start."""

    def get_value_and_reset(self) -> Any:
        """The value since the last call."""
        raise NotImplementedError

    def unread(self) -> Any:
        """What `get_value_and_reset` would return, without its effect: with it a total is right
        within a time bucket, too, and at the topology's end. None if the class cannot tell."""
        return None


class CountMetric(IMetric):
    """Counts one thing."""

    def __init__(self) -> None:
        self.value: float = 0

    def incr(self, to_add: float = 1) -> None:
        """Count `to_add` more."""
        self.value += to_add

    def get_value_and_reset(self) -> float:
        """The count, which starts at 0 again."""
        value, self.value = self.value, 0
        return value

    def unread(self) -> float:
        """The count since the last read."""
        return self.value


class TupleCount(CountMetric):
    """Counts tuples, each once: when a topology is restored from a checkpoint, what it has counted
    of tuples that come again is taken back."""

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
        """This one takes the place of another one."""
        self.total, self._read = before.total, before._read


class MultiCountMetric(IMetric):
    """Counts several things, each under its key."""

    def __init__(self) -> None:
        self.value: dict[Hashable, CountMetric] = {}

    def add_key(self, key: Hashable) -> None:
        """Report `key` even before it is counted."""
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
    """Folds many values into one."""

    def init(self) -> None:
        """Start over."""
        raise NotImplementedError

    def reduce(self, value: Any) -> None:
        """Take one more value in."""
        raise NotImplementedError

    def extract(self) -> Any:
        """The values since `init`, as one."""
        raise NotImplementedError


class MeanReducer(IReducer):
    """The arithmetic mean; None when there was no value."""

    def init(self) -> None:
        """Start over."""
        self.sum = 0.0
        self.count = 0

    def reduce(self, value: float) -> None:
        """Take one more number in."""
        self.sum += float(value)
        self.count += 1

    def extract(self) -> float | None:
        """The mean since `init`."""
        return self.sum / self.count if self.count else None


class ReducedMetric(IMetric):
    """Folds what it is updated with by one reducer."""

    adds_up = False

    def __init__(self, reducer_cls: Callable[[], IReducer]) -> None:
        self.reducer = reducer_cls()
        self.reducer.init()

    def update(self, value: Any) -> None:
        """Take `value` in."""
        self.reducer.reduce(value)

    def get_value_and_reset(self) -> Any:
        """What the reducer made of the values; it starts over."""
        value = self.reducer.extract()
        self.reducer.init()
        return value


class MultiReducedMetric(IMetric):
    """A ReducedMetric for each key."""

    adds_up = False

    def __init__(self, reducer: Callable[[], IReducer]) -> None:
        self.value: dict[Hashable, ReducedMetric] = {}
        self.reducer = reducer

    def add_key(self, key: Hashable) -> None:
        """Report `key` even before it has a value."""
        if key not in self.value:
            self.value[key] = ReducedMetric(self.reducer)

    def update(self, key: Hashable, value: Any) -> None:
        """Take `value` in under `key`."""
        self.add_key(key)
        self.value[key].update(value)

    def get_value_and_reset(self) -> dict[Hashable, Any]:
        """key -> what the reducer made of its values; every key starts over."""
        return {key: metric.get_value_and_reset() for key, metric in list(self.value.items())}


class AssignableMetrics(IMetric):
    """Holds the last value it was given, across resets."""

    adds_up = False

    def __init__(self, init_val: Any) -> None:
        self.value = init_val

    def update(self, value: Any) -> None:
        """Hold `value`."""
        self.value = value

    def get_value_and_reset(self) -> Any:
        """The value; it stays."""
        return self.value


class MultiAssignableMetrics(IMetric):
    """Holds the last value of each key, across resets."""

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
    """A metric that reports the mean of what it is updated with."""
    return ReducedMetric(MeanReducer)


def MultiMeanReducedMetric() -> MultiReducedMetric:  # noqa: N802 (heronpy's name)
    """A metric that reports one mean for each key."""
    return MultiReducedMetric(MeanReducer)
