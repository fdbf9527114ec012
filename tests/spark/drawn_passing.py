"""Bolts of drawn topologies that pass rows on, each in another shape of user code.

Which rows a bolt fails is a function of its name and of a row's number.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from drawn_components import DEFAULT, Placed, Stateful, by_stream, chance
from heronpy_compat import BatchBolt, Bolt
from heronpy_compat.api.emission import Emission

FAIL_EVERY = 6
RAISES, FAILS, RAISES_ONCE, NEVER = "raises", "fails", "raises once", "never"
POOL_THREADS = 3


class Misfortune(ValueError):
    """Exception of a bolt for a row."""


def fails(name: str, number: int) -> bool:
    """Whether a bolt of that name fails a row."""
    return chance(name, number) % FAIL_EVERY == 0


class Failing(Placed):
    def initialize(self, config: Any, context: Any) -> None:
        self.restore(config, context)

    def misfortune(self, number: int) -> bool:
        """Raises, or whether the tuple is to be failed."""
        how = self.config["test.how"]
        if how == NEVER or not fails(self.name, number):
            return False
        if how == RAISES or (how == RAISES_ONCE and self.is_first(number)):
            raise Misfortune(f"row {number}")
        return bool(how == FAILS)

    def is_first(self, number: int) -> bool:
        """Whether the row comes here first, over all processes."""
        path = os.path.join(self.config["test.results"], f"{self.name}-{self.index}-{number}.once")
        try:
            Path(path).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


class Sending(Failing):
    """Emits rows on their streams."""

    def send(self, values: Any, **anchors: Any) -> None:
        """A row, with anchors if given."""
        for way in self.ways(values[0]):
            self.emit(list(values), **way, **anchors)  # type: ignore[attr-defined]

    def emissions(self, values: Any) -> Iterator[Any]:
        for way in self.ways(values[0]):
            yield list(values) if way == {"stream": DEFAULT} else Emission(list(values), **way)


class Passing(Sending, Stateful, Bolt):
    """Emits its input."""

    auto_anchor = True

    def process(self, tup: Any) -> None:
        if self.config["test.emits.first"]:
            self.send(tup.values, anchors=[tup])
        if self.misfortune(tup.values[0]):
            self.fail(tup)
            return
        if not self.config["test.emits.first"]:
            self.send(tup.values, anchors=[tup])
        self.ack(tup)


class PassingAwaited(Passing):
    """Passing by a coroutine, several under way."""

    async def process(self, tup: Any) -> None:  # type: ignore[override]
        await some_time(tup)
        super().process(tup)


class PassingAwaitedAlone(Sending, Bolt):
    """Passing by a coroutine without a state: calls under way are in the checkpoint, and
    repeated."""

    async def process(self, tup: Any) -> None:  # type: ignore[override]
        if self.config["test.emits.first"]:
            self.send(tup.values)
        await some_time(tup)
        if self.misfortune(tup.values[0]):
            self.fail(tup)
        elif not self.config["test.emits.first"]:
            self.send(tup.values)


class PassingYields(Sending, Stateful, Bolt):
    """Passing by a generator."""

    def process(self, tup: Any) -> Iterator[Any]:  # type: ignore[override]
        if self.config["test.emits.first"]:
            yield from self.emissions(tup.values)
        if self.misfortune(tup.values[0]):
            self.fail(tup)
        elif not self.config["test.emits.first"]:
            yield from self.emissions(tup.values)


class PassingAwaitsAndYields(Sending, Bolt):
    """Passing by an asynchronous generator."""

    async def process(self, tup: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        if self.config["test.emits.first"]:
            for each in self.emissions(tup.values):
                yield each
        await some_time(tup)
        if self.misfortune(tup.values[0]):
            self.fail(tup)
        elif not self.config["test.emits.first"]:
            for each in self.emissions(tup.values):
                yield each


async def some_time(tup: Any) -> None:
    """Different for each row, for an order of ends unlike the order of arrival."""
    await asyncio.sleep(0.001 * (tup.values[0] % 3))


class PassingLater(Sending, Bolt):
    """Keeps its tuples until a tick or the end."""

    acks_later = True

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.waiting: list[Any] = []

    def process(self, tup: Any) -> None:
        self.waiting.append(tup)

    def process_tick(self, tup: Any) -> None:
        self.on_finish()

    def on_finish(self) -> None:
        waiting, self.waiting = self.waiting, []
        for tup in waiting:
            self.pass_on(tup)

    def pass_on(self, tup: Any) -> None:
        """Or fail."""
        if self.misfortune(tup.values[0]):
            self.fail(tup)
            return
        self.send(tup.values, anchors=[tup])
        self.ack(tup)


class PassingInThreads(PassingLater):
    """Passing by the threads of a pool, as available."""

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.pool = ThreadPoolExecutor(POOL_THREADS)
        self.calls: list[Any] = []

    def process(self, tup: Any) -> None:
        self.calls.append(self.pool.submit(self.pass_on, tup))

    def is_idle(self) -> bool:
        """Whether all calls have ended: TopologyTester asks."""
        return all(each.done() for each in self.calls)

    def on_finish(self) -> None:
        for each in self.calls:
            each.result()


class PassingAtTicks(Sending, Stateful, Bolt):
    """Keeps its input until a tick or the end."""

    def initialize(self, config: Any, context: Any) -> None:
        self.restore(config, context)
        self.waiting: list[Any] = []
        """Unacked tuples; their values are kept as well."""

    def process(self, tup: Any) -> None:
        self.kept["values"] = [*self.kept.get("values", []), list(tup.values)]
        self.waiting.append(tup)

    def process_tick(self, tup: Any) -> None:
        self.let_go()

    def on_finish(self) -> None:
        self.let_go()

    def let_go(self) -> None:
        """Of all; rows kept by a previous process are without tuples."""
        values, tuples = self.kept.pop("values", []), self.waiting
        self.waiting = []
        restored = len(values) - len(tuples)
        for at, each in enumerate(values):
            self.send(each, anchors=tuples[at - restored :][:1] if at >= restored else [])
        for tup in tuples:
            self.ack(tup)


class PassingColumns(Failing, Stateful, BatchBolt):
    """Passing of batches."""

    def process_batch(self, batch: Any) -> None:
        for each in batch["number"].to_pylist():
            self.misfortune(each)
        numbers = batch["number"].to_pylist()
        for together in by_stream(self.config["test.sends"], numbers):
            rows = batch.filter(pa.array([each in together for each in numbers]))
            for way in self.ways(together[0]):
                self.emit_batch(rows, **way)
