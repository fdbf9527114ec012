"""Failed tuples of a source and their replay times. Pure: time is an argument.

The first replay is immediate: a tuple lost with a process is not at fault. Later replays wait,
twice as long each time, so that a tuple that always fails is cheap and does not delay others.
`topology.replay.max` limits the number of replays before the tuple is abandoned.
"""

import heapq
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from heron_core import config as keys
from heron_core.algorithms.retries import RetryPolicy, pause_secs

Id = TypeVar("Id", bound=Hashable)


class ReplayQueue(Generic[Id]):
    """The failed tuples of one spout, by their ids."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._waiting: list[tuple[float, int, Id]] = []
        """A heap of (due time, order, id)."""
        self._order = 0
        """The number of additions; equal times keep their order."""
        self._failures: dict[Id, int] = {}
        """How often each has failed that is not acked since."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "ReplayQueue[Id]":
        """As a topology's configuration says."""
        return cls(keys.replay_policy(keys.with_defaults(config)))

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, ids: Iterable[Id]) -> None:
        """Schedule immediate replays, regardless of earlier failures."""
        for tup_id in ids:
            self._push(0.0, tup_id)

    def failed(self, tup_id: Id, now: float) -> int:
        """Schedule the replay of a failed tuple. Returns the number of failures if the tuple is
        abandoned, else 0."""
        failures = self._failures.get(tup_id, 0) + 1
        if self._policy.pause_secs(failures) is None:
            self._failures.pop(tup_id, None)
            return failures
        self._failures[tup_id] = failures
        first_secs = self._policy.first_pause_secs
        due = 0.0 if failures == 1 else now + pause_secs(first_secs, failures - 1)
        self._push(due, tup_id)
        return 0

    def acked(self, tup_id: Id) -> None:
        """A tuple is done."""
        if self._failures:
            self._failures.pop(tup_id, None)

    def take(self, now: float) -> Id | None:
        """The next due tuple, or None."""
        if not self._waiting or self._waiting[0][0] > now:
            return None
        return heapq.heappop(self._waiting)[2]

    def retain(self, wanted: Callable[[Id], bool]) -> None:
        """Drop all other tuples: they belong to a different spout."""
        self._waiting = [each for each in self._waiting if wanted(each[2])]
        heapq.heapify(self._waiting)
        self._failures = {each: n for each, n in self._failures.items() if wanted(each)}

    def __getstate__(self) -> dict[str, Any]:
        """For a process with another clock: there all are due."""
        waiting = [(0.0, order, tup_id) for _, order, tup_id in sorted(self._waiting)]
        return {**vars(self), "_waiting": waiting}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Savepoints of 0.1.0 have an iterator as `_order`, which Python 3.14 cannot pickle."""
        order = state["_order"]
        vars(self).update(state, _order=order if isinstance(order, int) else next(order))

    def _push(self, due: float, tup_id: Id) -> None:
        heapq.heappush(self._waiting, (due, self._order, tup_id))
        self._order += 1


REPLAYS_OVER = f"not processed, and not emitted again ({keys.REPLAY_MAX})"
"""Why such a tuple is a dead letter."""


def abandon(delegate: Any, tup_id: Any, values: list[Any], failures: int, name: Any = None) -> None:
    """Report an abandoned tuple: a dead letter, or an error that names the tuple."""
    if not delegate.abandon_emitted(tup_id, values, failures):
        delegate.record_error(*abandoned_text(tup_id if name is None else name, failures))


def abandoned_text(tup_id: Any, failures: int) -> tuple[str, str]:
    """Report text of an abandoned tuple: the cause and the tuple's text."""
    outlook = f"is not emitted again ({keys.REPLAY_MAX}); all others go on"
    return "a tuple is abandoned", f"{tup_id!r:.200} has failed {failures} times and {outlook}"
