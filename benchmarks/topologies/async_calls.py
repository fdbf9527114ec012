"""Calls of 100 ms by coroutines of one instance.

Config: `benchmark.count` calls; `topology.async.capacity` of them are under way at a time.
"""

import asyncio
import time
from typing import Any

from benchmarks.reports import COUNT_KEY, report
from heronpy_compat import Bolt, Spout, Topology

CALL_SECS = 0.1


class Numbers(Spout):
    """Emits them at full speed."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """None is emitted."""
        self.left = int(config[COUNT_KEY])

    def next_tuple(self) -> None:
        """One number."""
        if self.left:
            self.left -= 1
            self.emit([self.left], tup_id=self.left)
        else:
            self.finish()


class Calls(Bolt):
    """A call for each number."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """None has begun."""
        self.config = config
        self.began, self.ended, self.number = 0.0, 0.0, 0

    async def process(self, tup: Any) -> None:
        """One call."""
        self.began = self.began or time.monotonic()
        await asyncio.sleep(CALL_SECS)
        self.ended = time.monotonic()
        self.number += 1

    def on_finish(self) -> None:
        """All have ended."""
        secs = self.ended - self.began
        report(self.config, "calls", seconds=secs, number=self.number)


class AsyncCalls(Topology):
    """spout -> shuffle -> bolt"""

    numbers = Numbers.spec()
    calls = Calls.spec(inputs=[numbers])
