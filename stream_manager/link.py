"""A link: the two directions between this stream manager and the one of another container.

Theory of operation. A TCP connection that breaks loses the messages under way, and zmq connects
again silently. So a connection has no meaning here. A link is between two *incarnations*, and
numbers the messages:

- The sender numbers messages from 1 on and keeps each message until the acknowledgement arrives.
  The bytes kept are limited; further messages wait in the queue in front, where back-pressure
  counts them.
- The receiver takes messages in the order of their numbers. A message received before is dropped
  (repeated), and so is a message with a missing predecessor (a gap).
- The receiver acknowledges cumulatively. Every message in the opposite direction carries the
  newest number received. In a silent direction a link frame alone carries the number, after
  ACK_SECS or ACK_BYTES at the latest.
- The sender detects a loss in two ways: the receiver reports a gap, or an acknowledgement is
  overdue and a *probe* is answered. A probe travels behind all messages transmitted so far, so an
  echo with a lower number shows a loss. Both make the sender transmit again from the first missing
  message on.

TRANSITIONS is the table of the sending direction's states, which docs/ARCHITECTURE.md draws. A plan
without the other container ends the link in any state.

*Rewound*: the sender transmits again from the first missing message on. Whether the socket takes
messages is a state of the queue in front (peer_queue.PeerQueue.blocked).

*Restarted*: the numbers begin at 1 in a new generation, which is the current epoch, and the kept
messages are lost. Three events restart a link: a plan names another stream manager for the
container; another stream manager acknowledges, at the address of its predecessor; the peer refuses
our messages, after messages of a later generation (of a process that had taken our place for a
while). The receiver takes messages of the highest generation seen, and refuses older generations.
"""

from collections import deque
from enum import Enum, auto
from itertools import islice

from msgspec import Struct

from heron_core.errors import ProtocolError
from heron_core.transitions import MachineState, Transitions
from heron_core.wire import links
from heron_core.wire.frames import Frames
from heron_core.wire.links import LinkHeader

LINK_BYTES_MAX = 16 * 1024 * 1024
"""Kept until acknowledged: a round trip of 100 ms at full speed, as the socket's own limit."""
ACK_BYTES = 1024 * 1024
"""Received and not acknowledged at most: a small part of what the sender may keep."""
ACK_SECS = 0.1
"""An acknowledgement is delayed for so long at most: usually a message takes it along before."""
PROBE_SECS = 0.3
"""Without an acknowledgement the sender asks: three times its delay."""
PROBE_SECS_MAX = 1.0
"""Between two probes at most, so data flows again within about a second of a healed partition."""
PROBES_MAX = 64
"""Probes whose echo is awaited: as many as a socket's buffer takes; the oldest are forgotten."""
AGAIN_SECS = 0.5
"""Interval of repeated rewinds to one message: the repetition needs time to arrive."""


class LinkState(MachineState):
    """Of the sending direction."""

    IDLE = "no message is kept"
    WAITING = "messages are kept, an acknowledgement is expected"
    PROBING = "a probe is under way, the next follows with a longer interval"
    RESTARTED = "the numbers start at 1 in a new generation, the retained messages are lost"


IDLE, WAITING = LinkState.IDLE, LinkState.WAITING
"""By names of this module: Python 3.11 takes ten times as long for a member of an Enum."""
_RESTART = "the link cannot be continued"
TRANSITIONS = Transitions(
    "a link",
    begins={LinkState.IDLE: "a plan names the other stream manager, or the link is restarted"},
    after={
        LinkState.IDLE: {
            LinkState.WAITING: "a message is numbered",
            LinkState.RESTARTED: _RESTART,
        },
        LinkState.WAITING: {
            LinkState.IDLE: "all messages are acknowledged",
            LinkState.WAITING: "the receiver reports a gap, or an echo shows a loss: rewound",
            LinkState.PROBING: "an acknowledgement is overdue",
            LinkState.RESTARTED: _RESTART,
        },
        LinkState.PROBING: {
            LinkState.IDLE: "all messages are acknowledged",
            LinkState.WAITING: "a message is acknowledged, or a loss is shown: rewound",
            LinkState.PROBING: "the probe is not answered",
            LinkState.RESTARTED: _RESTART,
        },
    },
)


class Numbered(Struct, frozen=True):
    """A message with its number on the link."""

    number: int
    waiting: list[tuple[int, Frames]]
    """(destination task, message) of the merged messages"""
    size: int


