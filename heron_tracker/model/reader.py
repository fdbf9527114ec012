"""Reads one topology: nodes in the state store, and statistics of the master."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import zmq

from heron_core.errors import HeronError, StateStoreError
from heron_core.records import replace
from heron_core.state_tree import (
    execution_path,
    keys_path,
    master_path,
    packing_path,
    physical_path,
    scheduler_path,
    topology_path,
)
from heron_core.stats import EVERY_COMPONENT
from heron_engine.scheduler.registration import is_lost
from heron_io.master_client import MasterClient
from heron_io.state_store.protocol import StateStore
from heron_tracker.model.ended import EndedTopologies
from heron_tracker.model.query_clients import QueryClients
from heron_tracker.model.snapshot import Nodes, TopologySnapshot, ended_snapshot, snapshot_of


@dataclass(frozen=True, slots=True)
class Connection:
    """Connection to a master at its known address."""

    master: Any
    keys: Any
    client: MasterClient
    lock: threading.Lock = field(default_factory=threading.Lock)
    """A topology that has gone and come again may be asked about twice at once."""


class TrackerReader:
    """All topologies of one state store. One thread at a time reads a topology; several topologies
    are read at once.
    """

    def __init__(
        self, store: StateStore, answer_secs: float, calendar: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._answer_secs = answer_secs
        self._calendar = calendar
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._connections: dict[str, Connection] = {}
        self._query_clients = QueryClients(store, self._context)
        self._ended = EndedTopologies(store, calendar)
        self._lock = threading.Lock()

    def find(self) -> list[str]:
        """The existing topologies, and topologies failed or lost lately."""
        names = self._store.children("/topologies")
        return [*names, *self._ended.find(names)]

    def read(self, name: str) -> TopologySnapshot:
        """Snapshot of a topology; without statistics, but with the reason, if its master does
        not answer."""
        if (outcome := self._ended.outcome(name)) is not None:
            return ended_snapshot(name, outcome)
        nodes = Nodes(
            topology=self._get(topology_path(name)),
            packing=self._get(packing_path(name)),
            physical=self._get(physical_path(name)),
            execution=self._get(execution_path(name)),
            scheduler=self._get(scheduler_path(name)),
            master=self._get(master_path(name)),
        )
        snapshot = snapshot_of(name, nodes, not is_lost(nodes.scheduler))
        if nodes.master is None:
            return _with_trouble(snapshot, "it has no topology master at present")
        try:
            connection = self._connection(name, nodes.master)
            with connection.lock:
                stats = connection.client.stats(EVERY_COMPONENT, self._answer_secs)
        except (HeronError, zmq.ZMQError) as error:
            return _with_trouble(snapshot, str(error))
        return replace(snapshot, stats=stats, stats_at=self._calendar())

    def ask(self, name: str, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer of a topology's master; HeronError for a refusal or a missing answer."""
        master = self._get(master_path(name))
        if master is None:
            raise HeronError(
                f"{name} has no topology master at present: `heronpy stats {name}` has the reason"
            )
        connection = self._connection(name, master)
        with connection.lock:
            return connection.client.ask(command, arguments, self._answer_secs)

    def query(
        self, name: str, command: str, arguments: dict[str, Any], wait_secs: float
    ) -> dict[str, Any]:
        """Like `ask`, for slow commands: on a connection of its own meanwhile, so that other
        queries do not wait."""
        master = (self._get(master_path(name)), self._get(keys_path(name)))
        with self._query_clients.borrowed(name, master) as client:
            return client.ask(command, arguments, wait_secs)

    def _get(self, path: str) -> Any:
        """None for a node with invalid JSON; an unreachable store is an error."""
        try:
            return self._store.get(path)
        except StateStoreError as error:
            if path not in str(error):
                raise
            return None

    def _connection(self, name: str, master: Any) -> Connection:
        """The connection, renewed if the master has moved or the run has changed."""
        keys = self._get(keys_path(name))
        with self._lock:
            known = self._connections.get(name)
            if known is not None and (known.master, known.keys) == (master, keys):
                return known
            connection = Connection(master, keys, MasterClient(self._store, name, self._context))
            self._connections[name] = connection
        if known is not None:
            _close(known)
        return connection

    def forget(self, name: str) -> None:
        """The topology is gone; a query in progress finishes first."""
        with self._lock:
            known = self._connections.pop(name, None)
        if known is not None:
            _close(known)
        self._query_clients.forget(name)

    def close(self) -> None:
        """Close the sockets; no query may be in progress."""
        self._context.destroy(linger=0)


def _close(connection: Connection) -> None:
    with connection.lock:
        connection.client.close()


def _with_trouble(snapshot: TopologySnapshot, trouble: str) -> TopologySnapshot:
    return replace(snapshot, trouble="; ".join(filter(None, (snapshot.trouble, trouble))))
