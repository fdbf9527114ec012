"""Foreign connections to the tcp ports of a running topology: foreign clients, wrong keys, broken
peers.

All are refused or dropped, counted in `heronpy stats --json`, reported in the log at most once a
minute, and the topology goes on.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
import zmq
from zmq.utils.monitor import parse_monitor_message

from heron_core.state_tree import keys_path, master_path, physical_path
from heron_core.wire import message_codec, messages
from heron_core.wire.frames import HEADER, MAGIC, VERSION, FrameKind, header
from heron_io.security import Keys
from heron_io.transport import connect_dealer
from tests.process.process_support import TOPOLOGIES, Master, Place, Running, until

NAME = "Forever"
FOREVER = (TOPOLOGIES / "forever.py", "-n", NAME, "--containers", 2)
CONTAINER = 1
TRIES = 3
ANSWER_MS = 10_000
ENDED = (
    zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
SMALL_BYTES_MAX = 1000
OVERSIZED_BYTES = 4 * 1024 * 1024
"""More than the largest tuple and a buffer (stream_manager.options: 2 MiB) together."""


@dataclass
class Topology:
    """The endless topology at work, its addresses, and the key to its doors."""

    place: Place
    running: Running
    master: Master
    keys: Keys
    manager_address: str
    master_address: str

    def stats(self) -> dict[str, Any]:
        out = self.place.heronpy("stats", NAME, "--json").succeeded().out
        found: dict[str, Any] = json.loads(out)
        return found

    def counted(self, counter: str) -> int:
        """A counter of the stream manager of CONTAINER."""
        return int(self.stats()["stream_managers"][str(CONTAINER)][counter])

    def process_ids(self) -> set[int]:
        """Of the topology's processes, without the commands that ask it."""
        return {each.pid for each in self.running.processes()}

    def goes_on(self) -> None:
        """Wait for tuples that are processed from now on."""
        before = self.master.processed("add")
        self.running.until(lambda: self.master.processed("add") > before, "tuples are processed")

    def told(self, process: str, text: str) -> int:
        """How often a text stands in a process's log."""
        return self.place.log(NAME, process).count(text)

    def manager_log(self) -> str:
        """The name of the stream manager's log."""
        (found,) = self.place.logs(NAME).glob(f"*stream*{CONTAINER}*.log")
        return found.stem

    def master_log(self) -> str:
        """The name of the master's log."""
        (found,) = self.place.logs(NAME).glob("*master*.log")
        return found.stem


@pytest.fixture
def topology(place: Place) -> Iterator[Topology]:
    """A topology with processed tuples, still at work; ends without leftovers."""
    limit = ("-o", f"topology.message.bytes.max={SMALL_BYTES_MAX}")
    running = place.start("run", *FOREVER, *limit)
    with Master(place.store_url, NAME) as master:
        running.until(lambda: master.processed("add") > 0, "tuples are processed")
        store = place.store()
        try:
            plan = store.get(physical_path(NAME))
            found = store.get(master_path(NAME))
            keys = store.get(keys_path(NAME))
        finally:
            store.close()
        assert plan is not None
        assert found is not None
        assert keys is not None
        yield Topology(
            place,
            running,
            master,
            Keys.stored(keys),
            plan["stream_managers"][str(CONTAINER)],
            found["address"],
        )
        running.end()
    place.nothing_is_left()


@contextmanager
def sockets() -> "Iterator[zmq.Context[zmq.Socket[bytes]]]":
    """A context whose sockets are closed at the end."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        yield context
    finally:
        context.destroy(linger=0)


@contextmanager
def dealer(address: str, keys: Keys) -> "Iterator[zmq.Socket[bytes]]":
    """A connection with the topology's key, like a peer."""
    with sockets() as context:
        made = connect_dealer(context, address, 0, keys)
        try:
            yield made
        finally:
            made.close(linger=0)


def _knock_raw(address: str, data: bytes) -> None:
    """Bytes of another protocol; the other side may answer, and closes the connection."""
    host, _, port = address.removeprefix("tcp://").partition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(data)
        with suppress(OSError):  # the other side may have closed it already
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass


def _knock(address: str, keys: Keys | None = None, server: str = "") -> None:
    """Connect with a wrong key, or without a key, until the other side disconnects."""
    with sockets() as context, context.socket(zmq.DEALER) as made:
        made.setsockopt(zmq.LINGER, 0)
        made.setsockopt(zmq.RECONNECT_IVL, -1)
        if keys is not None:
            keys.use_as_client(made)
            made.curve_serverkey = server.encode("ascii")
        with made.get_monitor_socket(ENDED | zmq.EVENT_HANDSHAKE_SUCCEEDED) as monitor:
            made.connect(address)
            with suppress(zmq.Again):  # refused before it could send anything
                made.send(message_codec.encode(messages.Command("deactivate", {})), zmq.NOBLOCK)
            assert monitor.poll(ANSWER_MS), "the connection stands"
            event = parse_monitor_message(monitor.recv_multipart())["event"]
            made.disable_monitor()
    assert event != zmq.EVENT_HANDSHAKE_SUCCEEDED, "a stranger was let in"


