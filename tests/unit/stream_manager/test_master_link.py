"""A stream manager's search for the topology master, and for the next master."""

import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zmq

from heron_core.errors import StateStoreError
from heron_core.state_tree import execution_path, master_path
from heron_core.wire.numbered_link import Packet, decode_header
from heron_engine.stream_manager import events, master_lookup
from heron_engine.stream_manager.master_link import MasterLink
from heron_engine.stream_manager.master_lookup import MasterLookup
from heron_engine.topology_master.manager_links import ManagerLinks, sender_of
from heron_io import transport
from heron_io.known_master import KnownMaster
from heron_io.security import CurveAuthenticator, Keys
from heron_io.state_store.file_store import FileStore
from heron_io.state_store.opening import open_store
from heron_io.transport import tcp_router

NAME = "Topology"
NOWHERE = "tcp://127.0.0.1:9"
ENDED_AT = "2026-01-01T00:00:00+0000"
DEADLINE_SECS = 40.0
POLL_MS = 10
BYTES_MAX = 1 << 20
INCARNATION = 77


class MasterProcess:
    """The socket of a master, until it is killed."""

    def __init__(self, keys: Keys) -> None:
        self._context: zmq.Context[Any] = zmq.Context()
        self._authenticator = CurveAuthenticator(self._context, keys)
        self.router, self.address = tcp_router(
            self._context, "127.0.0.1", 0, BYTES_MAX, self._authenticator
        )
        self.links: ManagerLinks[bytes] = ManagerLinks()
        self.heard: list[bytes] = []
        self.connections: set[bytes] = set()
        self._poller = zmq.Poller()
        for each in (self.router, *self._authenticator.sockets):
            self._poller.register(each, zmq.POLLIN)

    def serve(self) -> None:
        """Take a message, if present, and answer like a master."""
        ready: dict[Any, int] = dict(self._poller.poll(POLL_MS))
        self._authenticator.serve(ready, time.monotonic())
        if self.router not in ready:
            return
        connection, message, header = self.router.recv_multipart()
        packet = Packet(decode_header(header), message or None)
        arrived = self.links.take(connection, packet, time.monotonic())
        self.connections.add(connection)
        self.heard += [arrived.message] if arrived.message else []
        for each in arrived.packets:
            self._put(*each)

    def send(self, message: bytes) -> None:
        packet = self.links.send(sender_of(INCARNATION), message, is_kept=True)
        assert packet is not None
        self._put(*packet)

    def _put(self, connection: bytes, packet: Packet[bytes]) -> None:
        self.router.send_multipart([connection, packet.message or b"", packet.header.encode()])

    def kill(self) -> None:
        """The kernel closes its sockets."""
        self._context.destroy(linger=0)


@pytest.fixture
def keys() -> Keys:
    """Of the topology."""
    return Keys.new()


@pytest.fixture
def master(keys: Keys) -> Iterator[MasterProcess]:
    """Runs."""
    made = MasterProcess(keys)
    yield made
    made.kill()


class Wire:
    """A TCP connection's way, with resets or a dead middle."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("tcp://").partition(":")
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._ends: list[socket.socket] = []
        self.is_dead = False
        """Packets vanish silently: like an unplugged cable."""
        self.accepted = 0
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listener.accept()[0]
                self._ends.append(near)  # closed in the end, too, if there is nobody to connect to
                far = socket.create_connection(self._target)
                self._ends.append(far)
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()
                self.accepted += 1

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        was_dead = False
        with suppress(OSError):
            while data := source.recv(65536):
                was_dead = was_dead or self.is_dead  # a connection that went dead stays so
                if not was_dead:
                    target.sendall(data)

    def reset(self) -> None:
        """RST both ways: messages under way are lost."""
        ends, self._ends = self._ends, []
        for each in ends:
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def close(self) -> None:
        """For good. A close does not end a waiting accept: one more connection would be taken."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(DEADLINE_SECS)
        self._listener.close()
        self.reset()


