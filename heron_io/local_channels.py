"""An instance's ends: a channel for data, of the main thread, and one for control.

The control thread connects both channels, and sees the end of a connection even while the main
thread runs user code. A new stream manager has the data connection before the control connection
announces the instance.
"""

import logging
import math
import select
import threading
import time
from collections import deque
from collections.abc import Callable

from heron_core.wire.frames import Frames
from heron_core.wire.local_stream import ConnectionName
from heron_io.local_connection import (
    LocalConnection,
    LocalConnectionEnded,
    connected_local,
    scratch,
)

log = logging.getLogger("heron_instance")

UNSENT_MAX = 16
"""Messages of data that wait for a new stream manager before the main thread waits as well."""
UNSENT_CONTROL_MAX = 1024
"""Maximum of waiting control messages; further messages are dropped, counted and logged."""
RECONNECT_SECS, RECONNECT_MAX_SECS = 0.02, 0.2
"""Between two attempts to connect."""


class _Channel:
    """Base of both channels: a name, and a series of connections."""

    def __init__(self, path: str, name: ConnectionName) -> None:
        self._path = path
        self._name = name
        self._scratch = scratch()
        first = self._connected()
        self._connection = first or LocalConnection(None, self._scratch)

    def _connected(self) -> LocalConnection | None:
        return connected_local(self._path, self._name, self._scratch)

    @property
    def descriptor(self) -> int:
        """To be polled for input; negative while there is no connection."""
        connection = self._connection
        return connection.descriptor if connection.is_up else -1

    def _deliver(self, linger_secs: float) -> None:
        """Send waiting messages, if necessary to a new stream manager; log the undelivered rest."""
        until = time.monotonic() + linger_secs
        while (connection := self._connection).unsent and (left := until - time.monotonic()) > 0:
            try:
                if not connection.flush():
                    connection.wait_until_writable(left)
            except LocalConnectionEnded:
                if (renewed := self._connected()) is not None:
                    self._follow(renewed)
                else:
                    time.sleep(min(left, RECONNECT_SECS))
        if connection.unsent:
            log.warning("%d messages were not sent", len(connection.unsent))

    def _follow(self, renewed: LocalConnection) -> None:
        """Switch to another connection, which sends all waiting messages."""
        renewed.unsent.extendleft(reversed(self._connection.unsent))
        self._connection.close()
        self._connection = renewed

    def close(self, linger_secs: float = 0.0) -> None:
        """Close the connection; waiting messages have `linger_secs` to leave."""
        self._deliver(linger_secs)
        self._connection.close()


class DataChannel(_Channel):
    """Messages of data: the main thread's, but for `watched` and `renew`."""

    def __init__(self, path: str, name: ConnectionName) -> None:
        super().__init__(path, name)
        self._received: deque[Frames] = deque()
        self._renewed: deque[LocalConnection] = deque()
        """Connections that the main thread has still to take, in order."""
        self._was_renewed = threading.Event()
        self.watched = self.descriptor
        """Of the newest connection: the control thread's. The end of that is a hang-up."""

    def renew(self) -> bool:
        """From the control thread, when the newest connection has ended: make another one."""
        renewed = self._connected()
        if renewed is None:
            return False
        self.watched = renewed.descriptor
        self._renewed.append(renewed)
        self._was_renewed.set()
        return True

    def send(self, frames: Frames) -> None:
        """Send a message; waits while the stream manager is busy, or away and UNSENT_MAX wait."""
        try:
            if self._connection.send(frames):
                return
        except LocalConnectionEnded:
            pass
        self._send_rest()

    def _send_rest(self) -> None:
        while unsent := self._connection.unsent:
            try:
                if not self._connection.flush():
                    self._connection.wait_until_writable()
            except LocalConnectionEnded:
                if self._renewed:
                    self._take_renewed()
                elif len(unsent) < UNSENT_MAX:
                    return
                else:
                    self._was_renewed.wait()

    def _take_renewed(self) -> None:
        """Switch to the next connection, after everything received over the present one."""
        self._was_renewed.clear()
        try:
            while True:
                self._received.extend(self._connection.receive())
                if self._connection.is_drained and self._connection.is_up:
                    break  # it had not ended; no more comes by it
        except LocalConnectionEnded:
            pass
        if cut := self._connection.unfinished_bytes:
            log.info("a message was cut off after %d bytes by the stream manager's end", cut)
        self._follow(self._renewed.popleft())
        if self._renewed:
            self._was_renewed.set()

    def receive(self) -> Frames | None:
        """The next message, or None."""
        received = self._received
        while not received:
            try:
                received.extend(self._connection.receive())
                if self._connection.is_drained:
                    break
            except LocalConnectionEnded:
                if not self._renewed:
                    return None
                self._take_renewed()
                self._send_rest()
        return received.popleft() if received else None

    @property
    def has_received(self) -> bool:
        """Whether `receive` has a message without the kernel, or another connection to take."""
        return bool(self._received or self._renewed)

    def close(self, linger_secs: float = 0.0) -> None:
        """As of a channel; no thread renews it any more."""
        while self._renewed:
            self._take_renewed()
        super().close(linger_secs)


