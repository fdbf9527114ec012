"""A driver's watch of the state store: plans, and containers to restart."""

import logging
import threading
from typing import Any

from heron_core.errors import HeronError
from heron_core.plans import PackingPlan
from heron_core.state_tree import packing_path, physical_path, restart_requests_path
from heron_engine.scheduler.backends.spark.plans import joined
from heron_engine.scheduler.update_plans import read_packings
from heron_io.master_client import MasterClient
from heron_io.state_store.protocol import StateStore
from heron_io.waker import Waker

log = logging.getLogger("spark")


class StateWatch:
    """Watches a topology's nodes, and wakes the driver after a change."""

    def __init__(self, store: StateStore, name: str, waker: Waker) -> None:
        self._store = store
        self._name = name
        self._waker = waker
        self._stale = threading.Event()
        """Set after a change of the plans, until the next reading."""
        self._plan: PackingPlan | None = None
        self._restart: Any = None
        self._taken = ""
        """The last request to restart: a late watch may repeat a request."""
        for path in (packing_path(name), physical_path(name)):
            store.watch(path, self._plan_changed)
        store.watch(restart_requests_path(name), self._restart_changed)

    # The store calls both methods from its thread.

    def _plan_changed(self, value: Any) -> None:
        self._stale.set()
        self._waker.wake()

    def _restart_changed(self, value: Any) -> None:
        self._restart = value
        self._waker.wake()

    def plan(self) -> PackingPlan | None:
        """All wanted containers by the last readable plan; None before the first."""
        if self._stale.is_set():
            self._stale.clear()
            try:
                self._plan = joined(read_packings(self._store, self._name))
            except HeronError as error:
                log.warning("the plans cannot be read: %s", error)
                self._stale.set()
        return self._plan

    def take_restart(self) -> int | None:
        """The container with a pending restart request, returned once; None without one."""
        requested = self._restart
        if requested is None or requested["order"] == self._taken:
            return None
        try:
            self._store.delete(
                restart_requests_path(self._name)
            )  # removed first, to avoid a second execution
        except HeronError as error:
            log.warning("the restart request could not be removed: %s", error)
            return None
        self._taken = requested["order"]
        return int(requested["container"])

    def refuse(self, reason: str) -> None:
        """Have the topology master undo an impossible update."""
        log.warning("the update is refused: %s", reason)
        client = MasterClient(self._store, self._name)
        try:
            client.ask("cancel", {"reason": reason})
        except HeronError as error:  # the update is then undone after its own timeout
            log.warning("the topology master was not notified: %s", error)
        finally:
            client.close()
