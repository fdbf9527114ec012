"""A client of a graph with local parts: `python flow_client.py NAME MODE COUNT`.

`squares`: sends COUNT numbers, prints each square, and the unread and unsettled numbers as JSON.
`slow`: reads ten rows, then waits for a line on stdin, and reads the rest.
Any other mode is `squares`.
"""

import asyncio
import json
import sys
from typing import Any

from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.flow import Flow
from heronpy_compat.streamlet.materializer import materialize

SLOW_ROWS = 10
PAYLOAD = "x" * 1000


def squared(pair: list[Any]) -> list[Any]:
    return [pair[0], pair[0] ** 2, pair[1]]


def graph() -> Builder:
    builder = Builder()
    numbers = builder.new_local_source().map(lambda number: [number, PAYLOAD]).remote()
    numbers.set_num_partitions(2).map(squared).local().map(lambda row: row[:2])
    return builder


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


async def send(flow: Flow, count: int) -> None:
    for number in range(count):
        await flow.source.send(number)
    flow.source.end()


async def read(flow: Flow, most: int | None = None) -> None:
    count = 0
    while count != most:
        try:
            row = await anext(flow.sink)
        except StopAsyncIteration:
            break
        tell(row=row)
        count += 1


async def slow(flow: Flow) -> None:
    await read(flow, SLOW_ROWS)
    tell(waits=True)
    while (await asyncio.to_thread(sys.stdin.readline)).strip() != "read":
        tell(unread=flow.sink.unread, unsettled=flow.source.unsettled)
    await read(flow)


async def main(name: str, mode: str, count: str) -> None:
    config = Config({"topology.enable.message.timeouts": False})
    async with materialize(graph(), name, config, window=500) as flow:
        sending = asyncio.create_task(send(flow, int(count)))
        await (slow(flow) if mode == "slow" else read(flow))
        await sending
        tell(unread=flow.sink.unread, unsettled=flow.source.unsettled)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
