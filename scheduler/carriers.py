"""Which command carries out an operation on a topology that a cluster runs by itself.

A request in the state store outlives its command, and says nothing of whether the command lives.
So a command that carries out operations of a kind holds an ephemeral node meanwhile: a second one
is refused and names the first, and a request without such a node is of a command that has ended.
"""

import secrets
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
from heron_io.state_store.protocol import StateStore


class Carrier(Struct, frozen=True):
    """A command that carries out an operation."""

    user: str
    host: str
    pid: int
    since: str
    """Local time with its offset, for people."""
    token: str = ""
    """Different for each command: processes of two hosts of one name may have one number."""

    def __str__(self) -> str:
        return f"{Requester(self.user, self.host, self.pid)}, since {self.since}"


class CarrierHold:
    """What a command holds while it carries out operations of a kind."""

    def __init__(self, store: StateStore, name: str, kind: OperationKind) -> None:
        self._store, self._name, self._kind = store, name, kind
        self._path = carrier_path(name, kind)
        asked = requester()
        since = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        carrier = Carrier(asked.user, asked.host, asked.pid, since, secrets.token_hex(8))
        self._node: Any = to_json(carrier)

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
        """The next command may begin. A node that cannot be removed goes with this process."""
        with suppress(StateStoreError):
            if self._store.get(self._path) == self._node:
                self._store.delete(self._path)


@contextmanager
def holding(store: StateStore, name: str, kind: OperationKind) -> Iterator[CarrierHold]:
    """This command carries out operations of a kind; HeronError if another one does."""
    hold = CarrierHold(store, name, kind)
    hold.keep()
    try:
        yield hold
    finally:
        hold.end()


def carrier_of(store: StateStore, name: str, kind: OperationKind) -> Carrier | None:
    """The command that carries out an operation now; None if there is none."""
    value = store.get(carrier_path(name, kind))
    return None if value is None else from_json(Carrier, value, "a command")


def carried(store: StateStore, name: str, kind: OperationKind) -> HeronError:
    """The refusal of a second command, which names the first."""
    article = "an" if kind is OperationKind.UPDATE else "a"
    try:
        carrier = carrier_of(store, name, kind)
    except ProtocolError as error:
        return HeronError(f"{error}: delete {carrier_path(name, kind)}")
    who = "its command has just ended" if carrier is None else str(carrier)
    return HeronError(
        f"{article} {kind} of {name} is under way ({who}): wait until it is done, or end its "
        f"command, and the next {kind} takes it up"
    )