class Place:
    """A link, its poller, and the master at the far end."""

    def __init__(self, folder: Path, context: "zmq.Context[Any]", keys: Keys) -> None:
        self.known = KnownMaster(str(folder / "local"))
        self.poller = zmq.Poller()
        self._store_url = f"file://{folder}"
        lookup = MasterLookup(self._store_url, NAME, self.known)
        self.link = MasterLink(context, self.poller, keys, INCARNATION, lookup)
        self.received: list[bytes] = []
        self.deadline = time.monotonic() + DEADLINE_SECS

    def finds(self, address: str) -> None:
        """The master's address is in the state store."""
        with open_store(self._store_url) as store:
            store.put(master_path(NAME), {"address": address})

    def ends(self) -> None:
        """The topology has ended long ago, with its master."""
        with open_store(self._store_url) as store:
            store.put(execution_path(NAME), {"state": "ENDED", "ended_at": ENDED_AT})
            store.delete(master_path(NAME))

    def turn(self) -> events.Event | None:
        """A turn of the loop."""
        now = time.monotonic()
        assert now < self.deadline, (self.received, self.link.statistics())
        self.received += self.link.received(dict(self.poller.poll(POLL_MS)), now)
        return self.link.poll(now)

    def news(self) -> events.Event:
        """Next events for the core."""
        while (found := self.turn()) is None:
            pass
        return found

    def until(self, is_so: Callable[[], bool], *masters: MasterProcess) -> None:
        """Go on until something is so."""
        while not is_so():
            for each in masters:
                each.serve()
            self.turn()


@pytest.fixture
def place(tmp_path: Path, keys: Keys) -> Iterator[Place]:
    """Of container 1, without a connection."""
    context: zmq.Context[Any] = zmq.Context()
    made = Place(tmp_path, context, keys)
    yield made
    made.link.disconnect()
    made.link.close()
    context.destroy(linger=0)


def test_a_state_store_is_asked_for_the_master_a_few_times_a_second_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A master that does not accept connections yet: its node exists, and is found each time.
    asked: list[str] = []
    closed = threading.Event()

    class Counting(FileStore):
        def get(self, path: str) -> Any:
            asked.append(path)
            return super().get(path)

        def close(self) -> None:
            super().close()
            closed.set()

    monkeypatch.setattr(master_lookup, "open_store", lambda url: Counting(str(tmp_path)))
    with FileStore(str(tmp_path)) as store:
        store.put(master_path(NAME), {"address": NOWHERE})
    lookup = MasterLookup("", NAME, KnownMaster(str(tmp_path / "local")))
    assert lookup.node(10.0) is None
    assert select.select([lookup.waker.readable], [], [], DEADLINE_SECS)[0]
    assert lookup.node(10.0) == {"address": NOWHERE}
    assert lookup.node(10.0 + master_lookup.RETRY_SECS / 2) is None
    lookup.close()
    assert closed.wait(DEADLINE_SECS)
    assert asked == [master_path(NAME)]


def test_a_killed_master_is_left_for_the_next_one_as_soon_as_that_is_there(
    tmp_path: Path, place: Place, master: MasterProcess
) -> None:
    link, store = place.link, open_store(f"file://{tmp_path}")
    assert place.turn() is None, "there is no master yet"
    store.put(master_path(NAME), {"address": master.address})
    assert isinstance(place.news(), events.MasterConnected)
    link.send(b"hello")
    place.until(lambda: master.heard == [b"hello"], master)

    store.put(master_path(NAME), {"address": NOWHERE})
    assert not link.is_polling
    assert place.turn() is None, "ours still answers"
    master.kill()
    assert isinstance(place.news(), events.MasterReplaced)
    assert link.is_polling
    link.disconnect()
    assert isinstance(place.news(), events.MasterConnected)
    store.close()


def test_without_a_master_a_topology_that_is_over_has_no_other_one(
    place: Place, master: MasterProcess
) -> None:
    # A host was cut off while its topology ended elsewhere: its processes would search for ever.
    place.finds(master.address)
    assert isinstance(place.news(), events.MasterConnected)
    place.link.send(b"hello")
    place.until(lambda: master.heard == [b"hello"], master)
    assert place.link.over == ""
    place.ends()
    master.kill()
    place.until(lambda: bool(place.link.over))
    assert place.link.over == f"{NAME} is ENDED since {ENDED_AT}: its processes must not run"


