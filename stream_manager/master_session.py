"""A stream manager's end of the numbered link with the topology master.

A connection that breaks and comes again changes nothing: the session goes on. Another session, in
which everything is told again, begins with another master, and where the same one has forgotten us.
"""

from typing import Generic, TypeVar

from heron_core.wire.numbered_link import NumberedLink, Packet, TakenPacket

T = TypeVar("T")


class MasterSession(Generic[T]):
    """The newest session."""

    def __init__(self, incarnation: int) -> None:
        """`incarnation`: of the stream manager's process."""
        self._link: NumberedLink[T] = NumberedLink(incarnation, 1)
        self._address = ""
        self._registration = 0
        """Number of the newest registration in the session; 0: none."""
        self._before = {"messages_resent": 0, "messages_unsent": 0}
        """Counts of earlier sessions: messages sent again, and lost."""

    def found(self, address: str) -> None:
        """Set the master's address; a new address ends the session. Messages sent before the
        first address go to the first master."""
        if self._address not in ("", address):
            self.renew()
        self._address = address

    def renew(self) -> None:
        """Begin another session."""
        before = self._link
        self._before["messages_resent"] += before.resent
        self._before["messages_unsent"] += before.unacknowledged
        self._link = NumberedLink(before.incarnation, before.session + 1)
        self._registration = 0

    def begin_registration(self) -> bool:
        """Register the process with the next message sent; False while a registration of the
        session is in transit: retained, and sent again by a new connection."""
        if self._link.is_kept(self._registration):
            return False
        self._registration = self._link.next_number
        return True

    @property
    def is_over(self) -> bool:
        """Whether the session cannot go on: `renew` it, and tell everything again."""
        return self._link.is_broken or self._link.is_full

    def send(self, message: T) -> Packet[T]:
        """A message for the master, retained until acknowledged."""
        return self._link.send(message)

    def reconnected(self) -> Packet[T]:
        """To be sent first by a new connection: what is missing on either side is sent again."""
        return self._link.report(resend=True)

    def take(self, packet: Packet[T], now: float) -> TakenPacket[T]:
        """A packet from the master; packets of an earlier session are ignored."""
        header = packet.header
        if (header.incarnation, header.session) != (self._link.incarnation, self._link.session):
            return TakenPacket(None, [])
        return self._link.take(packet, now)

    def statistics(self) -> dict[str, int]:
        """Counted since the process began."""
        return {
            "messages_resent": self._before["messages_resent"] + self._link.resent,
            "messages_unsent": self._before["messages_unsent"],
        }

    def validate(self) -> None:
        """AssertionError if something holds that never may."""
        self._link.validate()
