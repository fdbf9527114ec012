"""Bolts whose `process` is a coroutine in a simulated cluster that takes checkpoints.

Their event loops live in the cluster's time, so a run depends on its seed alone. A call takes a
while, raises or never ends at times, and through all deaths meanwhile the emits count once: the
bolts behind count every ident as often as they must.
"""

import asyncio
from random import Random
from typing import Any

from heron_core import config as keys
from heron_core.records import replace
from heron_core.topology import DEFAULT_STREAM, TopologySpec
from tests.sim.cluster import Cluster
from tests.sim.effectively_once import CountingBolt, children
from tests.sim.topologies import DIRECT_STREAM, KEYS, SimBolt

CALLING_SHARE = 0.7
"""Of the bolts with readers; one at least."""
COUNTING_SHARE = 0.3
"""Share with a state, whose checkpoint waits for the calls."""
TIMEOUT_MS = 60
CALL_SECS = (0.0, 0.0, 0.001, 0.005, 0.02)
HANGING_SHARE = 0.02
"""Of the failing calls: the share ended only by the limit."""


class CallingBolt(SimBolt):
    """Asks an outside service about each tuple, and passes on the answer. Keeps no state."""

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.numbers: dict[int, tuple[Any, list[tuple[str, int]]]] = {}
        """By the place of a tuple in memory: the tuple, to keep the place taken; and (stream,
        number) of each emit, in the order of the tuples, also the order of sends if the topology is
        ordered."""

    async def process(self, tup: Any) -> None:  # type: ignore[override]
        (ident,) = tup.values[5]
        if id(tup) not in self.numbers:
            self.receive(tup)
            self.numbers[id(tup)] = tup, self.reserved(ident)
        await self.call()
        _, numbers = self.numbers[id(tup)]
        for stream, number in numbers:
            self.send(stream, number, ident)
        await self.call()
        del self.numbers[id(tup)]

    def reserved(self, ident: int) -> list[tuple[str, int]]:
        """Numbers of a tuple's emits."""
        emitter, most = self.emitter, self.emitter.habits.children_max
        return [
            (stream, emitter.journal.emitted(emitter.process_id, emitter.name, stream, [],
                                             emitter.packing))
            for stream in emitter.streams
            for _ in range(children(emitter.name, stream, ident, most))
        ]  # fmt: skip

    def send(self, stream: str, number: int, ident: int, **how: Any) -> None:
        """Emit one tuple; `how`: further arguments of `emit`."""
        emitter, idents = self.emitter, [ident]
        if stream != DEFAULT_STREAM:
            how["stream"] = stream
        if stream == DIRECT_STREAM:
            how["direct_task"] = emitter.rng.choice(emitter.direct_tasks)
        key = ident % KEYS
        values = [emitter.process_id, number, emitter.name, stream, [], idents, key, None]
        self.emit(values, **how)
        idents.clear()  # what was emitted is not to change by this

    async def call(self) -> None:
        """A call to the outside."""
        emitter = self.emitter
        await asyncio.sleep(emitter.rng.choice(CALL_SECS))
        habits = emitter.habits
        if habits.raising is not None and habits.raises_left:
            if habits.raising.random() < HANGING_SHARE:
                habits.raises_left -= 1
                await asyncio.sleep(1e9)
            habits.may_raise()

    def on_finish(self) -> None:
        """Release all tuples."""


class CallingCountingBolt(CountingBolt):
    """A calling bolt with counts: a checkpoint must not have half of a call's changes, nor changes
    of a failed call."""

    async def process(self, tup: Any) -> None:  # type: ignore[override]
        self.receive(tup)
        (ident,) = tup.values[5]
        self.counts[ident] = self.counts.get(ident, 0) + 1
        await CallingBolt.call(self)  # type: ignore[arg-type]
        self.uncommitted += 1
        for stream in self.emitter.streams:
            most = self.emitter.habits.children_max
            for _ in range(children(self.emitter.name, stream, ident, most)):
                emitter = self.emitter
                number = emitter.journal.emitted(
                    emitter.process_id, emitter.name, stream, [], emitter.packing
                )
                CallingBolt.send(self, stream, number, ident)  # type: ignore[arg-type]


def readers_among(topology: TopologySpec, chance: Random, share: float) -> set[str]:
    """Bolts with readers, each by chance; one at least."""
    read = [
        each.name
        for each in topology.components
        if not each.is_spout and any(name == each.name for name, _ in topology.consumers)
    ]
    return {name for name in read if chance.random() < share} or set(read[:1])


class CallingCluster(Cluster):
    """A cluster some of whose bolts are coroutines."""

    def __init__(self, seed: int, effectively_once: bool = True) -> None:
        super().__init__(seed, effectively_once)
        self.journal.unordered = self._unordered()

    def _chosen_config(self) -> dict[str, Any]:
        chance = Random(f"coroutines {self.seed}")
        return super()._chosen_config() | {
            keys.ASYNC_CAPACITY: chance.choice((1, 3, 100)),
            keys.ASYNC_ORDERED: chance.choice((True, False)),
            keys.ASYNC_TIMEOUT_MS: TIMEOUT_MS,
        }

    def _made_topology(self, config: dict[str, Any]) -> TopologySpec:
        made = super()._made_topology(config)
        self.habits.abandons = False  # a coroutine's tuple is acked when it ends
        chance = Random(f"calling {self.seed}")
        chosen = readers_among(made, chance, CALLING_SHARE)
        self.calling = {
            name: CallingCountingBolt if chance.random() < COUNTING_SHARE else CallingBolt
            for name in sorted(chosen)
        }
        components = tuple(
            replace(each, class_path=f"{__name__}.{self.calling[each.name].__name__}")
            if each.name in self.calling
            else each
            for each in made.components
        )
        return replace(made, components=components)

    def _unordered(self) -> set[str]:
        """The components whose emits come in any order."""
        if not self.topology.config[keys.ASYNC_ORDERED]:
            return set(self.calling)
        return {name for name, kind in self.calling.items() if kind is CallingCountingBolt}
