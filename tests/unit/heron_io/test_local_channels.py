"""The connections of an instance to its stream manager, over the ends of either."""

import logging
import os
import resource
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from heron_core.wire.frames import Frames
from heron_core.wire.local_stream import CONTROL, DATA, ConnectionName, encoded
from heron_io import local_channels
from heron_io.local_channels import (
    UNSENT_CONTROL_MAX,
    UNSENT_MAX,
    ChannelKeeper,
    ControlChannel,
    DataChannel,
)
from heron_io.local_connection import SCRATCH_BYTES, scratch
from heron_io.local_listener import LocalListener

NAME = ConnectionName(DATA, 1, 7)
CONTROL_NAME = ConnectionName(CONTROL, 1, 7)
DEADLINE_SECS = 30.0
MANY_BYTES = 4 * 1024 * 1024
LARGE_BYTES = 64 * 1024 * 1024
INSTANCES = 200


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A short path for a socket: it may have 107 characters."""
    return str(tmp_path_factory.mktemp("s") / "s")


@pytest.fixture
def listener(path: str) -> Iterator[LocalListener]:
    """A stream manager's."""
    listener = LocalListener(path)
    yield listener
    listener.close()


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something."""
    end = time.monotonic() + DEADLINE_SECS
    while not condition():
        assert time.monotonic() < end, what
        select.select([], [], [], 0.001)


def taken(listener: LocalListener, number: int) -> list[tuple[ConnectionName, Frames]]:
    """So many messages that a stream manager gets."""
    messages: list[tuple[ConnectionName, Frames]] = []

    def enough() -> bool:
        messages.extend(listener.received())
        return len(messages) >= number

    until(enough, f"{number} messages arrive")
    return messages


def got(channel: DataChannel, number: int) -> list[Frames]:
    """So many messages that an instance gets."""
    messages: list[Frames] = []

    def enough() -> bool:
        if (frames := channel.receive()) is not None:
            messages.append(frames)
        return len(messages) >= number

    until(enough, f"{number} messages arrive")
    return messages


def known(listener: LocalListener, number: int) -> None:
    """Wait until so many connections have said their names."""
    until(lambda: not list(listener.received()) and len(listener) == number, "they are connected")


def renewed(channel: DataChannel | ControlChannel) -> None:
    """As the control thread: another connection."""
    until(channel.renew, "a stream manager listens")


def test_messages_go_both_ways_whole_and_in_order(path: str, listener: LocalListener) -> None:
    channel = DataChannel(path, NAME)
    sent = [[b"%d" % number, b"", b"x" * number] for number in range(500)]
    for frames in sent:
        channel.send(frames)
    assert taken(listener, 500) == [(NAME, frames) for frames in sent]
    for frames in sent:
        assert listener.send(NAME, frames)
    assert got(channel, 500) == sent
    assert channel.receive() is None
    channel.close()


def test_a_message_of_many_parts_and_a_large_one(path: str, listener: LocalListener) -> None:
    channel = DataChannel(path, NAME)
    parts = [b"%d" % number for number in range(3000)]
    large = [b"head", os.urandom(1024) * (LARGE_BYTES // 1024)]

    def send() -> None:
        channel.send(parts)
        channel.send(large)

    thread = threading.Thread(target=send)
    thread.start()
    assert taken(listener, 2) == [(NAME, parts), (NAME, large)]
    thread.join()
    assert listener.send(NAME, large)
    received: list[list[Frames]] = []
    thread = threading.Thread(target=lambda: received.append(got(channel, 1)))
    thread.start()
    until(lambda: not list(listener.received()) and received, "it arrives")
    thread.join()
    assert received == [[large]]
    channel.close()


def test_an_instance_that_reads_nothing_holds_up_neither_the_stream_manager_nor_others(
    path: str, listener: LocalListener
) -> None:
    other = ConnectionName(DATA, 2, 8)
    still, reading = DataChannel(path, NAME), DataChannel(path, other)
    known(listener, 2)
    for number in range(64):
        assert listener.send(NAME, [b"%d" % number, bytes(MANY_BYTES // 64)])
        assert listener.send(other, [b"%d" % number])
    assert len(got(reading, 64)) == 64
    received: list[Frames] = []
    thread = threading.Thread(target=lambda: received.extend(got(still, 64)))
    thread.start()
    until(lambda: not list(listener.received()) and len(received) == 64, "all arrive")
    thread.join()
    assert [each[0] for each in received] == [b"%d" % number for number in range(64)]
    still.close()
    reading.close()


def test_an_instance_waits_for_a_stream_manager_that_reads_nothing(
    path: str, listener: LocalListener
) -> None:
    channel, sent = DataChannel(path, NAME), []

    def send() -> None:
        for number in range(64):
            channel.send([b"%d" % number, bytes(MANY_BYTES // 64)])
            sent.append(number)

    thread = threading.Thread(target=send)
    thread.start()
    until(lambda: sent, "the kernel takes some")
    thread.join(0.2)
    assert thread.is_alive(), "4 MiB were taken that nobody reads"
    assert [int(frames[0]) for _, frames in taken(listener, 64)] == list(range(64))
    thread.join()
    channel.close()


def test_what_the_last_stream_manager_sent_is_received_before_the_next_ones(path: str) -> None:
    first = LocalListener(path)
    channel = DataChannel(path, NAME)
    known(first, 1)
    assert first.send(NAME, [b"of the first"])
    first.close()
    second = LocalListener(path)
    renewed(channel)
    known(second, 1)
    assert second.send(NAME, [b"of the second"])
    assert got(channel, 2) == [[b"of the first"], [b"of the second"]]
    channel.close()
    second.close()


def test_a_message_of_which_a_part_had_left_is_sent_whole_to_the_next(path: str) -> None:
    first = LocalListener(path)
    channel = DataChannel(path, NAME)
    known(first, 1)
    large = [b"large", bytes(MANY_BYTES)]
    thread = threading.Thread(target=lambda: channel.send(large))
    thread.start()
    until(lambda: _readable(first), "a part has left")
    first.close()
    second = LocalListener(path)
    renewed(channel)
    # Sent by the call under way, or if that did not wait, before the next message is received.

    def go_on() -> None:
        thread.join()
        channel.receive()

    main = threading.Thread(target=go_on)
    main.start()
    assert taken(second, 1) == [(NAME, large)]
    main.join()
    channel.close()
    second.close()


def _readable(listener: LocalListener) -> bool:
    return bool(select.select([listener.fileno()], [], [], 0)[0])


def test_so_many_messages_wait_for_a_stream_manager_then_the_instance_does(path: str) -> None:
    LocalListener(path).close()
    channel, sent = DataChannel(path, NAME), []

    def send() -> None:
        for number in range(2 * UNSENT_MAX):
            channel.send([b"%d" % number])
            sent.append(number)

    thread = threading.Thread(target=send)
    thread.start()
    until(lambda: len(sent) == UNSENT_MAX - 1, "those that may wait")
    thread.join(0.1)
    assert len(sent) == UNSENT_MAX - 1
    listener = LocalListener(path)
    renewed(channel)
    arrived = taken(listener, 2 * UNSENT_MAX)
    thread.join()
    assert [int(frames[0]) for _, frames in arrived] == list(range(2 * UNSENT_MAX))
    channel.close()
    listener.close()


def test_what_still_waits_at_the_end_goes_to_a_stream_manager_that_comes(path: str) -> None:
    channel = DataChannel(path, NAME)
    channel.send([b"last words"])
    listener = LocalListener(path)
    thread = threading.Thread(target=lambda: channel.close(DEADLINE_SECS))
    thread.start()
    assert taken(listener, 1) == [(NAME, [b"last words"])]
    thread.join()
    listener.close()


def test_what_does_not_leave_at_the_end_is_told_of(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    channel = DataChannel(path, NAME)
    channel.send([b"last words"])
    channel.close(0.05)
    assert "1 messages were not sent" in caplog.text


def test_bytes_of_another_protocol_are_cut_off_and_told_of(
    path: str, listener: LocalListener
) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(path)
        stranger.sendall(b"GET / HTTP/1.1\r\nHost: heron\r\n\r\n")
        until(lambda: not list(listener.received()) and listener.errors, "it is refused")
        with pytest.raises(BrokenPipeError):
            stranger.sendall(b"more")
    assert "unknown connection: starts with b'GET / HTTP" in listener.errors.popleft()
    assert len(listener) == 0


def test_a_process_that_sends_nonsense_is_cut_off_behind_what_came_before(
    path: str, listener: LocalListener
) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        peer.sendall(NAME.hello + b"".join(encoded([b"sense"])) + bytes(8))
        assert taken(listener, 1) == [(NAME, [b"sense"])]
        until(lambda: not list(listener.received()) and listener.errors, "it is cut off")
        assert peer.recv(1) == b""
    assert list(listener.errors) == ["a message of 0 frames in 0 bytes"]
    assert not listener.send(NAME, [b"answer"])


def test_without_descriptors_connections_wait_and_the_poll_is_quiet(
    path: str, listener: LocalListener, caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        peer.sendall(NAME.hello)
        resource.setrlimit(resource.RLIMIT_NOFILE, (peer.fileno() + 1, hard))
        try:
            for _ in range(5):
                assert not list(listener.received())
                listener.resume()
            assert not list(listener.received())
            assert not select.select([listener], [], [], 0)[0]
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert caplog.text.count("cannot accept connections for now") == 1
        listener.resume()
        known(listener, 1)


def test_a_hello_may_come_in_pieces(path: str, listener: LocalListener) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        for byte in NAME.hello:
            peer.sendall(bytes([byte]))
            list(listener.received())
        known(listener, 1)
    until(lambda: not list(listener.received()) and len(listener) == 0, "its end is seen")
    assert not listener.errors


def test_a_message_cut_off_by_the_end_of_its_process_has_no_effect_and_is_told_of(
    path: str, listener: LocalListener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        peer.sendall(NAME.hello + b"".join(encoded([b"whole"]) + encoded([b"half"]))[:-2])
        assert taken(listener, 1) == [(NAME, [b"whole"])]
        assert listener.send(NAME, [b"taken by the kernel"])
    until(lambda: not list(listener.received()) and len(listener) == 0, "its end is seen")
    assert not listener.send(NAME, [b"for nobody"])
    assert "task 1 has ended" in caplog.text
    assert "14 bytes of a message from it" in caplog.text


def test_a_second_connection_of_a_name_takes_the_place_of_the_first(
    path: str, listener: LocalListener
) -> None:
    first = DataChannel(path, NAME)
    known(listener, 1)
    second = DataChannel(path, NAME)
    until(lambda: list(listener.received()) or first.receive() or first.descriptor < 0, "cut")
    assert listener.send(NAME, [b"to the second"])
    assert got(second, 1) == [[b"to the second"]]
    first.close()
    second.close()


def test_two_hundred_instances_connect_at_once_and_none_is_passed_over(
    path: str, listener: LocalListener
) -> None:
    channels = [DataChannel(path, ConnectionName(DATA, task, 9)) for task in range(INSTANCES)]
    for task, channel in enumerate(channels):
        channel.send([b"%d" % task])
    senders = [name.task for name, _ in taken(listener, INSTANCES)]
    assert sorted(senders) == list(range(INSTANCES))
    for channel in channels:
        channel.close()


def test_a_listener_leaves_the_file_of_its_successor(path: str) -> None:
    first = LocalListener(path)
    second = LocalListener(path)
    first.close()
    channel = DataChannel(path, NAME)
    assert channel.descriptor >= 0
    channel.close()
    second.close()
    second.close()
    assert not os.path.exists(path)


def test_control_messages_wait_for_a_stream_manager_up_to_a_limit(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    control = ControlChannel(path, CONTROL_NAME)
    for number in range(UNSENT_CONTROL_MAX + 2):
        control.send(b"%d" % number)
    assert control.dropped == 2
    assert caplog.text.count("dropping messages to it") == 1
    listener = LocalListener(path)
    renewed(control)
    control.flush()
    arrived = [int(frames[0]) for _, frames in taken(listener, UNSENT_CONTROL_MAX)]
    assert arrived == list(range(UNSENT_CONTROL_MAX))
    control.close()
    listener.close()


class Kept:
    """An instance whose main thread does not come to its data channel."""

    def __init__(self, path: str) -> None:
        self.data, self.control = DataChannel(path, NAME), ControlChannel(path, CONTROL_NAME)
        self.woken = 0
        self.poller = select.poll()
        self.keeper = ChannelKeeper(self.data, self.control, self.poller, self._wake)

    def _wake(self) -> None:
        self.woken += 1

    def turn(self) -> bool:
        """As the control thread; whether a new stream manager is to be told."""
        self.keeper.register()
        ready = dict(self.poller.poll(1))
        self.control.flush()
        self.control.receive()
        return self.keeper.serve(ready, time.monotonic())

    def close(self) -> None:
        """Both channels."""
        self.data.close()
        self.control.close()


def test_a_new_stream_manager_has_the_data_connection_before_it_is_told(path: str) -> None:
    first = LocalListener(path)
    kept = Kept(path)
    known(first, 2)
    assert not kept.turn()
    first.close()
    until(lambda: not kept.turn() and kept.keeper.due < float("inf"), "the end is noticed")
    second = LocalListener(path)
    until(kept.turn, "it is to be told")
    assert kept.woken == 1
    known(second, 2)
    assert second.send(NAME, [b"data"])
    assert got(kept.data, 1) == [[b"data"]]
    kept.close()
    second.close()


def test_the_first_stream_manager_may_come_late_and_is_told_nothing_twice(path: str) -> None:
    kept = Kept(path)
    assert kept.keeper.due == 0.0, "it connects before it waits for anything else"
    assert not kept.turn()
    listener = LocalListener(path)
    until(lambda: not kept.turn() and kept.control.descriptor >= 0, "it is connected")
    known(listener, 2)
    assert kept.keeper.due == float("inf")
    kept.close()
    listener.close()


def test_a_data_connection_that_is_cut_alone_is_made_again(
    path: str, listener: LocalListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(path)
    known(listener, 2)
    other = DataChannel(path, NAME)  # takes its place
    until(lambda: not kept.turn() and not list(listener.received()) and kept.woken, "made again")
    until(lambda: not list(listener.received()) and kept.data.receive() is None, "it is there")
    assert listener.send(NAME, [b"data"])
    assert got(kept.data, 1) == [[b"data"]]
    other.close()
    kept.close()


def test_attempts_to_connect_become_rarer(path: str) -> None:
    kept = Kept(path)
    kept.keeper.register()
    pauses, now = [], 0.0
    for _ in range(6):
        assert not kept.keeper.serve({}, now)
        pauses.append(kept.keeper.due - now)
        now = kept.keeper.due
    assert pauses[0] == pytest.approx(local_channels.RECONNECT_SECS)
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(local_channels.RECONNECT_MAX_SECS)
    kept.close()


def test_where_a_connection_reads_takes_memory_as_far_as_it_is_filled() -> None:
    # An idle instance has two of them, and receives a hundred bytes a second.
    process = psutil.Process()
    before = process.memory_info().rss
    buffers = [scratch() for _ in range(INSTANCES)]
    for buffer in buffers:
        buffer[:100] = bytes(100)
    assert process.memory_info().rss - before < INSTANCES * SCRATCH_BYTES // 4
    assert {len(buffer) for buffer in buffers} == {SCRATCH_BYTES}
