"""A topology in which tuples fail, come too late or wait for a call, for both engines."""

import asyncio
import json
from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.windows import KeyedWindowBolt, Tumbling, WindowedBolt

COUNT = 300
EVERY = 10
"""Period of failed numbers, and of late ones with half of the period."""
EACH = 7
LAG = 0


class Numbers(Spout):
    """Numbers with their event time; each twentieth comes a second after its time."""

    outputs = ["number", "time_ms"]
    at = 0

    def next_tuple(self) -> None:
        if self.at == COUNT:
            self.finish()
            return
        number, self.at = self.at, self.at + 1
        late = 1000 if number % (2 * EVERY) == 2 * EVERY - 1 else 0
        self.emit([number, 10_000 + 10 * number - late], tup_id=number)


class Fails(Bolt):
    """Fails every tenth number."""

    outputs = ["number"]

    def process(self, tup: Any) -> None:
        if tup.values[0] % EVERY == 0:
            self.fail(tup)
            return
        self.emit([tup.values[0]])
        self.ack(tup)


class Waits(Bolt):
    """Asks a slow service."""

    outputs = ["number"]

    async def process(self, tup: Any) -> None:
        """Twice the number, in a while."""
        await asyncio.sleep(0.001 * (tup.values[0] % 3))
        self.emit([2 * tup.values[0]])


class ByEvents(KeyedWindowBolt):
    """Counts by windows of event time, without patience."""

    outputs = ["start", "number"]
    timestamp_field = "time_ms"
    window = Tumbling(500)
    lag_ms = LAG

    def values(self, result: Any) -> Any:
        return [result.window.start_ms, result.value]


class BySevens(WindowedBolt):
    """Sums of seven numbers."""

    outputs = ["number"]

    def execute(self, window: Any) -> None:
        """All of a window."""
        self.emit([sum(each.values[0] for each in window.get())])


class Seen(Bolt):
    """Prints its input; emits some, although without declared outputs."""

    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        self.seen.append([tup.component, *tup.values])
        if tup.component == "waits":
            self.emit(tup.values)
        self.ack(tup)

    def on_finish(self) -> None:
        print(json.dumps({"seen": self.seen}))


BOLTS = ("fails", "waits", "by_events", "by_sevens")


class Failing(Topology):
    config = {"topology.bolts.watermark.event.interval.ms": 0}
    numbers = Numbers.spec()
    fails = Fails.spec(inputs=[numbers])
    waits = Waits.spec(inputs=[numbers])
    by_events = ByEvents.spec(inputs={numbers: Grouping.fields("number")})
    by_sevens = BySevens.spec(
        inputs=[numbers],
        config={
            "topology.bolts.window.length.count": EACH,
            "topology.bolts.window.sliding.interval.count": EACH,
        },
    )
    seen = Seen.spec(inputs=[fails, waits, by_events, by_sevens])
