"""The bridge between a client and the ends of a topology: its tables, and its connections."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from heron_connectors.bridge.client_items import ClientItems
from heron_connectors.bridge.client_rows import ClientRows
from heron_connectors.bridge.frames import (
    BATCH_BYTES_MAX,
    GREETING_BYTES_MAX,
    BridgeFrame,
    EndHello,
    batches,
    closed,
    frame,
    read_frame,
)
from heron_connectors.bridge.link import BridgeLink, ClientAddress
from heron_connectors.bridge.server import BridgeServer
from heron_core.errors import HeronError, ProtocolError

TOKEN = b"t" * 32
WAIT_SECS = 20.0


def numbers(taken: list[Any]) -> dict[Any, list[int]]:
    return {session: [number for number, _ in parts] for session, parts in taken}


def test_items_of_a_lost_session_are_sent_again_in_front_of_all_others() -> None:
    outgoing = ClientItems(window=6)
    for _ in range(5):
        outgoing.put(b"x")
    outgoing.attach("a")
    assert outgoing.take() == []  # without demand
    outgoing.demand("a", 3)
    assert numbers(outgoing.take()) == {"a": [1, 2, 3]}
    outgoing.acked([2])
    outgoing.detach("a")
    outgoing.attach("b")
    outgoing.demand("b", 9)
    assert numbers(outgoing.take()) == {"b": [1, 3, 4, 5]}
    assert outgoing.repeated_count == 2
    outgoing.acked([1, 2, 3])  # 2 again: settled before
    outgoing.abandoned([4])
    assert (outgoing.acked_count, outgoing.abandoned_count, outgoing.unsettled) == (3, 1, 1)
    outgoing.is_ended = True
    assert not outgoing.is_over
    outgoing.acked([5])
    assert outgoing.is_over


def test_the_window_bounds_the_unacked_items_and_demand_spreads_them() -> None:
    outgoing = ClientItems(window=4)
    for session in "ab":
        outgoing.attach(session)
        outgoing.demand(session, 10)
    for _ in range(4):
        outgoing.put(b"x")
    assert outgoing.is_full
    assert numbers(outgoing.take()) == {"a": [1, 3], "b": [2, 4]}
    outgoing.acked([3])
    assert not outgoing.is_full


def hello(incarnation: str, task: int = 3, tasks: int = 1) -> EndHello:
    return EndHello("sink", False, task, tasks, incarnation)


def test_rows_that_come_again_after_a_lost_connection_are_recognised() -> None:
    incoming = ClientRows()
    incoming.attach(hello("x"))
    assert incoming.add((3, "x"), [(1, b"a"), (2, b"b")]) == []
    row = incoming.next_row()
    assert row is not None
    incoming.took(row)
    incoming.attach(hello("x"))
    assert incoming.add((3, "x"), [(1, b"a"), (2, b"b"), (3, b"c")]) == [1]
    assert [incoming.next_row().data for _ in range(2)] == [b"b", b"c"]  # type: ignore[union-attr]
    assert incoming.repeated_count == 2


def test_waiting_rows_of_a_dead_process_are_dropped_because_they_come_again() -> None:
    incoming = ClientRows()
    incoming.attach(hello("x"))
    incoming.attach(hello("other", task=4))
    incoming.add((3, "x"), [(1, b"a"), (2, b"b")])
    incoming.add((4, "other"), [(1, b"c")])
    taken = incoming.next_row()
    assert taken is not None
    incoming.attach(hello("y"))
    assert incoming.dropped_count == 1
    incoming.took(taken)  # of the dead process
    assert incoming.add((3, "y"), [(1, b"a")]) == []
    assert [incoming.next_row().data for _ in range(2)] == [b"c", b"a"]  # type: ignore[union-attr]


def test_a_sink_is_over_when_all_its_tasks_are_and_a_replaced_task_is_not() -> None:
    incoming = ClientRows()
    incoming.attach(hello("x", 3, 2))
    incoming.finish(3)
    assert not incoming.is_over
    incoming.attach(hello("y", 3, 2))
    incoming.attach(hello("z", 4, 2))
    incoming.finish(4)
    assert not incoming.is_over
    incoming.finish(3)
    assert incoming.is_over


def test_batches_of_parts_are_bounded_by_bytes() -> None:
    half = b"x" * (BATCH_BYTES_MAX // 2)
    lists = batches([(1, half), (2, half), (3, half), (4, 3 * half), (5, b"")])
    assert [[number for number, _ in batch] for batch in lists] == [[1, 2], [3], [4], [5]]
    assert batches([]) == []


def run(main: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(WAIT_SECS):
            await main

    asyncio.run(limited())


WRONG_FRAMES = {
    "too long": (GREETING_BYTES_MAX + 1).to_bytes(4, "big"),
    "not msgpack": b"\0\0\0\1\xc1",
    "not a list": b"\0\0\0\1\1",
    "an unknown kind": b"\0\0\0\2\x91\x7f",
}


@pytest.mark.parametrize("case", WRONG_FRAMES)
def test_a_frame_of_another_form_is_refused(case: str) -> None:
    async def main() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(WRONG_FRAMES[case])
        with pytest.raises(ProtocolError):
            await read_frame(reader, GREETING_BYTES_MAX)

    run(main())


class End:
    """An instance's end, that records what it is told."""

    def __init__(self, port: int, token: bytes, is_source: bool) -> None:
        self.clients: list[str] = []
        self.frames: list[tuple[BridgeFrame, list[Any]]] = []
        self.reports: list[str] = []
        self.changed = asyncio.Event()
        name = "source" if is_source else "sink"
        address = ClientAddress("127.0.0.1", port, token, None)
        greeting = EndHello(name, is_source, 3, 1, "x")
        self.link = BridgeLink(address, greeting, self._connected, self._take, self._report)

    def _connected(self, client: str) -> None:
        self.clients.append(client)
        self.changed.set()

    def _take(self, kind: BridgeFrame, fields: list[Any]) -> None:
        self.frames.append((kind, fields))
        self.changed.set()

    def _report(self, what: str, text: str) -> None:
        self.reports.append(f"{what}: {text}")
        self.changed.set()

    async def until(self, holds: Any) -> None:
        while not holds():
            self.changed.clear()
            await self.changed.wait()