class Outgoing:
    """The sending direction: what was numbered and is not acknowledged."""

    def __init__(self, bytes_max: int = LINK_BYTES_MAX, generation: int = 0) -> None:
        self._bytes_max = bytes_max
        self.state = TRANSITIONS.begin(LinkState.IDLE)
        self.generation = generation
        """Epoch in which the numbers began; 0 before the first plan, when no peer is connected."""
        self.peer = 0
        """Incarnation of the stream manager that acknowledges; 0 before the first time."""
        self.kept_bytes = 0
        self.untransmitted_bytes = 0
        """Of what is kept: not handed to the socket yet, or to be sent again."""
        self._kept: deque[Numbered] = deque()
        self._acked = 0
        self._transmitted = 0
        self._probe = 0
        self._probes: deque[tuple[int, int]] = deque(maxlen=PROBES_MAX)
        """(probe, newest message transmitted before it), oldest first"""
        self._probe_secs = PROBE_SECS
        self._progress_at = 0.0
        """When the first message that is kept came, or the newest acknowledgement."""
        self._probed_at = 0.0
        self._rewound = -1, 0.0
        """The newest rewind: behind which message, and when."""

    @property
    def has_capacity(self) -> bool:
        """Whether another message may be numbered."""
        return self.kept_bytes < self._bytes_max

    def _enter(self, to: LinkState) -> None:
        """The only way from one state to another."""
        self.state = TRANSITIONS.follow(self.state, to)

    @property
    def kept_numbers(self) -> tuple[int, int]:
        """The first and the last number kept; the last is less than the first without any."""
        return self._acked + 1, self._acked + len(self._kept)

    def number(self, waiting: list[tuple[int, Frames]], size: int, now: float) -> None:
        """A message joins what is to be transmitted."""
        if not self._kept:
            self._progress_at = now
            self._enter(WAITING)
        self._kept.append(Numbered(self._acked + len(self._kept) + 1, waiting, size))
        self.kept_bytes += size
        self.untransmitted_bytes += size

    def transmit(self) -> Numbered | None:
        """The next message for the socket; None if all are sent."""
        at = self._transmitted - self._acked
        if at == len(self._kept):
            return None
        message = self._kept[at]
        self._transmitted += 1
        self.untransmitted_bytes -= message.size
        return message

    def refused(self, number: int) -> None:
        """The socket has accepted neither the message nor later ones."""
        if self._acked < number <= self._transmitted:
            self._rewind(number - 1)

    def _rewind(self, number: int) -> None:
        """Transmit again what is behind a message."""
        self._transmitted = number
        behind = islice(self._kept, number - self._acked, None)
        self.untransmitted_bytes = sum(each.size for each in behind)

    def acknowledged(self, head: LinkHeader, now: float) -> int:
        """An acknowledgement of our peer; returns how many messages are sent again because of it.

        ProtocolError if it acknowledges what was never transmitted.
        """
        if head.acked > self._acked + len(self._kept):
            raise ProtocolError(
                f"message {head.acked} of a link is acknowledged, and was never sent"
            )
        if head.acked < self._acked:
            return 0  # older than what we know: it was under way by another connection
        self.peer = head.sender
        if head.acked > self._acked:
            self._forget(head.acked)
            self._probe_secs, self._progress_at = PROBE_SECS, now
            to = WAITING if self._kept else IDLE
            if to is not self.state:
                self._enter(to)
        is_lost = bool(head.flags & links.GAP) or self._echo_shows_loss(head)
        return self._send_again(now) if is_lost else 0

    def _forget(self, number: int) -> None:
        while self._acked < number:
            message = self._kept.popleft()
            self._acked += 1
            self.kept_bytes -= message.size
            if self._transmitted < self._acked:  # it is to be sent again, and had arrived
                self._transmitted = self._acked
                self.untransmitted_bytes -= message.size

    def _echo_shows_loss(self, head: LinkHeader) -> bool:
        is_lost = False
        while self._probes and self._probes[0][0] <= head.echo:
            is_lost = self._probes.popleft()[1] > head.acked
        return is_lost

    def _send_again(self, now: float) -> int:
        behind, at = self._rewound
        if behind == self._acked and now - at < AGAIN_SECS:
            return 0
        again = self._transmitted - self._acked
        if again:
            self._enter(WAITING)
            self._rewound = self._acked, now
            self._rewind(self._acked)
        return again

    def is_overdue(self, now: float) -> bool:
        """Whether an acknowledgement is overdue, so that the connection may be broken."""
        return bool(self._kept) and now - self._progress_at >= PROBE_SECS

    def probe(self, now: float) -> int:
        """The number of a probe if one is due, else 0."""
        since = max(self._progress_at, self._probed_at)
        if self._transmitted == self._acked or now - since < self._probe_secs:
            return 0
        self._enter(LinkState.PROBING)
        self._probed_at = now
        self._probe_secs = min(2 * self._probe_secs, PROBE_SECS_MAX)
        self._probe += 1
        self._probes.append((self._probe, self._transmitted))
        return self._probe

    def restart(self) -> list[tuple[int, Frames]]:
        """The link cannot be continued; returns what is kept, and may not have arrived."""
        self._enter(LinkState.RESTARTED)
        return self.kept()

    def kept(self) -> list[tuple[int, Frames]]:
        """(destination task, message) of all that is not acknowledged."""
        return [each for message in self._kept for each in message.waiting]

    def untransmitted(self) -> list[tuple[int, Frames]]:
        """(destination task, message) of all that the socket was not handed."""
        behind = islice(self._kept, self._transmitted - self._acked, None)
        return [each for message in behind for each in message.waiting]

    def validate(self) -> None:
        """AssertionError unless the numbers are contiguous, and the bytes those of the messages."""
        numbers = [each.number for each in self._kept]
        assert numbers == list(range(self._acked + 1, self._acked + len(numbers) + 1))
        assert self._acked <= self._transmitted <= self._acked + len(numbers)
        assert self.kept_bytes == sum(each.size for each in self._kept)
        behind = islice(self._kept, self._transmitted - self._acked, None)
        assert self.untransmitted_bytes == sum(each.size for each in behind)
        is_idle = self.state is LinkState.IDLE
        assert is_idle is not bool(self._kept), f"a link is {self.state.name} and keeps {numbers}"


