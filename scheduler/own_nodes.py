"""State store nodes of a topology with a scheduler of ours, kept as long as the scheduler runs.

A process beside the scheduler maintains the nodes (operation_runner). The topology master maintains
its own.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from heron_core.errors import HeronError, NameInUse
from heron_core.state_tree import keys_path, scheduler_path, topology_path
from heron_core.topology import topology_to_json
from heron_core.typed_json import to_json
from heron_engine.scheduler.packaging.stored_code import RegisteredCode
from heron_engine.scheduler.submission import Submission
from heron_io.state_store.node_registry import NodeRegistry
from heron_io.state_store.protocol import StateStore

log = logging.getLogger("operations")

WAITING = "waiting"
"""Key of a scheduler's node: what a start waits for, in words."""
GUARDIAN = "guardian"
"""Key of a scheduler's node: pid and start of the process that takes its place."""
IDENTITY = ("host", "pid", "started")
"""Properties that identify a scheduler's node."""


class NameTaken(HeronError):
    """Our nodes were removed, and another topology has the name."""


def is_of(scheduler: Mapping[str, Any], node: Any) -> bool:
    """Whether a scheduler's node in the state store belongs to `scheduler`."""
    return isinstance(node, dict) and all(node.get(x) == scheduler[x] for x in IDENTITY)


class Announcement(Struct, frozen=True):
    """Nodes written by a scheduler's processes for discovery."""

    name: str
    topology: Any
    keys: Any
    scheduler: Mapping[str, Any]

    @staticmethod
    def of(submission: Submission, scheduler: Mapping[str, Any]) -> "Announcement":
        """That of a submission, whose scheduler's node is `scheduler`."""
        topology = submission.topology
        return Announcement(
            topology.name, topology_to_json(topology), to_json(submission.keys), scheduler
        )


@dataclass
class OwnNodes:
    """The nodes of one topology."""

    store: StateStore
    announced: Announcement
    _registry: NodeRegistry = field(init=False)
    _code: RegisteredCode = field(init=False)

    def __post_init__(self) -> None:
        self._registry = NodeRegistry(self.store)
        self._code = RegisteredCode(self.store, self.announced.name)
        self._registry.keep(topology_path(self.announced.name), self.announced.topology)
        self._registry.keep(keys_path(self.announced.name), self.announced.keys)
        self._registry.keep(scheduler_path(self.announced.name), dict(self.announced.scheduler))

    def poll(self, now: float) -> None:
        """Write again what is gone. NameTaken if the name is another topology's now;
        StateStoreError if the store does not answer."""
        if not self._registry.is_due(now):
            return
        self._check_scheduler()
        missing = self._registry.missing()
        if not missing:
            self._code.poll()
            return
        self._check_topology()
        if topology_path(self.announced.name) in missing:
            self._code.write_again()
        for path in missing:
            try:
                self.store.create(path, self._registry.value(path))
                log.warning("%s was removed from the state store, and is there again", path)
            except NameInUse:  # concurrently created: the next check reads the owner
                return

    def _check_scheduler(self) -> None:
        """The node may have further entries: a back end's driver adds some. An invalid node
        counts as missing."""
        path = scheduler_path(self.announced.name)
        stored = self.store.get(path)
        if stored is None:
            return
        if not isinstance(stored, dict) or not stored.keys() >= set(IDENTITY):
            log.warning("%s was not a scheduler's node: rewriting the node", path)
            self.store.put(path, self._registry.value(path))
            return
        if not is_of(self.announced.scheduler, stored):
            raise self._taken()
        self._registry.keep(path, stored)

    def _check_topology(self) -> None:
        """A topology of equal name that is just being registered has no scheduler's node yet."""
        found = self.store.get(topology_path(self.announced.name))
        if found is not None and found != self.announced.topology:
            raise self._taken()

    def _taken(self) -> NameTaken:
        return NameTaken("its nodes were removed, and another topology uses its name now")
