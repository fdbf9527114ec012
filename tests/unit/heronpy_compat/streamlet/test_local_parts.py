"""Graphs with local parts, run in the tester."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heron_core.errors import UsageError
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.materializer import materialize
from heronpy_compat.streamlet.windowconfig import WindowConfig
from heronpy_compat.testing import materialize_in_tester

LINES = ["To be or not to be", "That is the question"] * 10
WORDS = Counter(word for line in LINES for word in line.lower().split())


def counted(builder: Builder, source: Any = None) -> None:
    lines = builder.new_local_source(source).map(str.lower).remote()
    lines.flat_map(str.split).group_by(str).count().set_num_partitions(2).local()


def test_a_local_part_feeds_the_topology_and_reads_its_results() -> None:
    """Each element gives a result: the counts of a word are 1, 2, 3, …"""

    async def main() -> None:
        builder = Builder()
        counted(builder)
        async with materialize_in_tester(builder) as flow:
            for line in LINES:
                await flow.source.send(line)
            await flow.source.settled()
            assert flow.sink.unread == WORDS.total()
            flow.source.end()
            rows = [row async for row in flow.sink]
        assert dict(rows) == WORDS

    asyncio.run(main())


def test_a_source_with_an_iterable_ends_by_itself() -> None:
    async def lines() -> AsyncIterator[str]:
        for line in LINES:
            yield line

    async def main(source: Any) -> None:
        builder = Builder()
        counted(builder, source)
        async with materialize_in_tester(builder) as flow:
            with pytest.raises(UsageError, match="cannot be sent"):
                await flow.source.send("x")
            assert dict([row async for row in flow.sink]) == WORDS

    asyncio.run(main(LINES))
    asyncio.run(main(lines()))


def test_local_operations_are_functions_coroutines_and_generators() -> None:
    async def later(number: int) -> int:
        await asyncio.sleep(0)
        return number + 1

    async def pairs(numbers: AsyncIterator[int]) -> AsyncIterator[tuple[int, int]]:
        last = 0
        async for number in numbers:
            yield last, number
            last = number

    async def main() -> None:
        builder = Builder()
        numbers = builder.new_local_source(range(4)).map(later).flat_map(lambda n: [n, -n])
        rows = numbers.remote().map(lambda n: 10 * n).local()
        rows.filter(lambda n: n > 0).through(pairs)
        async with materialize_in_tester(builder) as flow:
            found = [row async for row in flow.sink]
        assert found == [(0, 10), (10, 20), (20, 30), (30, 40)]

    asyncio.run(main())


def test_windows_come_with_the_virtual_time() -> None:
    async def main() -> None:
        builder = Builder()
        window = WindowConfig.create_tumbling_window(10)
        numbers = builder.new_local_source().remote()
        numbers.reduce_by_window(window, lambda total, number: (total or 0) + number).local()
        async with materialize_in_tester(builder) as flow:
            for number in (1, 2, 3):
                await flow.source.send(number)
            while not await flow.ask(lambda tester: len(tester.emitted("source")) == 3):
                await asyncio.sleep(0)
            await flow.advance(10)
            assert (await anext(flow.sink))[1] == 6
            await flow.source.settled()

    asyncio.run(main())


def test_what_the_local_part_raises_is_raised_where_the_client_waits() -> None:
    async def main() -> None:
        builder = Builder()
        counted(builder)
        async with materialize_in_tester(builder) as flow:
            with suppress(TypeError):
                await flow.source.send(1)  # str.lower of an int
            with pytest.raises(TypeError, match="lower"):
                await flow.source.settled()
            with pytest.raises(TypeError, match="lower"):
                await anext(flow.sink)

    asyncio.run(main())


def test_what_the_topology_raises_is_an_abandoned_element() -> None:
    async def main() -> None:
        builder = Builder()
        builder.new_local_source().remote().map(lambda n: 1 // n).local()
        async with materialize_in_tester(builder) as flow:
            await flow.source.send(0)
            await flow.source.send(1)
            with pytest.raises(Exception, match="1 elements of source 'source' were abandoned"):
                await flow.source.settled()
            assert await anext(flow.sink) == 1
            errors = await flow.ask(lambda tester: tester.errors("map-1"))
            assert "ZeroDivisionError" in str(errors[0])

    asyncio.run(main())


def test_a_window_of_unacked_elements_bounds_what_is_sent() -> None:
    """Elements wait in an open window of the topology: the third `send` waits for the first ack."""

    async def main() -> None:
        builder = Builder()
        window = WindowConfig.create_tumbling_window(10)
        builder.new_local_source().remote().reduce_by_window(window, lambda *pair: pair).local()
        async with materialize_in_tester(builder, window=2) as flow:
            sending = asyncio.gather(*(flow.source.send(number) for number in range(9)))
            while not await flow.ask(lambda tester: len(tester.emitted("source")) == 2):
                await asyncio.sleep(0)
            assert not sending.done()
            assert flow.source.unsettled == 9
            while flow.source.unsettled:
                await flow.advance(10)
            await sending

    asyncio.run(main())


def both(builder: Builder) -> Any:
    return builder.new_local_source().remote().local()


WRONG: dict[str, tuple[Any, str]] = {
    "no reader twice": (
        lambda builder: [each := builder.new_local_source(), each.map(str), each.map(str)],
        "has a reader already",
    ),
    "not back into the topology": (lambda builder: both(builder).remote(), "cannot lead back"),
    "a plain function": (
        lambda builder: builder.new_local_source().through(str), "`async def` with `yield`"
    ),
    "a function": (lambda builder: builder.new_local_source().map(3), "map takes a function"),
    "two sources": (lambda builder: [both(builder), both(builder)], "rename one"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_graph_says_why(case: str) -> None:
    build, why = WRONG[case]
    with pytest.raises(StreamletError, match=why):
        build(Builder())


def test_a_graph_with_local_ends_is_not_run_without_a_client() -> None:
    builder = Builder()
    counted(builder)
    with pytest.raises(StreamletError, match=r"'source' is a local end.*materialize"):
        builder.build(TopologyBuilder("alone"))


def entered(builder: Builder, config: Config | None = None, **options: Any) -> None:
    async def main() -> None:
        async with materialize(builder, "never", config, **options):
            raise AssertionError("it was materialized")

    asyncio.run(main())


def test_wrong_arguments_are_refused_before_anything_starts(
    tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    builder = Builder()
    counted(builder)
    with pytest.raises(StreamletError, match="no local part"):
        entered(Builder())
    with pytest.raises(UsageError, match="unencrypted: give certificate="):
        entered(builder, host="10.0.0.1")
    with pytest.raises(UsageError, match="go together"):
        entered(builder, certificate="c.pem")
    with pytest.raises(UsageError, match="at least one"):
        entered(builder, window=0)
    with pytest.raises(UsageError, match="leave out attach"):
        entered(builder, attach=True)
    exact = Config()
    exact.set_delivery_semantics(Config.EFFECTIVELY_ONCE)
    with pytest.raises(StreamletError, match=r"takes topology.reliability.mode ATLEAST_ONCE"):
        entered(builder, exact)
    assert list(tmp_path.iterdir()) == []
