"""Permanently failed tuples of a spout, by the spout's ids.

A spout replays a failed tuple under its id; the engine sees only the id and the root, which
grows with each emit. So the ack of an id with a failed tuple belongs to the replay if its root
was started after the failure; an earlier root belongs to a different tuple, pending under an
equal id, and the failed tuple stays failed. Pure.
"""

from bisect import bisect_left
from typing import Any

FAILED_IDS_MAX = 100_000
"""Limit of remembered tuple ids; failures above count as permanent."""


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
            del failures[replayed - 1]  # the replay has failed
            failures.append(self._newest)
        elif self._failures >= FAILED_IDS_MAX:
            self._others += 1
        else:
            self._failures += 1
            self._newest_roots.setdefault(tup_id, []).append(self._newest)

    def acked(self, tup_id: Any, root: int) -> None:
        """The tuple of `root` is acked: it is the replay of an earlier failed tuple, if any."""
        try:
            failures = self._newest_roots.get(tup_id)
        except TypeError:
            return
        # The latest earlier failure; still earlier failures belong to earlier replays.
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
