"""Frames of the bridge: four bytes of length, then a list in msgpack whose first item is the kind.

    client ─ CHALLENGE(nonce) ─► end          end ─ HELLO(proof, nonce, EndHello) ─► client
    client ─ WELCOME(proof, client) ─► end    from here on, both know the token

    end of a source ─ DEMAND(n) ─► client     n more items may be sent
    client ─ ITEMS([[number, bytes], …]) ─► end
    end of a source ─ ACKED([number, …]), ABANDONED([number, …]) ─► client
    client ─ ENDED ─► end                     all items are acked, none will follow

    end of a sink ─ ROWS([[number, bytes], …]) ─► client
    client ─ TAKEN([number, …]) ─► end        the client's generator has asked for the next row
    end of a sink ─ ENDED ─► client           the task has finished

A connection with a frame of another form, or too long, is closed by the receiver.
"""

import asyncio
import hmac
from contextlib import suppress
from enum import IntEnum
from typing import Any

import msgpack
from msgspec import Struct, ValidationError, convert

from heron_core.errors import ProtocolError

FRAME_BYTES_MAX = 64 * 1024 * 1024
"""Limit of a frame, and so of one element: the engine's own messages have a limit of this order."""
GREETING_BYTES_MAX = 4096
"""Limit of a frame of a peer that has not shown the token."""
BATCH_BYTES_MAX = 1 << 20
"""Elements of one frame; a single element may be larger."""
LENGTH_BYTES = 4
NONCE_BYTES = 16


class BridgeFrame(IntEnum):
    """The first item of a frame."""

    CHALLENGE = 0
    HELLO = 1
    WELCOME = 2
    DEMAND = 3
    ITEMS = 4
    ACKED = 5
    ABANDONED = 6
    ENDED = 7
    ROWS = 8
    TAKEN = 9


class EndHello(Struct, frozen=True):
    """One end of a topology: an instance of a source or of a sink."""

    end: str
    """Name of the source or sink in the graph."""
    is_source: bool
    task: int
    tasks: int
    """Number of the component's tasks."""
    incarnation: str
    """One life of the instance's component: its numbers begin anew with another."""


Part = tuple[int, bytes]
"""Number and packed element."""


def frame(kind: BridgeFrame, *fields: Any) -> bytes:
    """A frame with its length in front."""
    body: bytes = msgpack.packb([int(kind), *fields])
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


async def read_frame(reader: asyncio.StreamReader, limit: int) -> tuple[BridgeFrame, list[Any]]:
    """The next frame; ProtocolError for another form, EOFError or OSError at the end."""
    try:
        length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
        if length > limit:
            raise ProtocolError(f"a frame of {length} bytes, more than {limit}")
        fields = msgpack.unpackb(await reader.readexactly(length))
        return BridgeFrame(fields[0]), fields[1:]
    except asyncio.IncompleteReadError as error:
        raise EOFError("the connection has ended") from error
    except (ValueError, TypeError, LookupError) as error:
        raise ProtocolError(f"not a frame of the bridge: {error}") from None


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection, whether its other side is still there or not."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def field(fields: list[Any], index: int, kind: Any) -> Any:
    """A field of a frame, checked; ProtocolError for another type."""
    try:
        return convert(fields[index], kind)
    except (IndexError, ValidationError) as error:
        raise ProtocolError(f"field {index} of a frame: {error}") from None


def proof(token: bytes, speaker: str, nonce: bytes) -> bytes:
    """Shows that a side has the token, for a nonce that the other side has drawn."""
    return hmac.digest(token, speaker.encode() + nonce, "sha256")


def is_proof(given: bytes, token: bytes, speaker: str, nonce: bytes) -> bool:
    """Whether the proof is right, compared in constant time."""
    return hmac.compare_digest(given, proof(token, speaker, nonce))


def batches(parts: list[Part]) -> list[list[Part]]:
    """The parts in lists of at most BATCH_BYTES_MAX, in order."""
    lists: list[list[Part]] = []
    size = BATCH_BYTES_MAX
    for part in parts:
        if size + len(part[1]) > BATCH_BYTES_MAX:
            lists.append([])
            size = 0
        lists[-1].append(part)
        size += len(part[1])
    return lists
