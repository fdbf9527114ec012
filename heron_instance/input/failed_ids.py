"""Which tuples of a spout have failed for good, by what the spout calls them.

A spout that emits a failed tuple again gives it the same id, and the engine sees nothing but the id
and the root, which grows with each emit. So an ack under the id of a failed tuple is that of its
replay if its root was begun after the failure; if it was begun before, it is another tuple, which
was pending under the same id, and the failed one stays failed. Pure.
"""

from bisect import bisect_left
from typing import Any

FAILED_IDS_MAX = 100_000
"""Tuple ids that are remembered until they are acked; failures beyond that count as for good."""


class FailedIds:
    """The tuples that failed and were not acked since: what a spout emits again and what is acked
    then has not failed for good."""

    def __init__(self) -> None:
        self._newest_roots: dict[Any, list[int]] = {}
        """id -> for each of its failures the newest root of that time, ascending"""
        self._failures = 0
        self._newest = 0
        self._others = 0
        """Failures whose ids cannot be remembered."""

    def __len__(self) -> int:
        return self._failures + self._others

    def add(self, tup_id: Any, root: int, newest: int) -> None:
        """The tuple of `root` has failed; `newest` is the newest root that was pending then."""
        self._newest = max(self._newest, root, newest)
        try:
            failures = self._newest_roots.get(tup_id)
        except TypeError:  # a list, say: it cannot be told from another one
            self._others += 1
            return
        if failures and (replayed := bisect_left(failures, root)):
            del failures[replayed - 1]  # the replay of that one has failed
            failures.append(self._newest)
        elif self._failures >= FAILED_IDS_MAX:
            self._others += 1
        else:
            self._failures += 1
            self._newest_roots.setdefault(tup_id, []).append(self._newest)

    def acked(self, tup_id: Any, root: int) -> None:
        """The tuple of `root` is acked: it is the replay of one that failed before it was emitted,
        if there is one."""
        try:
            failures = self._newest_roots.get(tup_id)
        except TypeError:
            return
        # The latest failure before it: those before that one are left to replays begun before.
        if failures and (replayed := bisect_left(failures, root)):
            self._forget(tup_id, failures, replayed - 1)

    def acked_at_once(self, tup_id: Any) -> None:
        """A tuple without a root, which was emitted after all failures so far, is acked."""
        self.acked(tup_id, self._newest + 1)

    def abandoned(self, tup_id: Any) -> None:
        """The tuple that failed last under this id is a dead letter now."""
        failures = self._newest_roots.get(tup_id)
        if failures:
            self._forget(tup_id, failures, len(failures) - 1)

    def _forget(self, tup_id: Any, failures: list[int], at: int) -> None:
        self._failures -= 1
        del failures[at]
        if not failures:
            del self._newest_roots[tup_id]
