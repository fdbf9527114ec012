"""What can happen to the topology master, and what it can decide to do (core.py joins them)."""

from dataclasses import dataclass, field
from typing import Any

from heron_core.wire.messages import Command, FromStreamManager, Reply, ToStreamManager


@dataclass(frozen=True, slots=True)
class Received:
    """A message of the connection `sender` (opaque bytes of the transport)."""

    sender: bytes
    message: FromStreamManager | Command


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes came that are no message; `reason` says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Timer:
    """Time has passed; comes many times a second."""


Event = Received | Malformed | Timer


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a connection."""

    receiver: bytes
    message: ToStreamManager | Reply


@dataclass(frozen=True, slots=True)
class StorePlan:
    """Write the physical plan to the state store."""

    plan: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StorePacking:
    """Write the packing plan that is to be to the state store, and have the
    containers adapted to it."""

    packing: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoreState:
    """Write the topology's execution state to the state store."""

    state: str
    reason: str
    draining: bool = False
    update: dict[str, Any] = field(default_factory=dict)
    """What a master that takes over has to know of an update (rescale.py)."""


@dataclass(frozen=True, slots=True)
class Log:
    """One line for the log."""

    text: str


Instruction = Send | StorePlan | StorePacking | StoreState | Log
