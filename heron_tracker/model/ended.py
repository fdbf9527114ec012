"""The topologies that have failed or were lost: the records of their ends in the state store."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from heron_core.state_tree import OUTCOMES_PATH
from heron_engine.scheduler.stored_outcomes import TROUBLES, UNTIL, stored_outcome
from heron_io.state_store.protocol import StateStore

READ_AGAIN_SECS = 30.0
"""A record seldom changes: that of a topology which runs and ends between two looks."""

Outcome = Mapping[str, Any]


class EndedTopologies:
    """`find` is for one thread; `outcome` for any."""

    def __init__(self, store: StateStore, calendar: Callable[[], float]) -> None:
        self._store = store
        self._calendar = calendar
        self._known: Mapping[str, Outcome] = {}
        self._shown: Mapping[str, Outcome] = {}
        self._read_again_at = 0.0

    def find(self, running: Iterable[str]) -> list[str]:
        """Their names, without those of which another run is there."""
        now = self._calendar()
        if now >= self._read_again_at:
            self._read_again_at, self._known = now + READ_AGAIN_SECS, {}
        names = set(self._store.children(OUTCOMES_PATH)) - set(running)
        self._known = {
            name: self._known.get(name) or stored_outcome(self._store, name)
            for name in sorted(names)
        }
        self._shown = {
            name: outcome
            for name, outcome in self._known.items()
            if outcome.get("state") in TROUBLES and outcome.get(UNTIL, now) >= now
        }
        return list(self._shown)

    def outcome(self, name: str) -> Outcome | None:
        """The record of one of those that were found last."""
        return self._shown.get(name)
