"""Bolts with threads and late acks in a simulated cluster with checkpoints.

The engine meets emits and acks of another thread at any moment of the main thread's work: beside
the plan of a restore, behind a barrier, amid a call under back-pressure. Threads continue after a
restore has replaced their component. Each tuple counts once nevertheless.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from heron_core.records import replace
from heron_core.topology import TopologySpec
from tests.sim.cluster import Cluster
from tests.sim.coroutines import CALLING_SHARE, CallingBolt, readers_among
from tests.sim.topologies import SimBolt
from tests.sim.user_threads import UserThreads

CALL_SECS = (0.0, 0.0, 0.001, 0.005, 0.02)
ACKED_LATER_SHARE = 0.3
"""Share of tuples with a pause between emits and ack."""


class PooledBolt(SimBolt):
    """A thread emits a tuple's children and acks the tuple. The bolt is stateless."""

    acks_later = True
    pool: UserThreads

    def process(self, tup: Any) -> None:
        (ident,) = tup.values[5]
        self.receive(tup)
        numbers = CallingBolt.reserved(self, ident)  # type: ignore[arg-type]
        rng = self.emitter.rng
        secs, is_parted = rng.choice(CALL_SECS), rng.random() < ACKED_LATER_SHARE
        last = partial(self.ack, tup)
        if is_parted:
            rest = rng.choice(CALL_SECS)
            last = partial(self.pool.submit, rest, partial(self.ack, tup))
        self.pool.submit(secs, lambda: self.work(tup, ident, numbers, last))

    def work(
        self, tup: Any, ident: int, numbers: list[tuple[str, int]], last: Callable[[], None]
    ) -> None:
        """In a thread."""
        for stream, number in numbers:
            CallingBolt.send(self, stream, number, ident, anchors=[tup])  # type: ignore[arg-type]
        last()

    def on_finish(self) -> None:
        """Nothing is held back."""


class PooledCluster(Cluster):
    """A cluster some of whose bolts have threads."""

    def __init__(self, seed: int, effectively_once: bool = True) -> None:
        super().__init__(seed, effectively_once)
        self.journal.unordered = self.pooled

    def _made_topology(self, config: dict[str, Any]) -> TopologySpec:
        made = super()._made_topology(config)
        self.habits.abandons = False
        chance = Random(f"pooled {self.seed}")
        self.pooled = readers_among(made, chance, CALLING_SHARE)
        components = tuple(
            replace(each, class_path=f"{__name__}.{PooledBolt.__name__}")
            if each.name in self.pooled
            else each
            for each in made.components
        )
        return replace(made, components=components)
