"""Nodes of a topology run by a cluster itself, restored by its own containers.

The submitting command has ended, so processes kept alive by the cluster remember its nodes (the
topology, its keys, its scheduler's node): on YARN the application master, on Aurora the agent of
each instance. The topology master maintains its own nodes.

A missing node has two possible causes. An emptied state store has a new identity, or none: the
remembered nodes are restored. In a store with an unchanged identity a command has removed the
topology, and nothing may be restored: an agent may detect the removal much later, after a
partition.
"""

import logging
import secrets
import time
from enum import Enum
from threading import Event
from typing import Any

from heron_core.errors import HeronError, NameInUse
from heron_core.state_tree import IDENTITY_PATH, keys_path, scheduler_path, topology_path
from heron_engine.scheduler.packaging.stored_code import RegisteredCode
from heron_io.state_store.node_registry import NodeRegistry
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore

log = logging.getLogger("scheduler")

EMPTYING_SECS = 10.0
"""A client that empties a state store node by node may reach ours after the identity has
changed."""


class Found(Enum):
    """What a look has shown."""

    STANDING = "standing"
    """All nodes exist, as far as known yet, or exist again."""
    REMOVED = "removed"
    """A command has removed the topology, or the name belongs to another topology."""


def identity_of(store: StateStore) -> str:
    """Identity of the state store, lost with its contents; assigned if missing."""
    while True:
        node = store.get(IDENTITY_PATH)
        if isinstance(node, dict) and "id" in node:
            return str(node["id"])
        try:
            store.create(IDENTITY_PATH, {"id": secrets.token_hex(8)})
        except NameInUse:
            continue


class ClusterNodes:
    """Remembered nodes of one topology."""

    def __init__(self, store: StateStore, name: str) -> None:
        """HeronError if the state store has no such topology."""
        self._store = store
        self._topology_path = topology_path(name)
        self._registry = NodeRegistry(store)
        for path in (self._topology_path, keys_path(name), scheduler_path(name)):
            if (value := store.get(path)) is None:
                raise HeronError(f"the state store has no {path}: has the topology ended?")
            self.keep(path, value)
        self._code = RegisteredCode(store, name)
        self._identity = identity_of(store)
        self._emptied_at = float("-inf")
        """When the last look was that has found another identity."""

    def keep(self, path: str, value: Any) -> None:
        """The owner of a node has changed it."""
        self._registry.keep(path, value)

    def poll(self, now: float) -> Found:
        """Restore nodes missing after a loss of the state store; StateStoreError without an
        answer.
        """
        if not self._registry.is_due(now):
            return Found.STANDING
        missing = self._registry.missing()
        topology = self._store.get(self._topology_path)
        if topology is not None and topology != self._registry.value(self._topology_path):
            return Found.REMOVED
        if not missing:
            self._code.poll()
            return Found.STANDING
        identity = identity_of(self._store)
        if identity != self._identity:
            self._identity, self._emptied_at = identity, now
        elif self._topology_path in missing and now > self._emptied_at + EMPTYING_SECS:
            return Found.REMOVED
        self._code.write_again()  # before the topology: readers of the topology then find its code
        for path in missing:
            self._write(path)
        return Found.STANDING

    def _write(self, path: str) -> None:
        try:
            self._store.create(path, self._registry.value(path))
            log.warning("%s was lost with the state store's contents and has been restored", path)
        except NameInUse:  # another container of the topology was first
            pass


def keep_nodes(store_url: str, name: str, ended: Event, poll_secs: float) -> None:
    """Look after the nodes of a topology until `ended`, or until it is removed; for a thread."""
    store: StateStore | None = None
    nodes: ClusterNodes | None = None
    trouble = ""
    while not ended.wait(poll_secs):
        try:
            store = store or open_store(store_url)
            nodes = nodes or ClusterNodes(store, name)
            if nodes.poll(time.monotonic()) is Found.REMOVED:
                log.warning("%s was removed from the state store", name)
                break
            trouble = ""
        except HeronError as error:
            if str(error) != trouble:
                trouble = str(error)
                log.warning("%s", trouble)
    if store is not None:
        store.close()
