"""The topology master's nodes in the state store: its own, and nodes for other processes.

All access is in a thread: a hanging state store blocks no master. Writes are queued, with only
the newest value of each node.

A master writes behind a *fence*: a node with a unique name below /fences/TOPOLOGY, replaced by
the next master. A late write of a replaced master refers to the old fence and is rejected by the
state store itself.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from heron_core.errors import Fenced, NameInUse, StateStoreError
from heron_core.state_tree import fence_path, fences_path, master_path, topology_path
from heron_io.state_store.node_registry import NodeRegistry
from heron_io.state_store.protocol import CONNECTED, LOST, StateStore
from heron_io.worker import WorkerThread

log = logging.getLogger("topology_master")

CLOSE_SECS = 2.0
"""For the last writes, when the master ends."""
TAKEN_OVER = "another topology master took over while we were cut off"


class MasterNode:
    """The ephemeral node of the master, and its fence."""

    def __init__(self, store: StateStore, topology: str, token: str, me: Mapping[str, Any]) -> None:
        """`token`: a unique name of the master."""
        self._store = store
        self._path = master_path(topology)
        self._topology_path = topology_path(topology)
        self._fences = fences_path(topology)
        self.fence = fence_path(topology, token)
        self._token = token
        self._me = dict(me)

    def take(self) -> None:
        """Be the master from now on; NameInUse if there is one."""
        self._take()
        if self._store.get(self._topology_path) is None:
            # the topology has ended: remove everything, and without a fence nothing can be written
            return
        self._store.put(self.fence, self._me)
        for other in self._others():
            self._store.delete(f"{self._fences}/{other}")

    def take_again(self) -> str:
        """Recreate a missing node, lost with a session or deleted by hand; returns why the node is
        taken, or an empty text.
        """
        try:
            self._take()
        except NameInUse as error:
            return f"{TAKEN_OVER}: {error}"
        log.info("our node was missing in the state store and has been recreated")
        return self.mend_fence()

    def mend_fence(self) -> str:
        """If the fence is missing because all nodes are, set the fence again when the topology
        returns (a killed topology does not return); else the reason of its loss."""
        if self._store.get(self.fence) is not None:
            return ""
        if self._others():
            return TAKEN_OVER
        if self._store.get(self._topology_path) is not None:
            self._store.put(self.fence, self._me)
        return ""

    def _take(self) -> None:
        try:
            self._store.create(self._path, self._me, ephemeral=True)
        except NameInUse:
            if self._store.get(self._path) != self._me:
                raise

    def _others(self) -> list[str]:
        return [each for each in self._store.children(self._fences) if each != self._token]


class StoreOutcome(Struct, frozen=True):
    """Of one round of the thread."""

    written: dict[str, Any] = field(default_factory=dict)
    taken_over: str = ""
    """Successor or reason, if the process has lost the master role."""


class StoredNodes:
    """The nodes, and the thread that maintains them."""

    def __init__(
        self,
        store: StateStore,
        topology: str,
        node: MasterNode,
        written: Callable[[], None],
        taken_over: Callable[[str], None],
    ) -> None:
        """`written`: called in the loop after the last pending write; `taken_over`: called when the
        master has to end.
        """
        self._store = store
        self._topology = topology
        self._node = node
        self._written = written
        self._taken_over = taken_over
        self._session = CONNECTED
        self._is_lost = False
        """Whether our node is gone."""
        self._pending: dict[str, Any] = {}
        """path -> value that the state store has still to be given"""
        self._kept = NodeRegistry(store)
        self._worker = WorkerThread("state store")
        store.on_session(self._session_changed)

    @property
    def readable(self) -> int:
        """A file descriptor that is ready when the thread has done something."""
        return self._worker.readable

    @property
    def is_written(self) -> bool:
        """Whether the state store has all pending values."""
        return not self._pending

    def keep(self, path: str, value: Any) -> None:
        """Value of a node, restored if removed. Before the first check."""
        self._kept.keep(path, value)

    def put(self, path: str, value: Any) -> None:
        """Write a value as soon as possible."""
        self._pending[path] = value
        self._begin(has_time=False)

    def poll(self, now: float, is_over: bool) -> None:
        """Several times a second: write pending values, and recreate missing nodes, unless the
        topology is over and its nodes are being removed.
        """
        has_time = not is_over and self._kept.is_due(now)
        if has_time or self._pending or self._is_lost:
            self._begin(has_time)

    def finish(self) -> None:
        """The thread has done something."""
        self._worker.finish()

    def close(self) -> None:
        """Write what waits, if it can be done at once."""
        self._begin(has_time=False)
        self._worker.close(CLOSE_SECS)

    def _begin(self, has_time: bool) -> None:
        if not self._worker.unfinished:
            pending = dict(self._pending)
            self._worker.begin(lambda: self._work(pending, has_time), self._done)

    def _done(self, outcome: StoreOutcome | None) -> None:
        if outcome is None:
            return
        if outcome.taken_over:
            self._taken_over(outcome.taken_over)
        had_pending = bool(self._pending)
        for path, value in outcome.written.items():
            if self._pending.get(path) is value:
                del self._pending[path]
        if self._pending and outcome.written:
            self._begin(has_time=False)
        elif had_pending and not self._pending:
            self._written()

    # --- in the thread ------------------------------------------------------------------------

    def _session_changed(self, state: str) -> None:
        """From a thread of the store: suspended, lost (our node is gone), connected again."""
        self._session = state
        self._is_lost = self._is_lost or state == LOST

    def _work(self, pending: dict[str, Any], has_time: bool) -> StoreOutcome:
        if self._session != CONNECTED:
            return StoreOutcome()
        written: dict[str, Any] = {}
        try:
            if self._is_lost:
                if taken_over := self._node.take_again():
                    return StoreOutcome(taken_over=taken_over)
                self._is_lost = False
            for path, value in {**(self._missing() if has_time else {}), **pending}.items():
                self._store.put(path, value, guard=self._node.fence)
                self._kept.keep(path, value)
                written[path] = value
        except Fenced:
            return StoreOutcome(written, self._mended())
        except StateStoreError as error:
            log.warning("the state store is not up to date yet: %s", error)
        return StoreOutcome(written)

    def _mended(self) -> str:
        try:
            return self._node.mend_fence()
        except StateStoreError as error:
            log.warning("our fence cannot be read: %s", error)
            return ""

    def _missing(self) -> dict[str, Any]:
        """Restore removed nodes, as long as the topology's own node exists: the scheduler
        restores the latter, or ends the master."""
        missing = self._kept.missing()
        if topology_path(self._topology) in missing:
            return {}
        self._is_lost = self._is_lost or master_path(self._topology) in missing
        others = [each for each in missing if each != master_path(self._topology)]
        for path in others:
            log.warning("%s was removed from the state store and has been restored", path)
        return {path: self._kept.value(path) for path in others}
