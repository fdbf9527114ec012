"""One end of a numbered link: messages lost with a broken connection are repeated, in order.

A connection between two living processes may break at any time, and loses the messages under way in
both directions. So each message has a number, from 1 on, and is kept until acknowledged by the
other end. Each packet has the highest consecutive number received by its sender (`received`), so
acknowledgements ride along with packets of the other direction.

    a packet with                          is
    the next number                        delivered
    a number received before               dropped: a repetition, or a second arrival
    a later number                         dropped, and all missing messages are requested
    no message, and a later number         a report of the last number sent: missing messages are
                                           requested
    `resend`                               a request to repeat every message that the sender has not
                                           received

Regular messages (heartbeats, and their answers) bring numbers both ways, so a loss is found within
their interval; an end that sees a new connection reports and asks at once. There are no timers.

A `session` is one numbering of both directions. An end without memory of its session answers with
`received` 0; an end with a higher acknowledged number starts another session (`is_broken`).
"""

import struct
from collections import deque
from typing import Generic, TypeVar

from msgspec import Struct

from heron_core.errors import ProtocolError

T = TypeVar("T")

KEPT_MAX = 10_000
"""Most messages without an acknowledgement. A stream manager and its master exchange a few a
second: a full buffer means an hour without a connection.
"""
ASK_AGAIN_SECS = 0.5
"""Time between two equal requests: the first may have been lost as well."""

_MESSAGE, _RESEND, _KNOWN_FLAGS = 1, 2, 3
_HEADER = struct.Struct("<BQQQQ")


class PacketHeader(Struct, frozen=True):
    """The numbers beside a message, or alone."""

    incarnation: int
    """Incarnation of the link's process, which has one link with the other end."""
    session: int
    """Number of the session, counted by that process."""
    number: int
    """Number of the message; without a numbered message, the number of the last one sent."""
    received: int
    """The sender has all messages up to this number."""
    is_numbered: bool = False
    resend: bool = False
    """Whether all messages behind `received` are to be sent again."""

    def encode(self) -> bytes:
        """As a frame."""
        flags = _MESSAGE * self.is_numbered | _RESEND * self.resend
        return _HEADER.pack(flags, self.incarnation, self.session, self.number, self.received)


def decode_header(data: bytes) -> PacketHeader:
    """A frame as a header; ProtocolError if the frame is no header."""
    try:
        flags, incarnation, session, number, received = _HEADER.unpack(data)
    except struct.error as error:
        raise ProtocolError(f"not the header of a numbered message: {error}") from error
    if flags & ~_KNOWN_FLAGS:
        raise ProtocolError(f"not the header of a numbered message: flags {flags}")
    is_numbered, resend = bool(flags & _MESSAGE), bool(flags & _RESEND)
    return PacketHeader(incarnation, session, number, received, is_numbered, resend)


class Packet(Struct, Generic[T], frozen=True):
    """The unit that passes over a connection."""

    header: PacketHeader
    message: T | None = None


class TakenPacket(Struct, Generic[T], frozen=True):
    """The consequences of an arrived packet."""

    message: T | None
    """Message to be handled; None for a control packet, or out of turn."""
    answers: list[Packet[T]]
    """To be sent back."""


class NumberedLink(Generic[T]):
    """One end, in one session."""

    def __init__(self, incarnation: int, session: int) -> None:
        """`incarnation` is the incarnation of the end that counts the sessions."""
        self.incarnation = incarnation
        self.session = session
        self.is_broken = False
        """Whether the other end has lost its acknowledgements: only another session helps."""
        self.duplicates = 0
        self.resent = 0
        self._sent = 0
        self._acknowledged = 0
        self._kept: deque[Packet[T]] = deque()
        self._received = 0
        self._asked: tuple[int, float] | None = None
        """Number `received` and time of the last request to send again."""

    @property
    def unacknowledged(self) -> int:
        """How many messages are kept."""
        return len(self._kept)

    @property
    def is_full(self) -> bool:
        """Whether no further message can be kept: the session is to be closed."""
        return len(self._kept) >= KEPT_MAX

    @property
    def next_number(self) -> int:
        """Number of the message that is sent next."""
        return self._sent + 1

    def is_kept(self, number: int) -> bool:
        """Whether the message with this number was sent and is not acknowledged."""
        return self._acknowledged < number <= self._sent

    def send(self, message: T) -> Packet[T]:
        """A packet for a message, kept until acknowledged."""
        self._sent += 1
        packet = Packet(self._header(self._sent, True), message)
        self._kept.append(packet)
        return packet

    def report(self, message: T | None = None, *, resend: bool = False) -> Packet[T]:
        """Report of the numbers sent and received so far, perhaps with a message that may be
        lost."""
        return Packet(self._header(self._sent, False, resend), message)

    def take(self, packet: Packet[T], now: float) -> TakenPacket[T]:
        """Process an arrived packet of this session; `now` in seconds of any monotonic clock."""
        header = packet.header
        self._acknowledge(header.received)
        answers = self._again() if header.resend else []
        if not header.is_numbered:
            if header.number > self._received:
                answers += self._ask(now)
            return TakenPacket(packet.message, answers)
        if header.number == self._received + 1:
            self._received += 1
            return TakenPacket(packet.message, answers)
        if header.number <= self._received:
            self.duplicates += 1
            return TakenPacket(None, answers)
        return TakenPacket(None, answers + self._ask(now))

    def _header(self, number: int, is_numbered: bool, resend: bool = False) -> PacketHeader:
        own, session = self.incarnation, self.session
        return PacketHeader(own, session, number, self._received, is_numbered, resend)

    def _acknowledge(self, received: int) -> None:
        # A late packet of an older connection has a smaller number: meaningless at the end without
        # session counting.
        self.is_broken = self.is_broken or received < self._acknowledged
        self._acknowledged = max(self._acknowledged, min(received, self._sent))
        while self._kept and self._kept[0].header.number <= self._acknowledged:
            self._kept.popleft()

    def _again(self) -> list[Packet[T]]:
        self.resent += len(self._kept)
        return [Packet(self._header(each.header.number, True), each.message) for each in self._kept]

    def _ask(self, now: float) -> list[Packet[T]]:
        if self._asked is not None:
            received, at = self._asked
            if received == self._received and now - at < ASK_AGAIN_SECS:
                return []
        self._asked = self._received, now
        return [self.report(resend=True)]

    def validate(self) -> None:
        """AssertionError unless the kept messages are exactly the unacknowledged ones."""
        numbers = [each.header.number for each in self._kept]
        assert numbers == list(range(self._acknowledged + 1, self._sent + 1)), numbers
