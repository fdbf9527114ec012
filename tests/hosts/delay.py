"""A slow cable, for kernels without netem.

The cable between a host's port and the bridge is cut, and a thread carries each packet over the gap
at its due time: all packets of the host are late, in open connections and new ones, in their order.
"""

import errno
import random
import select
import socket
import threading
import time
from collections import deque
from types import TracebackType

from heron_io.waker import Waker
from tests.hosts.network import BRIDGE, Host, call

FRAME_BYTES_MAX = 1 << 17
"""Two hosts of one kernel hand each other up to 64 KiB at once."""
BUFFER_BYTES = 1 << 22
FLUSH_SECS_MAX = 5.0
"""Far more than the packets of a second need."""
_ALL = 3  # ETH_P_ALL
_PACKET, _IGNORE_OUTGOING, _VNET_HEADER = 263, 23, 15
"""SOL_PACKET; PACKET_IGNORE_OUTGOING; PACKET_VNET_HDR: checksums and segments still to be made by
the kernel stay unchanged."""


class Direction:
    """From one end of the gap to the other."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self._target = target
        self._late: deque[tuple[float, bytes]] = deque()

    def take(self, due: float) -> None:
        """A packet has come, and is to be passed on then."""
        last = self._late[-1][0] if self._late else due
        self._late.append((max(due, last), self.source.recv(FRAME_BYTES_MAX)))

    def pass_on(self, now: float) -> None:
        """Forward the due packets."""
        while self._late and self._late[0][0] <= now:
            try:
                self._target.send(self._late.popleft()[1])
            except OSError as error:
                # A queue that is full drops packets, on every network.
                if error.errno != errno.ENOBUFS:
                    raise

    @property
    def due(self) -> float:
        """When the next one is to be passed on."""
        return self._late[0][0] if self._late else float("inf")


class Delay:
    """One host's cable, for as long as the context lasts."""

    def __init__(self, host: Host, switch: Host, secs: float, chance: random.Random) -> None:
        """`secs` for each packet in each direction, half of it more or less."""
        self._switch, self._port = switch, host.port
        self._gap, self._plug = f"gap{host.number}", f"plug{host.number}"
        self._secs, self._chance = secs, chance
        self._waker = Waker()
        self._short, self._flushed, self._over = (threading.Event() for _ in range(3))
        """Packets are on time again; waiting packets are sent; the bridge has the port again."""
        self._thread = threading.Thread(target=self._carry, name=f"cable of {host.name}")
        self._directions: list[Direction] = []
        self.failed: OSError | None = None

    def __enter__(self) -> "Delay":
        self._links(
            ("add", self._gap, "type", "veth", "peer", "name", self._plug),
            ("set", self._gap, "up"),
            ("set", self._plug, "master", BRIDGE, "up"),
        )
        with self._switch.entered():
            one, other = (_end(name) for name in (self._port, self._gap))
        self._directions = [Direction(one, other), Direction(other, one)]
        self._links(("set", self._port, "nomaster"))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # No packet is lost meanwhile, some arrive twice: TCP would send a lost one again only after
        # seconds, by its estimate of the cable's delay.
        self._short.set()
        self._waker.wake()
        self._flushed.wait(FLUSH_SECS_MAX)
        self._links(("set", self._port, "master", BRIDGE), ("set", self._plug, "nomaster"))
        self._over.set()
        self._waker.wake()
        self._thread.join()
        for each in self._directions:
            each.source.close()
        self._waker.close()
        self._links(("delete", self._gap))
        assert self.failed is None, f"the cable of {self._port}: {self.failed}"

    def _links(self, *commands: tuple[str, ...]) -> None:
        for each in commands:
            call("ip", "-n", self._switch.namespace, "link", *each)

    def _carry(self) -> None:
        try:
            while not self._over.is_set():
                self._take(min(each.due for each in self._directions) - time.monotonic())
                self._pass_on()
            while self._take(0.0):
                self._pass_on()
        except OSError as error:
            self.failed = error

    def _pass_on(self) -> None:
        is_short = self._short.is_set()
        for each in self._directions:
            each.pass_on(float("inf") if is_short else time.monotonic())
        if is_short:
            self._flushed.set()

    def _take(self, pause_secs: float) -> bool:
        """Whether a packet has come within the time."""
        sources = {each.source: each for each in self._directions}
        waited_for: list[socket.socket | int] = [*sources, self._waker.readable]
        found, _, _ = select.select(waited_for, [], [], min(max(pause_secs, 0.0), 1.0))
        for each in (arrived := sources.keys() & set(found)):
            late_secs = self._secs * self._chance.uniform(0.5, 1.5)
            sources[each].take(time.monotonic() + late_secs)
        return bool(arrived)


def _end(name: str) -> socket.socket:
    """The end of a cable: receives and sends there."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    made.setsockopt(_PACKET, _VNET_HEADER, 1)
    made.setsockopt(_PACKET, _IGNORE_OUTGOING, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    made.bind((name, _ALL))
    return made
