"""Commands that carry out operations on a topology run by a cluster itself.

A request in the state store outlives its command, and does not show whether the command is
alive. So a command that carries out operations of a kind has an ephemeral node meanwhile: a
second command is rejected with the name of the first, and a request without a node belongs to an
ended command.
"""

import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from heron_core.errors import HeronError, NameInUse, ProtocolError, StateStoreError
from heron_core.operations import OperationKind, Requester
from heron_core.state_tree import carrier_path
from heron_core.typed_json import from_json, to_json
from heron_engine.scheduler.operations import requester
from heron_io.polling import wait_until
from heron_io.processes import started_at
from heron_io.state_store.protocol import StateStore

DEAD_SECS = 15.0
"""How long the node of a command that was killed may stand: as long as its session, which is 5 s
unless the server's least is longer."""


class Carrier(Struct, frozen=True):
    """A command executing an operation."""

    user: str
    host: str
    pid: int
    since: str
    """Local time with offset, for people."""
    token: str = ""
    """Unique per command: processes of two hosts with equal names may have equal pids."""
    started: str = ""
    """Start time of the process, as reported by its machine."""

    @property
    def is_dead(self) -> bool:
        """Whether the process has ended, as far as visible locally."""
        is_here = self.host == socket.gethostname()
        return is_here and bool(self.started) and started_at(self.pid) != self.started

    def __str__(self) -> str:
        return f"{Requester(self.user, self.host, self.pid)}, since {self.since}"


class CarrierClaim:
    """Lock of a command on operations of a kind."""

    def __init__(self, store: StateStore, name: str, kind: OperationKind) -> None:
        self._store, self._name, self._kind = store, name, kind
        self._path = carrier_path(name, kind)
        asked = requester()
        since = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        token, started = secrets.token_hex(8), started_at(asked.pid) or ""
        carrier = Carrier(asked.user, asked.host, asked.pid, since, token, started)
        self._node: Any = to_json(carrier)

    def begin(self, dead_secs: float = DEAD_SECS) -> None:
        """As `keep`; the node of a command that was killed is waited for until it goes."""
        wait_until(lambda: not _is_of_dead(self._store, self._name, self._kind), dead_secs)
        self.keep()

    def keep(self) -> None:
        """It is held, from now on or still: a session that was lost has taken the node along.
        HeronError if another command carries out an operation of this kind."""
        if self._store.get(self._path) == self._node:
            return
        try:
            self._store.create(self._path, self._node, ephemeral=True)
        except NameInUse:
            raise carried(self._store, self._name, self._kind) from None

    def end(self) -> None:
        """Release the lock. A node that cannot be removed disappears with the process."""
        with suppress(StateStoreError):
            if self._store.get(self._path) == self._node:
                self._store.delete(self._path)


@contextmanager
def claiming(store: StateStore, name: str, kind: OperationKind) -> Iterator[CarrierClaim]:
    """Take the lock on operations of a kind; HeronError if another command has the lock."""
    claim = CarrierClaim(store, name, kind)
    claim.begin()
    try:
        yield claim
    finally:
        claim.end()


def carrier_of(store: StateStore, name: str, kind: OperationKind) -> Carrier | None:
    """The live command that carries out an operation, or None."""
    carrier = _stored(store, name, kind)
    return None if carrier is None or carrier.is_dead else carrier


def _stored(store: StateStore, name: str, kind: OperationKind) -> Carrier | None:
    value = store.get(carrier_path(name, kind))
    return None if value is None else from_json(Carrier, value, "a command")


def _is_of_dead(store: StateStore, name: str, kind: OperationKind) -> bool:
    try:
        carrier = _stored(store, name, kind)
    except ProtocolError:
        return False  # the error names the remedy
    return carrier is not None and carrier.is_dead


def carried(store: StateStore, name: str, kind: OperationKind) -> HeronError:
    """Refusal of a second command, with the name of the first."""
    article = "an" if kind is OperationKind.UPDATE else "a"
    try:
        carrier = _stored(store, name, kind)
    except ProtocolError as error:
        return HeronError(f"{error}: delete {carrier_path(name, kind)}")
    who = "its command has just ended" if carrier is None else str(carrier)
    then = "" if kind is OperationKind.RESTART else f", and the next {kind} resumes the request"
    return HeronError(
        f"{article} {kind} of {name} is under way ({who}): wait for its end, or stop its "
        f"command{then}"
    )
