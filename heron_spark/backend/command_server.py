"""Answers the command line about a detached run, in place of a topology master.

A thread with a socket, for clients with the topology's key. `heronpy stats`, `activate`,
`deactivate` and `kill` find the address in the state store, at the node of a topology master.
"""

import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import zmq

from heron_core.errors import ProtocolError, StateStoreError
from heron_core.operations import Requester
from heron_core.plans import PackingPlan, TopologyState, initial_state
from heron_core.records import replace
from heron_core.state_tree import execution_path, master_path
from heron_core.stats import QueryStats
from heron_core.topology import TopologySpec
from heron_core.topology_events import (
    ACTED,
    EVENTS_MAX,
    TEXT_CHARACTERS_MAX,
    EventKind,
    TopologyEvent,
    event_text,
)
from heron_core.typed_json import from_json
from heron_core.wire import message_codec, messages
from heron_io.processes import started_at
from heron_io.security import Keys
from heron_io.server_loop import ServerLoop
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_spark.backend.metrics import QueryMetrics
from heron_spark.driver.progress import Progress

if TYPE_CHECKING:
    from heron_spark.driver.query import Query

log = logging.getLogger("heron_spark")

HWM = 64
"""Maximum of waiting commands: users send few."""
COMMAND_BYTES_MAX = 64 * 1024
DRAIN_MESSAGES = 64
POLL_SECS = 0.1
"""At most so long after the end of the run it answers."""
LINGER_MS = 100
"""Time to send the remaining answers at the end."""
UNSUPPORTED = {
    "update": (
        "a Spark query keeps its parallelism, because its checkpoint has the state of each "
        "task: submit the topology again with the new numbers and another --checkpoint"
    )
}
"""Commands of a topology master without a meaning for a query, with the reason."""


@dataclass(frozen=True, slots=True)
class CommandServerArguments:
    """Where a command server is, and whose commands it takes."""

    store_url: str
    keys: Keys
    bind_host: str = "127.0.0.1"


class CommandServer:
    """Answers commands about one run."""

    def __init__(self, topology: TopologySpec, packing: PackingPlan, store: StateStore) -> None:
        self._name = topology.name
        self._store = store
        self._metrics = QueryMetrics(topology, packing)
        self._lock = threading.Lock()
        """Of the metrics, which another thread adds to."""
        self._query: Query | None = None
        self._actions: deque[TopologyEvent] = deque(maxlen=EVENTS_MAX)
        self._draining = False
        self.state = self._first_state(topology)
        self._commands: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "stats": self._stats,
            "activate": lambda _: self._set_state(TopologyState.RUNNING),
            "deactivate": lambda _: self._set_state(TopologyState.PAUSED),
            "drain": self._drain,
            ACTED: self._acted,
        }

    def _first_state(self, topology: TopologySpec) -> str:
        """State left by a previous driver, or the topology's initial state."""
        known = self._store.get(execution_path(self._name)) or {}
        if self._store.get(master_path(self._name)) is not None:
            return str(known.get("state", TopologyState.RUNNING))
        state = initial_state(topology.config)
        self._store.put(execution_path(self._name), {**known, "state": state})
        return state

    @property
    def _paused(self) -> bool:
        return self._draining or self.state == TopologyState.PAUSED

    def attach(self, query: "Query") -> None:
        """Direct commands to a query that has started."""
        self._query = query
        query.pause(self._paused)

    def record_batch(self, progress: Progress) -> None:
        """A batch is done."""
        with self._lock:
            self._metrics.record_batch(progress, time.monotonic())

    def answer(self, command: messages.Command) -> messages.Reply:
        """What a command comes to."""
        run = self._commands.get(command.name)
        if command.name in UNSUPPORTED:
            return messages.Reply(False, {"error": UNSUPPORTED[command.name]})
        if run is None:
            known = ", ".join(sorted(self._commands))
            return messages.Reply(False, {"error": f"no command {command.name!r} ({known})"})
        try:
            return messages.Reply(True, run(command.arguments))
        except ProtocolError as error:
            return messages.Reply(False, {"error": str(error)})

    def stats(self, component: str | None, now: float) -> QueryStats:
        """Numbers of all components, including the instances of `component` if given."""
        query = self._query
        with self._lock:
            stats = self._metrics.stats(component, now)
        return replace(
            stats,
            state=self.state,
            events=tuple(self._actions),
            drained=query is None or query.drained,
            # Before the first batch the counters are empty, and a paused query has no batch.
            ready=stats.ready or (query is not None and self._paused),
        )

    def _stats(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        component = arguments.get("component")
        wanted = component if isinstance(component, str) else None
        return self.stats(wanted, time.monotonic()).to_json()

    def _acted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """An event of a user's request; ProtocolError for an invalid `requester`."""
        requester = from_json(Requester, arguments.get("requester"), "a requester")
        what, why = str(arguments.get("what", "")), f"asked by {requester}"
        event = TopologyEvent(
            at=time.time(), kind=EventKind.ACTION, what=what[:TEXT_CHARACTERS_MAX],
            why=why[:TEXT_CHARACTERS_MAX], requester=requester,
        )  # fmt: skip
        self._actions.append(event)
        log.info("%s", event_text(event))
        return {}

    def _set_state(self, state: str) -> dict[str, Any]:
        changed = state != self.state
        self.state = state
        if changed:
            self._pause_query()
            try:
                path = execution_path(self._name)
                self._store.put(path, {**(self._store.get(path) or {}), "state": state})
            except StateStoreError as error:
                log.warning("the state is not written: %s", error)
        return {"state": state, "changed": changed}

    def _drain(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """No further batch, whatever comes: the end follows."""
        self._draining = True
        self._pause_query()
        return {"state": self.state}

    def _pause_query(self) -> None:
        if self._query is not None:
            self._query.pause(self._paused)


@contextmanager
def serving(
    topology: TopologySpec, packing: PackingPlan, arguments: CommandServerArguments
) -> Iterator[CommandServer]:
    """A command server that answers while the block runs."""
    store = open_store(arguments.store_url)
    server = CommandServer(topology, packing, store)
    loop = ServerLoop(arguments.keys, None, POLL_SECS)
    router, address = loop.tcp_router(arguments.bind_host, HWM, COMMAND_BYTES_MAX)

    def serve() -> None:
        store.put(master_path(topology.name), {**_me(), "address": address})
        log.info("commands are answered at %s", address)
        while loop.end is None:
            ready = loop.poll(POLL_SECS)
            for message in loop.received(router, ready, DRAIN_MESSAGES):
                _reply(server, router, message)
        loop.close(LINGER_MS)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server
    finally:
        loop.stop("the run is over")
        thread.join()
        store.close()


def _reply(server: CommandServer, router: "zmq.Socket[bytes]", message: list[bytes]) -> None:
    try:
        command = message_codec.decode(b"".join(message[1:2]))
        if not isinstance(command, messages.Command):
            raise ProtocolError(f"a {type(command).__name__} where a command is expected")
    except ProtocolError as error:
        log.warning("a malformed message: %s", error)
        return
    router.send_multipart([message[0], message_codec.encode(server.answer(command))])


def _me() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": started_at(os.getpid()),
    }