def test_without_a_state_store_the_master_is_where_it_was_last(
    place: Place, master: MasterProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A stream manager dies while ZooKeeper is away: its successor serves nevertheless.
    assert place.known.recall() is None
    place.known.remember({"address": master.address})

    def away(url: str) -> object:
        raise StateStoreError("no ZooKeeper answers")

    monkeypatch.setattr(master_lookup, "open_store", away)
    assert isinstance(place.news(), events.MasterConnected)
    place.link.send(b"hello")
    place.until(lambda: master.heard == [b"hello"], master)


def test_a_state_store_that_never_answers_stops_nothing(
    place: Place, master: MasterProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SIGSTOP of ZooKeeper: a request waits, outside of the data loop.
    place.known.remember({"address": master.address})
    thawed = threading.Event()
    asked_in: set[str] = set()

    def hangs(url: str) -> object:
        asked_in.add(threading.current_thread().name)
        thawed.wait(DEADLINE_SECS)
        raise StateStoreError("it was stopped")

    monkeypatch.setattr(master_lookup, "open_store", hangs)
    monkeypatch.setattr(master_lookup, "PATIENCE_SECS", 0.05)
    assert isinstance(place.news(), events.MasterConnected), "where it was last"
    place.link.send(b"hello")
    place.until(lambda: master.heard == [b"hello"], master)
    assert asked_in == {"master lookup"}
    thawed.set()


def test_a_reset_connection_loses_nothing_and_is_no_other_stream_manager(
    place: Place, master: MasterProcess
) -> None:
    # `ss -K` every two seconds: the master took the reconnect for a second stream manager, and
    # ended the manager.
    wire = Wire(master.address)
    place.finds(wire.address)
    assert isinstance(place.news(), events.MasterConnected)
    expected = []
    for number in range(4):
        up, down = b"up %d" % number, b"down %d" % number
        place.link.send(up)
        place.until(lambda up=up: up in master.heard, master)  # type: ignore[misc]
        accepted = wire.accepted
        place.link.send(b"lost " + up)
        master.send(b"lost " + down)
        wire.reset()
        place.until(lambda before=accepted: wire.accepted > before, master)  # type: ignore[misc]
        master.send(down)
        expected += [down]
        place.until(lambda down=down: down in place.received, master)  # type: ignore[misc]
    last = [b"lost up 3", b"lost down 3"]
    place.until(lambda: last[0] in master.heard and last[1] in place.received, master)
    assert master.heard == [b"%sup %d" % (text, n) for n in range(4) for text in (b"", b"lost ")]
    assert place.received == [
        b"%sdown %d" % (text, n) for n in range(4) for text in (b"lost ", b"")
    ]
    assert len(master.connections) > 1
    wire.close()


def test_a_connection_that_went_dead_is_replaced_in_seconds(
    place: Place, master: MasterProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A firewall forgot it, a cable was unplugged: TCP alone would notice after many minutes.
    monkeypatch.setattr(transport, "HANDSHAKE_MS", 500)
    monkeypatch.setattr(transport, "HEARTBEAT_MS", 100)
    monkeypatch.setattr(transport, "HEARTBEAT_TIMEOUT_MS", 500)
    wire = Wire(master.address)
    place.finds(wire.address)
    assert isinstance(place.news(), events.MasterConnected)
    place.link.send(b"first")
    place.until(lambda: master.heard == [b"first"], master)
    wire.is_dead = True
    place.link.send(b"second")
    place.until(lambda: wire.accepted > 1, master)
    wire.is_dead = False
    place.until(lambda: master.heard == [b"first", b"second"], master)
    wire.close()


def test_a_master_that_forgot_us_is_told_everything_anew(
    place: Place, master: MasterProcess
) -> None:
    # Cut off for a day, or another process at the same address.
    place.finds(master.address)
    assert isinstance(place.news(), events.MasterConnected)
    place.link.send(b"register")
    place.until(lambda: master.heard == [b"register"], master)
    master.send(b"plan")
    place.until(lambda: place.received == [b"plan"], master)
    master.links = ManagerLinks()
    place.link.send(b"beat")
    found: list[events.Event | None] = []

    def is_told() -> bool:
        master.serve()
        found.append(place.turn())
        return isinstance(found[-1], events.MasterConnected)

    place.until(is_told)
    place.link.send(b"register again")
    place.until(lambda: master.heard == [b"register", b"register again"], master)
    assert place.link.statistics()["messages_unsent"] == 1
