"""A simulated cluster with constant queries of its states, during all faults.

Each query gets a reply from a live master, by the time-out. An answered count never exceeds the
final count of a component: a state is read between two tuples, and tuples undone by a restore are
counted again.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from heron_core.typed_values import value_in
from heron_core.wire import messages
from heron_engine.topology_master import events as master_events
from tests.sim.checkers import require
from tests.sim.cluster import Cluster
from tests.sim.processes import Master

ASKED_SHARE = 0.2
"""Of the rounds."""
SECS = (0.05, 0.5, 5.0)
LATE_SECS = 0.2
"""A master checks its deadlines each 0.02 s, in its turns."""
STATES = ("counted", "waiting", "put", "none")


class QueriedCluster(Cluster):
    """The clients of a cluster's states, and their answers."""

    def __init__(self, seed: int, effectively_once: bool = True) -> None:
        super().__init__(seed, effectively_once)
        self.asking = Random(f"asking {seed}")
        self.open: dict[bytes, tuple[Master, float]] = {}
        """Asker -> the asked master, and the deadline of the reply."""
        self.outcomes: dict[str, int] = {}
        self.most: dict[str, dict[int, int]] = {}
        """component -> ident -> the highest answered count, over all keys of one answer"""
        self._asked = 0

    def round(self) -> None:
        """A usual round, perhaps with a query."""
        super().round()
        for master in self._masters():
            replies, master.replies = master.replies, []
            for asker, reply in replies:
                self._replied(asker, reply)
        self._check_late()
        if self.master is not None and self.asking.random() < ASKED_SHARE:
            self._question(self.master)

    def _question(self, master: Master) -> None:
        self._asked += 1
        asker, secs = b"asker %d" % self._asked, self.asking.choice(SECS)
        component = self.asking.choice(self.topology.components).name
        question: dict[str, Any] = {
            "name": f"{component}.{self.asking.choice(STATES)}",
            "secs": secs,
            "limit": 10_000,
        }
        if self.asking.random() < 0.3:
            question["key"] = str(self.asking.randrange(5))
        self.open[asker] = master, self.clock.now + secs + LATE_SECS
        command = messages.Command("query", question)
        master.arrived.append(master_events.MasterReceived(asker, command))

    def _masters(self) -> list[Master]:
        return [*self.previous, *([] if self.master is None else [self.master])]

    def _replied(self, asker: bytes, message: Any) -> None:
        """A master answers a question."""
        require(asker in self.open, f"{asker!r} gets a second reply: {message}")
        del self.open[asker]
        data = message.data
        outcome = data["outcome"]
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if outcome == "answered" and data["name"].endswith(".counted"):
            self._note_counts(data["name"].removesuffix(".counted"), data["entries"])

    def _note_counts(self, component: str, entries: list[Any]) -> None:
        totals: dict[int, int] = {}
        for _, _, text in entries:
            for ident, number in value_in(json.dumps(json.loads(text)["value"])).items():
                totals[ident] = totals.get(ident, 0) + number
        most = self.most.setdefault(component, {})
        for ident, number in totals.items():
            most[ident] = max(number, most.get(ident, 0))

    def _check_late(self) -> None:
        alive = set(map(id, self._masters()))
        for asker, (master, until) in list(self.open.items()):
            if id(master) not in alive:
                del self.open[asker]  # its client hears nothing, and says so
            else:
                require(self.clock.now <= until, f"{asker!r} has no reply")

    def check_answers(self) -> None:
        """At the end: every answered count is at most the final one."""
        for component, most in self.most.items():
            final = dict(_counts(self, component))
            too_many = {
                ident: (number, final.get(ident, 0))
                for ident, number in most.items()
                if number > final.get(ident, 0)
            }
            require(not too_many, f"{component} answered more than it has: {too_many}")


def _counts(cluster: Cluster, component: str) -> Iterator[tuple[int, int]]:
    totals: dict[int, int] = {}
    for each in cluster.instances.values():
        if cluster.packing.instances[each.task].component == component:
            for ident, number in getattr(each.component, "counts", {}).items():
                totals[ident] = totals.get(ident, 0) + number
    yield from totals.items()