def test_strangers_are_refused_counted_and_told_of_once(topology: Topology) -> None:
    """A port scanner, a browser, a client without a key, a client with another topology's key, and
    a client with the public key but without the secret key."""
    stranger = Keys.new()
    for address in [topology.manager_address, topology.master_address] * TRIES:
        _knock_raw(address, b"GET / HTTP/1.1\r\nHost: heron\r\n\r\n")
        _knock_raw(address, b"\xff" * 100)
        _knock(address)
        _knock(address, stranger, stranger.public)
        _knock(address, stranger, topology.keys.public)
    # A client without the zmq protocol is cut off before a refusal.
    with_zmq, all_of_them = 3 * TRIES, 5 * TRIES
    until(lambda: topology.counted("refused") >= with_zmq, "the stream manager counts them")
    until(lambda: topology.counted("disconnected") >= all_of_them, "it counts who was cut off")
    until(lambda: topology.stats()["master"]["refused"] >= with_zmq, "the master counts them")
    assert topology.told(topology.manager_log(), "without this topology's key") == 1
    assert topology.told(topology.master_log(), "without this topology's key") == 1
    topology.goes_on()
    assert topology.stats()["state"] == "RUNNING"


def test_garbage_of_a_peer_is_dropped_counted_and_told_of_once(topology: Topology) -> None:
    """A stream manager of another release, or with a bug: it holds the key, and talks nonsense."""
    other = HEADER.pack(MAGIC, VERSION + 1, FrameKind.DATA, 0, 0, 0, 1, 1, 2, 1)
    for_nobody = header(FrameKind.CONTROL, 1, 77, 1, 1)
    nonsense = [
        [b"garbage"],
        [b""],
        [other, b"\xdd\0\0\0\0"],
        [header(FrameKind.DATA, 1, 1, 2, 9, 0, 1), b"\x90"],
        [header(FrameKind.FANOUT, 1, 1, CONTAINER, 1), b"\1"],
        [for_nobody, b"\xc1"],
    ]
    before = topology.counted("malformed")
    with dealer(topology.manager_address, topology.keys) as peer:
        for frames in nonsense * TRIES:
            peer.send_multipart(frames)
        expected = before + len(nonsense) * TRIES
        until(lambda: topology.counted("malformed") == expected, "all of them are counted")
    assert topology.told(topology.manager_log(), "dropped a malformed message") == 1
    topology.goes_on()


def test_garbage_to_the_master_is_dropped_counted_and_told_of_once(topology: Topology) -> None:
    """Garbage to the master; messages of instances are garbage there as well."""
    with dealer(topology.master_address, topology.keys) as client:
        for data in [
            b"garbage",
            b"",
            message_codec.encode(messages.RegisterInstance(task=1, incarnation=1, pid=1)),
        ] * TRIES:
            client.send(data)
        until(lambda: topology.stats()["master"]["malformed"] == 3 * TRIES, "they are counted")
    assert topology.told(topology.master_log(), "dropped a malformed message") == 1
    topology.goes_on()


def test_an_oversized_frame_cuts_its_connection_and_nothing_else(topology: Topology) -> None:
    """Gigabytes in a frame are not even read into memory."""
    before, processes = topology.counted("disconnected"), topology.process_ids()
    with (
        dealer(topology.manager_address, topology.keys) as peer,
        peer.get_monitor_socket(zmq.EVENT_DISCONNECTED) as monitor,
    ):
        peer.send_multipart([header(FrameKind.DATA, 1, 1, 2, 1), bytes(OVERSIZED_BYTES)])
        assert monitor.poll(ANSWER_MS), "the frame was taken"
        peer.disable_monitor()
    until(lambda: topology.counted("disconnected") > before, "it is counted")
    topology.goes_on()
    assert topology.process_ids() >= processes


def _refused(topology: Topology, container: int) -> str:
    """Why the master does not take a stream manager for this container."""
    register = messages.RegisterStreamManager(
        container=container,
        incarnation=7,
        address="tcp://127.0.0.1:1",
        host="elsewhere",
        pid=1,
        epoch=0,
    )
    with dealer(topology.master_address, topology.keys) as client:
        client.send(message_codec.encode(register))
        assert client.poll(ANSWER_MS), "no answer"
        answer = message_codec.decode(client.recv())
    assert isinstance(answer, messages.RegistrationRejected)
    return answer.reason


def test_an_intruders_stream_manager_is_refused_and_told_who_serves(topology: Topology) -> None:
    """A second container 1, started by mistake on another machine, and one of an older packing:
    each gets the reason, and the registered one goes on."""
    taken = f"container {CONTAINER} is served by pid "
    reason = _refused(topology, CONTAINER)
    assert reason.startswith(taken)
    assert reason.endswith(f" on {socket.gethostname()}")
    pid = int(reason.removeprefix(taken).split()[0])
    assert os.getsid(pid) == topology.running.pid, "that is none of its processes"
    unknown = "container 9 is not in the packing plan (containers: 1, 2)"
    assert _refused(topology, 9) == unknown
    assert topology.stats()["epoch"] == 1
    topology.goes_on()


def test_a_second_topology_of_the_same_name_is_told_who_has_it(topology: Topology) -> None:
    """Two people, or a forgotten shell: the second one is refused, the first goes on."""
    refused = topology.place.heronpy("run", *FOREVER)
    assert refused.code != 0
    assert len(refused.errors) == 1, refused.err
    assert f"'{NAME}' is already running" in refused.errors[0]
    topology.goes_on()