def test_items_and_rows_cross_and_are_acked() -> None:
    async def main() -> None:
        outgoing, incoming = ClientItems(10), ClientRows()
        server = BridgeServer(TOKEN, {"source": outgoing}, {"sink": incoming})
        port = await server.start("127.0.0.1", 0, None)
        source, sink = End(port, TOKEN, True), End(port, TOKEN, False)
        await source.until(lambda: source.clients)
        outgoing.put(b"item")
        source.link.send(BridgeFrame.DEMAND, 5)
        await source.until(lambda: source.frames)
        assert source.frames == [(BridgeFrame.ITEMS, [[[1, b"item"]]])]
        source.link.send(BridgeFrame.ACKED, [1])
        await server.until(lambda: not outgoing.unsettled)
        await sink.until(lambda: sink.clients)
        sink.link.send(BridgeFrame.ROWS, [[1, b"row"]])
        await server.until(lambda: incoming.unread > 0)
        row = incoming.next_row()
        assert row is not None
        server.took("sink", row)
        await sink.until(lambda: sink.frames)
        assert sink.frames == [(BridgeFrame.TAKEN, [[1]])]
        sink.link.send(BridgeFrame.ACKED, [1])  # not a frame of a sink
        await sink.until(lambda: len(sink.clients) == 2)
        assert server.malformed == 1
        for end in (source, sink):
            await end.link.close()
        await server.close()

    run(main())


def test_neither_side_talks_to_the_other_without_the_token() -> None:
    async def main() -> None:
        server = BridgeServer(TOKEN, {"source": ClientItems(1)}, {})
        port = await server.start("127.0.0.1", 0, None)
        stranger = End(port, b"u" * 32, True)
        await stranger.until(lambda: stranger.reports)
        assert stranger.clients == []
        assert server.refused >= 1
        assert server.connected == 0
        await stranger.link.close()
        await server.close()

    run(main())


def test_an_end_does_not_trust_another_process_at_the_clients_port() -> None:
    """A client has ended, and its port has another owner, who does not know the token."""

    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(frame(BridgeFrame.CHALLENGE, b"n" * 16))
            await read_frame(reader, GREETING_BYTES_MAX)
            writer.write(frame(BridgeFrame.WELCOME, b"p" * 32, "client"))
            writer.write(frame(BridgeFrame.ITEMS, [[1, b"item"]]))
            await closed(writer)

        other = await asyncio.start_server(serve, "127.0.0.1", 0)
        end = End(other.sockets[0].getsockname()[1], TOKEN, True)
        await end.until(lambda: end.reports)
        assert "does not have this topology's token" in end.reports[0]
        assert end.frames == []
        await end.link.close()
        other.close()

    run(main())


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    async def main() -> None:
        first, second = (BridgeServer(TOKEN, {}, {}) for _ in range(2))
        port = await first.start("127.0.0.1", 0, None)
        with pytest.raises(HeronError, match=f"cannot listen on 127.0.0.1:{port}"):
            await second.start("127.0.0.1", port, None)
        await first.close()

    run(main())
