"""Sixty instances on three containers with a slow sink: results of a fixed seed.

    8 sources - shuffle -> 16 middles - fields -> 16 sinks, one slow
    4 tickers - shuffle ->  8 passers - fields ->  8 ends

Time is that of the simulation: slow user code stops only its own main thread, so a second of a slow
sink costs no second here, and results do not depend on the machine's load.
"""

from functools import partial
from typing import Any

from heron_core import config as keys
from heron_core.topology import (
    DEFAULT_STREAM,
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_engine.stream_manager.queues import InstanceQueue
from tests.sim.cluster import Cluster, Manners
from tests.sim.instances import Instance
from tests.sim.topologies import FIELDS, HABITS, SimBolt, SimSpout

SOURCE_SECS = 0.02
"""Of a source for a tuple, and of a ticker."""
SLOW_SECS = 0.1
"""Of the slow sink: its input is several times its capacity."""
TARGET_SECS = 1.0
IDENTS = 70
"""Of each source; the tickers, which are not paused, have as many."""

SHAPE = (
    ("source", 8, None, None),
    ("middle", 16, "source", GroupingKind.SHUFFLE),
    ("sink", 16, "middle", GroupingKind.FIELDS),
    ("ticker", 4, None, None),
    ("passer", 8, "ticker", GroupingKind.SHUFFLE),
    ("end", 8, "passer", GroupingKind.FIELDS),
)


class NappingSpout(SimSpout):
    nap: Any = None

    def next_tuple(self) -> None:
        if self.left:
            self.nap()
        super().next_tuple()


class NappingBolt(SimBolt):
    nap: Any = None

    def process(self, tup: Any) -> None:
        if self.nap is not None:
            self.nap()
        super().process(tup)


def shape(habits: Any, config: dict[str, Any]) -> TopologySpec:
    """The topology above."""
    components = []
    for name, parallelism, parent, kind in SHAPE:
        inputs: tuple[InputSpec, ...] = ()
        if parent is not None and kind is not None:
            fields = ("key",) if kind is GroupingKind.FIELDS else ()
            inputs = (InputSpec(parent, DEFAULT_STREAM, GroupingSpec(kind, fields)),)
        is_last = name in ("sink", "end")
        outputs = () if is_last else (StreamSpec(DEFAULT_STREAM, FIELDS, False),)
        made = NappingSpout if parent is None else NappingBolt
        path = f"{__name__}.{made.__name__}"
        components.append(
            ComponentSpec(
                name, parent is None, path, parallelism, outputs, inputs, {HABITS: habits}
            )
        )
    return TopologySpec("sixty", tuple(components), config)


class Sixty(Cluster):
    """The cluster, and notes of each round."""

    round_secs = 0.02

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.slow = self._slow_sink()
        for instance in self.instances.values():
            component = instance.component
            if isinstance(component, NappingSpout):
                self._let_nap(instance, SOURCE_SECS)
        self._let_nap(self.slow, SLOW_SECS)

    @staticmethod
    def _let_nap(instance: Instance, secs: float) -> None:
        instance.naps = True
        instance.component.nap = partial(instance.nap, secs)

    def _slow_sink(self) -> Instance:
        first = min(self.packing.tasks_of["sink"])
        return next(each for (_, task), each in self.instances.items() if task == first)

    def _chosen_config(self) -> dict[str, Any]:
        return {
            keys.STMGRS: 3,
            keys.RELIABILITY_MODE: keys.ATLEAST_ONCE,
            keys.MESSAGE_TIMEOUT_SECS: 120,
            keys.BACKPRESSURE_TARGET_MS: int(TARGET_SECS * 1000),
        }

    def _choose_habits(self, config: dict[str, Any]) -> None:
        self.habits.tracked, self.habits.idents = True, IDENTS

    def _chosen_states(self, config: dict[str, Any]) -> None:
        """Saves are off."""

    def _made_topology(self, config: dict[str, Any]) -> TopologySpec:
        return shape(self.habits, config)

    def _chosen_manners(self) -> Manners:
        mib = 1024 * 1024
        return Manners(0.0, 64, 0.0, mib // 4, mib, mib // 16, 1024, 3.0, 60.0, 6.0)

    def _slow_some(self, rng: Any) -> None:
        """Only the slow sink is slow."""

    # --- what is noted ------------------------------------------------------------------------

    @property
    def causes(self) -> set[int]:
        """The tasks with too long a queue."""
        return {task for manager in self.managers.values() for task in manager.core.causes()}

    @property
    def slow_queue(self) -> InstanceQueue:
        """Tuples on the way to the slow sink."""
        return self.managers[self.slow.container].core.state.queues[self.slow.task]

    def of(self, component: str) -> list[Instance]:
        """The instances of a component."""
        tasks = self.packing.tasks_of[component]
        return [each for (_, task), each in self.instances.items() if task in tasks]

    def left(self, component: str) -> int:
        return sum(len(each.component.left) for each in self.of(component))

    @property
    def is_done(self) -> bool:
        """Whether each tuple is emitted and acked."""
        spouts = [*self.of("source"), *self.of("ticker")]
        statistics = (each.driver.statistics() for each in spouts)
        return self.all_done and all(each.finished and not each.pending for each in statistics)

    def speed_up(self) -> None:
        """The slow sink is as fast as the rest from now on."""
        self.slow.component.nap = None
