"""Where a detached run answers the command line, in place of a topology master.

A thread with a socket of its own that only who has the topology's key may talk to. `heronpy stats`,
`activate`, `deactivate` and `kill` find it in the state store as they find a topology master.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import zmq

from heron_core.errors import ProtocolError, StateStoreError
from heron_core.plans import PackingPlan, TopologyState, initial_state
from heron_core.state_tree import execution_path, master_path
from heron_core.stats import QueryStats
from heron_core.topology import TopologySpec
from heron_core.wire import messages
from heron_io.processes import started_at
from heron_io.security import CurveAuthenticator, Keys
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_io.transport import drain, tcp_router
from heron_spark.metrics import QueryMetrics
from heron_spark.progress import Progress

if TYPE_CHECKING:
    from heron_spark.query import Query

log = logging.getLogger("heron_spark")

HWM = 64
"""Commands that wait: people ask them."""
COMMAND_BYTES_MAX = 64 * 1024
DRAIN_MESSAGES = 64
LOOK_MS = 100
NOT_HERE = {
    "update": "a query of Spark keeps its parallelism, for its checkpoint has each task's state: "
    "submit the topology again with other numbers and another --checkpoint"
}
"""Commands of a topology master that mean nothing for a query, and why."""


@dataclass(frozen=True, slots=True)
class DeskPlace:
    """Where a desk is, and who may come."""

    store_url: str
    keys: Keys
    bind_host: str = "127.0.0.1"


class Desk:
    """What may be asked of one run."""

    def __init__(self, topology: TopologySpec, packing: PackingPlan, store: StateStore) -> None:
        self._name = topology.name
        self._store = store
        self._metrics = QueryMetrics(topology, packing)
        self._lock = threading.Lock()
        """Of the metrics, which another thread adds to."""
        self._query: Query | None = None
        self._draining = False
        self.state = self._first_state(topology)
        self._commands: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "stats": self._stats,
            "activate": lambda _: self._set_state(TopologyState.RUNNING),
            "deactivate": lambda _: self._set_state(TopologyState.PAUSED),
            "drain": self._drain,
        }

    def _first_state(self, topology: TopologySpec) -> str:
        """As a driver before us left it; else as the topology wants it."""
        known = self._store.get(execution_path(self._name)) or {}
        if self._store.get(master_path(self._name)) is not None:
            return str(known.get("state", TopologyState.RUNNING))
        state = initial_state(topology.config)
        self._store.put(execution_path(self._name), {**known, "state": state})
        return state

    @property
    def _paused(self) -> bool:
        return self._draining or self.state == TopologyState.PAUSED

    def attend(self, query: "Query") -> None:
        """Commands are for this query, which has started."""
        self._query = query
        query.pause(self._paused)

    def add(self, progress: Progress) -> None:
        """A batch is done."""
        with self._lock:
            self._metrics.record_batch(progress, time.monotonic())

    def answer(self, command: messages.Command) -> messages.Reply:
        """What a command comes to."""
        run = self._commands.get(command.name)
        if command.name in NOT_HERE:
            return messages.Reply(False, {"error": NOT_HERE[command.name]})
        if run is None:
            known = ", ".join(sorted(self._commands))
            return messages.Reply(False, {"error": f"no command {command.name!r} ({known})"})
        return messages.Reply(True, run(command.arguments))

    def stats(self, component: str | None, now: float) -> QueryStats:
        """All numbers; those of one component's instances too if it is given."""
        query = self._query
        with self._lock:
            stats = self._metrics.stats(component, now)
        return replace(
            stats,
            state=self.state,
            drained=query is None or query.drained,
            # Nothing runs before the first batch, and a paused query has none.
            ready=stats.ready or (query is not None and self._paused),
        )

    def _stats(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        component = arguments.get("component")
        wanted = component if isinstance(component, str) else None
        return self.stats(wanted, time.monotonic()).to_json()

    def _set_state(self, state: str) -> dict[str, Any]:
        changed = state != self.state
        self.state = state
        if changed:
            self._tell_query()
            try:
                path = execution_path(self._name)
                self._store.put(path, {**(self._store.get(path) or {}), "state": state})
            except StateStoreError as error:
                log.warning("the state is not written: %s", error)
        return {"state": state, "changed": changed}

    def _drain(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """No further batch, whatever comes: the end follows."""
        self._draining = True
        self._tell_query()
        return {"state": self.state}

    def _tell_query(self) -> None:
        if self._query is not None:
            self._query.pause(self._paused)


@contextmanager
def opened(topology: TopologySpec, packing: PackingPlan, place: DeskPlace) -> Iterator[Desk]:
    """A desk that answers while the block runs."""
    store = open_store(place.store_url)
    over = threading.Event()
    desk = Desk(topology, packing, store)
    server = threading.Thread(target=_serve, args=(desk, store, topology.name, place, over))
    server.start()
    try:
        yield desk
    finally:
        over.set()
        server.join()
        store.close()


def _serve(
    desk: Desk, store: StateStore, name: str, place: DeskPlace, over: threading.Event
) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    door = CurveAuthenticator(context, place.keys)
    router, address = tcp_router(context, place.bind_host, HWM, COMMAND_BYTES_MAX, door)
    poller = zmq.Poller()
    for each in (router, *door.sockets):
        poller.register(each, zmq.POLLIN)
    store.put(master_path(name), {**_me(), "address": address})
    log.info("commands are answered at %s", address)
    while not over.is_set():
        ready = dict(poller.poll(LOOK_MS))
        door.serve(ready, time.monotonic())
        if router in ready:
            for message in drain(router, DRAIN_MESSAGES):
                _reply(desk, router, message)
    context.destroy(linger=100)


def _reply(desk: Desk, router: "zmq.Socket[bytes]", message: list[bytes]) -> None:
    try:
        command = messages.decode(message[1])
        if not isinstance(command, messages.Command):
            raise ProtocolError(f"a {type(command).__name__} where a command is expected")
    except (ProtocolError, IndexError) as error:
        log.warning("a malformed message: %s", error)
        return
    router.send_multipart([message[0], messages.encode(desk.answer(command))])


def _me() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": started_at(os.getpid()),
    }