class ControlChannel(_Channel):
    """Messages of control: the control thread's, which never waits for a send."""

    def __init__(self, path: str, name: ConnectionName) -> None:
        super().__init__(path, name)
        self.connections = int(self._connection.is_up)
        """How many there have been."""
        self.dropped = 0
        """Messages dropped for a full queue of UNSENT_CONTROL_MAX."""

    def renew(self) -> bool:
        """Reconnect after the end of the connection."""
        renewed = self._connected()
        if renewed is None:
            return False
        self._follow(renewed)
        self.connections += 1
        return True

    def send(self, data: bytes) -> None:
        """Send a message, or keep it for the next stream manager."""
        if len(self._connection.unsent) >= UNSENT_CONTROL_MAX:
            self.dropped += 1
            if self.dropped == 1:
                log.warning("the stream manager does not accept messages: dropping messages to it")
            return
        try:
            self._connection.send([data])
        except LocalConnectionEnded:  # the next one is sent it
            pass

    def flush(self) -> None:
        """Send on what waits."""
        try:
            self._connection.flush()
        except LocalConnectionEnded:
            pass

    @property
    def is_waiting(self) -> bool:
        """Whether something waits until the kernel takes more."""
        return self._connection.is_up and bool(self._connection.unsent)

    def receive(self) -> list[bytes]:
        """The messages received."""
        try:
            return [frames[0] for frames in self._connection.receive()]
        except LocalConnectionEnded:
            return []


class ChannelKeeper:
    """The control thread's care of both channels: whose connection has ended gets another one."""

    def __init__(
        self,
        data: DataChannel,
        control: ControlChannel,
        poller: select.poll,
        wake: Callable[[], None],
    ) -> None:
        """Both are polled by `poller`. `wake`: the main thread is to take another connection."""
        self._data = data
        self._control = control
        self._poller = poller
        self._wake = wake
        self._polled: dict[int, int] = {}
        self._pause_secs = 0.0
        self._data_ended = data.watched < 0
        self.due = math.inf if self._is_complete else 0.0
        """When to try to connect; infinite while both are connected."""

    def serve(self, ready: dict[int, int], now: float) -> bool:
        """After a poll. Whether this process is to be announced to a new stream manager."""
        if ready.get(self._data.watched, 0) & (select.POLLHUP | select.POLLERR):
            self._data_ended = True
        if not self._is_complete and now >= (0.0 if self.due == math.inf else self.due):
            return self._connect(now)
        return False

    @property
    def _is_complete(self) -> bool:
        return not self._data_ended and self._control.descriptor >= 0

    def _connect(self, now: float) -> bool:
        """Connect the data channel first: the control connection announces the process to the
        stream manager.
        """
        before, is_announced = self._control.connections, False
        if self._data_ended and self._data.renew():
            self._data_ended = False
            self._wake()
        if not self._data_ended and self._control.descriptor < 0 and self._control.renew():
            self._control.flush()
            is_announced = before > 0
        if self._is_complete:
            self._pause_secs, self.due = 0.0, math.inf
        else:
            self._pause_secs = min(RECONNECT_MAX_SECS, max(RECONNECT_SECS, 2 * self._pause_secs))
            self.due = now + self._pause_secs
        return is_announced

    def register(self) -> None:
        """Before a poll: register the connected channels, the data channel for its end alone."""
        wanted: dict[int, int] = {}
        if not self._data_ended:
            wanted[self._data.watched] = 0
        if (control := self._control.descriptor) >= 0:
            out = select.POLLOUT if self._control.is_waiting else 0
            wanted[control] = select.POLLIN | out
        for descriptor in self._polled.keys() - wanted.keys():
            self._poller.unregister(descriptor)
        for descriptor, events in wanted.items():
            if self._polled.get(descriptor) != events:
                self._poller.register(descriptor, events)
        self._polled = wanted
