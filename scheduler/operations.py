"""Requests of operations in the state store, from commands to the topology's scheduler.

Commands write requests and watch the progress. A command may die at any instant: a written request
is executed by a process of the topology (operation_runner.py).
"""

import json
import logging
import os
import socket
import time
from collections.abc import Mapping, Set
from functools import cache
from typing import Any

from heron_core.errors import HeronError, NameInUse, ProtocolError
from heron_core.operations import (
    AT,
    CHANGES,
    Operation,
    OperationKind,
    Requester,
    Way,
)
from heron_core.state_tree import operation_path, operations_path, topology_path
from heron_core.typed_json import from_json, to_json
from heron_io.processes import user_name
from heron_io.state_store.protocol import StateStore

log = logging.getLogger("operations")


ASKED_BY = "HERONPY_ASKED_BY"
"""Of a command started by a service for a client: the client, as JSON. Service and commands have
one user, so the variable does not extend the rights of a user."""
HISTORY_MAX = 20
"""Finished requests retained in the state store, for the requesting command and for operators."""


class TopologyRequests:
    """The requests of one topology."""

    def __init__(self, store: StateStore, name: str) -> None:
        self._store = store
        self._name = name

    def ask(
        self, kind: OperationKind, arguments: Mapping[str, Any], asked_by: Requester | None = None
    ) -> int:
        """Write a request and return the number of the request. HeronError if the operation cannot
        begin now. `asked_by`: the client of a service; default: the user of this process."""
        known = self.all()
        if kind in CHANGES and AT not in arguments and is_under_way(known, CHANGES):
            raise update_under_way(self._name)
        number = max(known, default=0) + 1
        asked_at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        request = Operation(kind, arguments, asked_by or requester(), asked_at)
        while not self._create(number, request):
            number += 1
        if self._store.get(topology_path(self._name)) is None:
            self._store.delete(operation_path(self._name, number))
            raise HeronError(f"{self._name} has just ended")
        return number

    def _create(self, number: int, request: Operation) -> bool:
        """False if another request has the number."""
        try:
            self._store.create(operation_path(self._name, number), to_json(request))
        except NameInUse:
            return False
        return True

    def get(self, number: int) -> Operation | None:
        """One request; None if removed, as after the end of the topology."""
        value = self._store.get(operation_path(self._name, number))
        return None if value is None else from_json(Operation, value, "a request")

    def all(self, without: Set[int] = frozenset()) -> dict[int, Operation]:
        """Number -> request, oldest first, except `without`; invalid requests are removed."""
        children = self._store.children(operations_path(self._name))
        requests: dict[int, Operation] = {}
        numbers = {int(child) for child in children if child.isdecimal()}
        for number in sorted(numbers - without):
            try:
                request = self.get(number)
            except ProtocolError as error:
                log.warning("request %d is taken away: %s", number, error)
                self._store.delete(operation_path(self._name, number))
                continue
            if request is not None:
                requests[number] = request
        return requests

    def save(self, number: int, request: Operation) -> None:
        """Write the progress of a request."""
        self._store.put(operation_path(self._name, number), to_json(request))

    def remove(self, number: int) -> None:
        """Forget a request."""
        self._store.delete(operation_path(self._name, number))

    def forget_old(self) -> None:
        """Remove all but the newest finished requests."""
        over = [number for number, each in self.all().items() if each.is_over]
        for number in over[:-HISTORY_MAX]:
            self.remove(number)

    def remove_all(self) -> None:
        """Remove the requests of an ended topology, or before a new topology of the name starts."""
        for child in self._store.children(operations_path(self._name)):
            self._store.delete(f"{operations_path(self._name)}/{child}")


def is_under_way(requests: Mapping[int, Operation], kinds: Set[OperationKind]) -> bool:
    """Whether a request of the kinds is unfinished; a scheduled request has not started."""
    return any(
        each.kind in kinds and not each.is_over and not each.waits for each in requests.values()
    )


def update_under_way(name: str) -> HeronError:
    """The refusal of a second update."""
    return HeronError(f"an update of {name} is under way: wait until it is done")


def requester(way: Way = Way.COMMAND) -> Requester:
    """The user, host and process of this command, and the client address of the ssh session; for a
    command started by a service, the client of the service (ASKED_BY)."""
    if way is Way.COMMAND and (given := _given_requester()) is not None:
        return given
    client = os.environ.get("SSH_CONNECTION", "").split()
    address = client[0] if client and way is Way.COMMAND else ""
    return Requester(user_name(), socket.gethostname(), os.getpid(), address, way)


@cache
def _given_requester() -> Requester | None:
    """From the environment, which loses the variable: children of this command ask in their own
    name."""
    given = os.environ.pop(ASKED_BY, "")
    return from_json(Requester, json.loads(given), ASKED_BY) if given else None