class Arrival(Enum):
    """Treatment of a received message."""

    __hash__ = object.__hash__  # it is looked up for each message
    NEXT = auto()
    """The next message in sequence: accept."""
    EMPTY = auto()
    """A link frame alone."""
    REPEATED = auto()
    """It was taken before."""
    GAP = auto()
    """An earlier message is missing."""
    SUPERSEDED = auto()
    """The message belongs to a replaced incarnation."""


NEXT, SUPERSEDED = Arrival.NEXT, Arrival.SUPERSEDED
"""As the states above."""


class Incoming:
    """The receiving direction: how far it has got, and what of it is to be acknowledged."""

    def __init__(self) -> None:
        self.sender = 0
        """Incarnation of the stream manager whose messages are taken; 0 before the first."""
        self.received = 0
        """Number of the newest message that was taken."""
        self.echo = 0
        """The newest probe."""
        self.is_gap = False
        """Whether a gap is to be reported."""
        self.generation = 0
        """Of the sender's numbers; 0 before the first."""
        self.refused_sender: tuple[int, int] | None = None
        """(incarnation, generation) of one whose messages are dropped, if it is to be told."""
        self._unacked_bytes = 0
        self._due_at: float | None = None
        """When an acknowledgement has to leave at the latest; None: all is acknowledged."""
        self._gap_reported = -1, 0.0
        """The newest report of a gap: behind which message, and when."""
        self._refused_at: float | None = None

    def take(self, head: LinkHeader, size: int, now: float) -> Arrival:
        """A message has arrived, of `size` bytes."""
        is_known = (head.sender, head.generation) == (self.sender, self.generation)
        if not is_known and not self._is_successor(head):
            self._refuse(head, now)
            return Arrival.SUPERSEDED
        if head.probe > self.echo:
            self.echo, self._due_at = head.probe, now
        if not head.number:
            return Arrival.EMPTY
        if head.number <= self.received:
            self._acknowledge_by(now)
            return Arrival.REPEATED
        if head.number > self.received + 1:
            self._report_gap(now)
            return Arrival.GAP
        self.received += 1
        self._unacked_bytes += size
        self._acknowledge_by(now if self._unacked_bytes >= ACK_BYTES else now + ACK_SECS)
        return NEXT

    def _is_successor(self, head: LinkHeader) -> bool:
        """Whether it is of a later generation, with which the link starts again."""
        if head.generation <= self.generation:
            return False
        self.sender, self.generation = head.sender, head.generation
        self.received = self.echo = self._unacked_bytes = 0
        self.is_gap, self._due_at, self._gap_reported = False, None, (-1, 0.0)
        return True

    def _refuse(self, head: LinkHeader, now: float) -> None:
        if self._refused_at is None or now - self._refused_at >= AGAIN_SECS:
            self._refused_at = self._due_at = now
            self.refused_sender = head.sender, head.generation

    def _acknowledge_by(self, at: float) -> None:
        self._due_at = at if self._due_at is None else min(at, self._due_at)

    def _report_gap(self, now: float) -> None:
        behind, at = self._gap_reported
        if behind != self.received or now - at >= AGAIN_SECS:
            self._gap_reported = self.received, now
            self.is_gap, self._due_at = True, now

    def is_due(self, now: float) -> bool:
        """Whether an acknowledgement has to leave alone, as no message took it along."""
        return self._due_at is not None and now >= self._due_at

    def acknowledged(self) -> None:
        """What was to be said leaves with a message."""
        self._due_at, self._unacked_bytes, self.is_gap = None, 0, False
        self.refused_sender = None

    def refused(self, now: float) -> None:
        """The socket did not take what was to be said."""
        if self.sender:
            self._acknowledge_by(now)

    def validate(self) -> None:
        """AssertionError if received messages lack a sender, or an acknowledgement."""
        assert self.sender or not self.received
        assert self._due_at is not None or not (self._unacked_bytes or self.is_gap)
