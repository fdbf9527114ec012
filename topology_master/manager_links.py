"""The topology master's ends of the numbered links with its stream managers.

A stream manager is identified by its process: of several connections, the newest receives the
answers. The stream manager opens a session; a session unknown to the master starts empty.
"""

from typing import Generic, TypeVar

from msgspec import Struct

from heron_core.wire.numbered_link import NumberedLink, Packet, PacketHeader

T = TypeVar("T")

FORGOTTEN_AFTER_SECS = 600.0
"""Silence after which a stream manager is forgotten. If it returns, it opens a new session and
is sent everything again, as by a new master."""
PREFIX = b"stream manager "


def sender_of(incarnation: int) -> bytes:
    """Id of a stream manager's process in the core; distinct from all identities of connections."""
    return PREFIX + incarnation.to_bytes(8, "big")


def is_manager(sender: bytes) -> bool:
    """Whether a sender is a stream manager's process, and not the connection of a command."""
    return sender.startswith(PREFIX)


class _End(Struct, Generic[T]):
    link: NumberedLink[T]
    connection: bytes
    heard_at: float


class Arrived(Struct, Generic[T], frozen=True):
    """Results of a packet."""

    sender: bytes
    message: T | None
    packets: list[tuple[bytes, Packet[T]]]
    """(connection, packet), to be sent"""


class ManagerLinks(Generic[T]):
    """One link for each stream manager's process."""

    def __init__(self) -> None:
        self._ends: dict[bytes, _End[T]] = {}

    def take(self, connection: bytes, packet: Packet[T], now: float) -> Arrived[T]:
        """A packet has come by a connection."""
        header = packet.header
        sender = sender_of(header.incarnation)
        end = self._ends.get(sender)
        if end is None or end.link.session < header.session:
            end = self._opened(sender, header, connection, now)
        if header.session < end.link.session:
            return Arrived(sender, None, [])  # messages in transit when a new session was opened
        end.connection, end.heard_at = connection, now
        taken = end.link.take(packet, now)
        return Arrived(sender, taken.message, [(connection, each) for each in taken.answers])

    def send(self, sender: bytes, message: T, *, is_kept: bool) -> tuple[bytes, Packet[T]] | None:
        """(connection, packet) for a stream manager; None without a link. A message without
        `is_kept` may be lost."""
        end = self._ends.get(sender)
        if end is None:
            return None
        if end.link.is_full:
            del self._ends[sender]  # as if forgotten
            return None
        return end.connection, end.link.send(message) if is_kept else end.link.report(message)

    def _opened(
        self, sender: bytes, header: PacketHeader, connection: bytes, now: float
    ) -> _End[T]:
        for each in [
            each for each, end in self._ends.items() if now - end.heard_at > FORGOTTEN_AFTER_SECS
        ]:
            del self._ends[each]
        link: NumberedLink[T] = NumberedLink(header.incarnation, header.session)
        end = self._ends[sender] = _End(link, connection, now)
        return end

    def statistics(self) -> dict[str, int]:
        """Counts of duplicate packets and of repeated messages."""
        links = [end.link for end in self._ends.values()]
        return {
            "duplicates": sum(each.duplicates for each in links),
            "resent": sum(each.resent for each in links),
        }

    def validate(self) -> None:
        """AssertionError for a violated invariant."""
        for end in self._ends.values():
            end.link.validate()
