"""Connections to topology masters for questions that take long, each used by one thread at a time.

A question takes an idle connection to the present master, or opens another, and leaves its
connection to the next question. The service bounds the questions at once, and so the connections
in use.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import zmq

from heron_core.errors import HeronError
from heron_io.master_client import MasterClient
from heron_io.state_store.protocol import StateStore

QUERIES_AT_ONCE = 16
"""Questions that the service answers at a time, and idle connections to all masters: each question
holds a thread of the service, and a master takes 64 of all clients. The oldest connection is closed
for a newer one."""

MasterIdentity = tuple[Any, Any]
"""(node of the master, node of the topology's keys): another value is another master or run."""


@dataclass(frozen=True, slots=True)
class _Idle:
    name: str
    master: MasterIdentity
    client: MasterClient


class QueryClients:
    """The idle connections of one service."""

    def __init__(self, store: StateStore, context: "zmq.Context[zmq.Socket[bytes]]") -> None:
        self._store = store
        self._context = context
        self._idle: list[_Idle] = []
        """The newest last."""
        self._lock = threading.Lock()

    @contextmanager
    def borrowed(self, name: str, master: MasterIdentity) -> Iterator[MasterClient]:
        """A connection to a topology's master, kept for later unless the block raises something
        else than a HeronError (a refusal, or NoAnswer, with which a client reconnects)."""
        client = self._taken(name, master) or MasterClient(self._store, name, self._context)
        try:
            yield client
        except HeronError:
            self._put_back(_Idle(name, master, client))
            raise
        except BaseException:
            client.close()
            raise
        self._put_back(_Idle(name, master, client))

    @property
    def idle(self) -> list[str]:
        """Topology of each idle connection, the newest last."""
        with self._lock:
            return [each.name for each in self._idle]

    def forget(self, name: str) -> None:
        """The topology is gone: close its idle connections."""
        with self._lock:
            gone = [each for each in self._idle if each.name == name]
            self._idle = [each for each in self._idle if each.name != name]
        _close(gone)

    def _taken(self, name: str, master: MasterIdentity) -> MasterClient | None:
        """The newest idle connection; those to an earlier master are closed."""
        with self._lock:
            of_topology = [each for each in self._idle if each.name == name]
            stale = [each for each in of_topology if each.master != master]
            taken = next((each for each in reversed(of_topology) if each not in stale), None)
            self._idle = [each for each in self._idle if each is not taken and each not in stale]
        _close(stale)
        return None if taken is None else taken.client

    def _put_back(self, idle: _Idle) -> None:
        with self._lock:
            self._idle.append(idle)
            surplus, self._idle = self._idle[:-QUERIES_AT_ONCE], self._idle[-QUERIES_AT_ONCE:]
        _close(surplus)


def _close(idle: list[_Idle]) -> None:
    for each in idle:
        each.client.close()
