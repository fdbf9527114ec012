"""Questions about one key of a state, without the topology master.

The topology master tells once the tasks of a component and the fields that divide its keys. A
question goes to the instance itself if that is on this machine, else to its stream manager. Only
answers come this way. A question without an answer (another plan, an absent instance, an error, no
answer in time) is for the master, which waits, and has the text of the error. The route is then
forgotten, and the next question asks the master for the route again.
"""

import socket
import time
from typing import Any

import zmq
from msgspec import Struct

from heron_core.errors import HeronError, ProtocolError
from heron_core.state.current_key import CurrentKey
from heron_core.state.keys import owner
from heron_core.typed_values import typed_text, value_in
from heron_core.wire import message_codec
from heron_core.wire.messages import QueryOutcome, StateAnswered, StateQuestion
from heron_io.local_questions import QuestionConnection, questions_path
from heron_io.master_client import MasterClient

COMMAND = "query_route"
WAIT_SECS = 1.0
"""Longest wait for an answer: the instance may be amid a long call, or absent. The master then
waits for the rest of the time, and names the instance."""
RETRY_SECS = 10.0
"""Time until the next request for a route that the master has refused: keys may be at any task of
the component, or an older master does not have the command."""
NAMES_MAX = 1000
"""Routes in memory; a client asks for a handful of states. All are forgotten at more."""
KEY_CHARACTERS_MAX = 64 * 1024
"""As topology_master.queries has it."""

Row = tuple[int, str, str]
"""(task, instance, JSON of key and value)"""


class QueryRoute(Struct, frozen=True):
    """Where the keys of a state are."""

    component: str
    state: str
    fields: tuple[str, ...]
    epoch: int
    tasks: tuple[tuple[int, str, str], ...]
    """(task, instance, address of its stream manager; empty: not registered)"""
    sockets: tuple[tuple[str, str], ...] = ()
    """(host, path of the Unix socket) of the stream manager of each of `tasks`; empty if the master
    is of a version that does not tell."""


class DirectQueries:
    """For one topology, and one thread at a time."""

    def __init__(self, master: MasterClient) -> None:
        self._master = master
        self._routes: dict[str, QueryRoute] = {}
        self._refused_until: dict[str, float] = {}
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        self._beside: dict[str, QuestionConnection] = {}
        """Path -> connection to an instance of this machine."""
        self._host = socket.gethostname()
        self._number = 0

    def ask(self, name: str, key: str, map_key: str, secs: float) -> list[Row] | None:
        """The entry for a key of COMPONENT.STATE, if present; None: ask the master. `key` and
        `map_key` are JSON (heron_core/typed_values.py)."""
        deadline = time.monotonic() + min(secs, WAIT_SECS)
        try:
            route = self._route(name)
            if route is None or not route.tasks or len(key) > KEY_CHARACTERS_MAX:
                return None
            given = CurrentKey(route.component, route.fields).given(value_in(key))
            at = owner(given, len(route.tasks))
            task, instance, address = route.tasks[at]
            self._number += 1
            wait_ms = max(1, int((deadline - time.monotonic()) * 1000))
            question = StateQuestion(
                self._number, route.epoch, task, route.state, typed_text(given), map_key, wait_ms
            )
            connection = self._connection_to(task, route, at)
            if connection is not None:
                answer = connection.ask(question, deadline)
            else:
                answer = self._exchange(address, question, deadline) if address else None
        except (HeronError, OSError, ValueError, RecursionError):  # the master has the text
            answer = None
        if answer is None or answer.outcome is not QueryOutcome.ANSWERED:
            self._routes.pop(name, None)
            self._close_connections()
            return None
        return [(answer.task, instance, text) for _, text in answer.entries]

    def _connection_to(self, task: int, route: QueryRoute, at: int) -> QuestionConnection | None:
        """To the instance itself; None if that is on another machine, or does not listen."""
        host, path = route.sockets[at] if at < len(route.sockets) else ("", "")
        if not path or host != self._host:
            return None
        path = questions_path(path, task)
        if path not in self._beside:
            try:
                self._beside[path] = QuestionConnection(path, task)
            except OSError:  # of a container with files of its own, or of an older version
                return None
        return self._beside[path]

    def _close_connections(self) -> None:
        """An answer may still come by one of them, and plans change."""
        while self._beside:
            self._beside.popitem()[1].close()

    def _route(self, name: str) -> QueryRoute | None:
        """The newest route of the master; None after a refusal, HeronError without a master."""
        route = self._routes.get(name)
        if route is not None or time.monotonic() < self._refused_until.get(name, 0.0):
            return route
        if len(self._refused_until) + len(self._routes) >= NAMES_MAX:
            self._routes.clear()
            self._refused_until.clear()
        try:
            route = _query_route_in(self._master.ask(COMMAND, {"name": name}))
        except HeronError:
            self._refused_until[name] = time.monotonic() + RETRY_SECS
            raise
        self._routes[name] = route
        return route

    def _exchange(
        self, address: str, question: StateQuestion, deadline: float
    ) -> StateAnswered | None:
        """None without an answer in time: the connection is closed, with its late answer."""
        dealer = self._sockets.get(address)
        if dealer is None:
            dealer = self._sockets[address] = self._master.connected_to(address)
        dealer.send_multipart((b"", message_codec.encode(question)))
        while dealer.poll(max(0, int((deadline - time.monotonic()) * 1000))):
            answer = message_codec.decode(dealer.recv_multipart()[-1])
            if isinstance(answer, StateAnswered) and answer.query == question.query:
                return answer
        self._sockets.pop(address).close(linger=0)
        return None

    def close(self) -> None:
        """Let the connections go."""
        self._close_connections()
        for dealer in self._sockets.values():
            dealer.close(linger=0)
        self._sockets.clear()


def _query_route_in(data: dict[str, Any]) -> QueryRoute:
    """The master's answer as a route; ProtocolError for another answer."""
    try:
        tasks = tuple((int(task), str(name), str(at)) for task, name, at in data["tasks"])
        fields = tuple(map(str, data["fields"]))
        sockets = tuple((str(host), str(path)) for host, path in data.get("sockets", ()))
        return QueryRoute(
            str(data["component"]), str(data["state"]), fields, data["epoch"], tasks, sockets
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"not the route of a query: {error!r:.100}") from None
