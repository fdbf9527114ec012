"""Shapes of load with an expert's answer, and a model of each shape.

The model is a fluid on one machine. Tuples wait in front of the fullest instance, and back-pressure
pauses the spout. A share of the work is CPU, the rest is sleep; with too few cores CPU work takes
longer by the number of processes for each core. Keys are drawn and sampled as in a bolt.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heron_core.algorithms.autoscale.options import AutoscaleOptions
from heron_core.algorithms.autoscale.readings import (
    HotKey,
    InstanceReading,
    Readings,
)
from heron_core.algorithms.hot_keys import HotKeys, joined
from heron_core.records import replace
from heron_core.topology import GroupingKind
from tests.unit.heron_core.algorithms.autoscale_support import STREAM, topology

Answer = Mapping[str, frozenset[int]]
"""Bolt -> right numbers of instances; an absent bolt stays unchanged."""
SPOUT_MAX_RATE = 1e6
WINDOW_SECS = 30.0
STEP_SECS = 1.0
HALVINGS = 40
SAMPLES_PER_SEC = 200
MANY_KEYS = 5000
FIELDS, SHUFFLE = GroupingKind.FIELDS, GroupingKind.SHUFFLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Bolt:
    """One bolt of a shape."""

    name: str
    need: float
    """Work of the offered load, in instances: 2.5 is 250 % of an instance."""
    instances: int = 1
    cpu: float = 1.0
    """CPU share of the work; the rest is sleep, as for an answer of a server."""
    grouping: GroupingKind = SHUFFLE
    keys: tuple[float, ...] = ()
    """Weights of keys; empty: many equally frequent keys."""
    gain: float = 1.0
    """Emitted tuples for each input tuple."""
    is_fixed: bool = False
    """Whether state belongs to the instances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A load and the right answer."""

    name: str
    bolts: tuple[Bolt, ...]
    """A chain behind the spout `words`."""
    answer: Answer = field(default_factory=dict)
    cores: float = 64.0
    others: float = 0.0
    """Other processes, each always busy."""
    offered: Callable[[float], float] = lambda now: 1.0
    """Seconds -> how much of it is offered."""
    is_pending_limited: bool = False
    """Whether the spout is held by topology.max.spout.pending, and not by back-pressure."""
    waits_outside: float = 0.0
    """Share of time in which the spout waits for acks though every bolt has time."""
    sees_keys: bool = True
    config: Mapping[str, object] = field(default_factory=dict)


def right(**numbers: int | tuple[int, ...]) -> Answer:
    """An answer: bolt=number, or bolt=(numbers)."""
    return {
        name: frozenset((each,) if isinstance(each, int) else each)
        for name, each in numbers.items()
    }


def only(need: float, **given: object) -> tuple[Bolt, ...]:
    """One bolt, `work`."""
    return (replace(Bolt(name="work", need=need), **given),)


RATE = 1000.0
"""Tuples in a second that the spout of each shape offers."""


class Model:
    """A running shape and its readings."""

    def __init__(self, shape: Shape, seed: int = 1) -> None:
        self.shape = shape
        self.spec = topology(
            *(
                (each.name, each.grouping, before)
                for each, before in zip(
                    shape.bolts, ["words", *(x.name for x in shape.bolts)], strict=False
                )
            ),
            config=shape.config,
        )
        bolts = tuple(each.name for each in shape.bolts)
        self.options = replace(
            AutoscaleOptions.of(self.spec),
            **({} if shape.config else {"instances_max": dict.fromkeys(bolts, 64)}),
        )
        self._rng = random.Random(seed)
        self._shares = {each.name: self._drawn_shares(each) for each in shape.bolts}
        self._tasks: dict[int, InstanceReading] = {}
        self._idle_secs = 0.0
        self.now = 0.0

    def readings(self) -> list[tuple[float, Readings]]:
        """A window of them."""
        found = []
        while self.now <= WINDOW_SECS + STEP_SECS:
            self._step()
            found.append((self.now, self._reading()))
        return found

    def _keys(self, bolt: Bolt) -> tuple[float, ...]:
        return bolt.keys or (1.0,) * MANY_KEYS

    def _drawn_shares(self, bolt: Bolt) -> list[float]:
        """Of its input, by instance; each key goes to the next instance, the heaviest first."""
        number = bolt.instances
        if bolt.grouping is GroupingKind.ALL:
            return [1.0] * number
        if bolt.grouping is GroupingKind.GLOBAL:
            return [1.0, *[0.0] * (number - 1)]
        if bolt.grouping is SHUFFLE:
            return [1 / number] * number
        shares, total = [0.0] * number, sum(self._keys(bolt))
        for at, weight in enumerate(self._keys(bolt)):
            if bolt.grouping is GroupingKind.PARTIAL_KEY and number > 1:
                shares[at % number] += weight / total / 2
                shares[(at + 1) % number] += weight / total / 2
            else:
                shares[at % number] += weight / total
        return shares

    def _work(self, let: float) -> dict[str, list[float]]:
        """bolt -> seconds of work of each instance in a second, without any wait for a core."""
        offered = self.shape.offered(self.now) * let
        return {
            each.name: [offered * each.need * share for share in self._shares[each.name]]
            for each in self.shape.bolts
        }

    def _cpu_cores(self, work: Mapping[str, list[float]]) -> float:
        return sum(each.cpu * sum(work[each.name]) for each in self.shape.bolts)

    def _stretch(self, work: Mapping[str, list[float]]) -> float:
        """How many times longer CPU work takes because others use the cores."""
        return max(1.0, (self._cpu_cores(work) + self.shape.others) / self.shape.cores)

    def _busy(self, bolt: Bolt, work_secs: float, stretch: float) -> float:
        return work_secs * (1 - bolt.cpu + bolt.cpu * stretch)

    def _is_possible(self, let: float) -> bool:
        work = self._work(let)
        stretch = self._stretch(work)
        return all(
            self._busy(each, secs, stretch) <= 1.0
            for each in self.shape.bolts
            for secs in work[each.name]
        )

    def _let(self) -> float:
        """The processed share of the offered load."""
        low, high = 0.0, 1.0 - self.shape.waits_outside
        if self._is_possible(high):
            return high
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._is_possible(middle) else (low, middle)
        return low

    def _step(self) -> None:
        let = self._let()
        work = self._work(let)
        stretch, rate = self._stretch(work), RATE * self.shape.offered(self.now) * let
        used = min(self.shape.cores, self._cpu_cores(work) + self.shape.others)
        self._idle_secs += STEP_SECS * (1 - used / self.shape.cores)
        self.now += STEP_SECS
        is_full = self.shape.is_pending_limited and let < 1.0
        self._count(
            0, "words", rate, 1.0, rate / SPOUT_MAX_RATE, 0.0,
            paused=0.0 if self.shape.is_pending_limited else 1 - let, is_full=is_full,
        )  # fmt: skip
        for place, bolt in enumerate(self.shape.bolts):
            for index, secs in enumerate(work[bolt.name]):
                self._count(
                    100 * (place + 1) + index, bolt.name,
                    rate * self._shares[bolt.name][index], bolt.gain,
                    self._busy(bolt, secs, stretch), secs * bolt.cpu,
                    waited=secs * bolt.cpu * (stretch - 1),
                )  # fmt: skip
            rate *= bolt.gain * (len(work[bolt.name]) if bolt.grouping is GroupingKind.ALL else 1)

    def _count(
        self,
        task: int,
        name: str,
        executed: float,
        gain: float,
        busy: float,
        cpu_cores: float,
        *,
        waited: float = 0.0,
        paused: float = 0.0,
        is_full: bool = False,
    ) -> None:
        before = self._tasks.get(task) or InstanceReading(
            component=name, incarnation=1, executed=0, emitted={STREAM: 0}, busy_secs=0
        )
        self._tasks[task] = replace(
            before,
            executed=before.executed + executed * STEP_SECS,
            emitted={STREAM: before.emitted[STREAM] + executed * gain * STEP_SECS},
            busy_secs=before.busy_secs + min(1.0, busy) * STEP_SECS,
            paused_secs=before.paused_secs + paused * STEP_SECS,
            is_full=is_full,
            cpu_cores=cpu_cores,
            core_waited_secs=before.core_waited_secs + waited * STEP_SECS,
        )

    def _reading(self) -> Readings:
        return Readings(
            tasks=dict(self._tasks),
            hot_keys={
                each.name: tuple(HotKey(key=key, share=share) for key, share in found)
                for each in self.shape.bolts
                if (found := self._sampled(each))
            },
            fixed_state=frozenset(each.name for each in self.shape.bolts if each.is_fixed),
            idle_secs=self._idle_secs,
            cores=int(self.shape.cores),
        )

    def _sampled(self, bolt: Bolt) -> list[tuple[str, float]]:
        """Keys of a bolt in the samples of its instances."""
        if bolt.grouping is SHUFFLE or not self.shape.sees_keys or self.now < WINDOW_SECS:
            return []
        snapshots = []
        weights = self._keys(bolt)
        for index in range(bolt.instances):
            own = range(index, len(weights), bolt.instances)
            sketch, share = HotKeys(0.0), self._shares[bolt.name][index]
            number = int(SAMPLES_PER_SEC * WINDOW_SECS / 4)
            picked = self._rng.choices(own, [weights[at] for at in own], k=number)
            for key in picked:
                sketch.add(key * 2654435761 % (1 << 32), f"'k{key}'", share, 1.0)
            snapshots.append(({"total": sketch.total, "keys": sketch.top()}, number))
        return joined(snapshots)


PARTIAL, ALL, GLOBAL = GroupingKind.PARTIAL_KEY, GroupingKind.ALL, GroupingKind.GLOBAL
UNIFORM_101 = (1.0,) * 101
HOT = (*[60.0], *[0.4] * 100)
"""One key with 60 %."""
WARM = (*[20.0], *[0.8] * 100)
"""One with 20 %."""
BUSY: dict[str, Any] = {"cores": 2.0, "others": 2.0}
"""A machine without a free core, by the work of others."""

SHAPES: tuple[Shape, ...] = (
    Shape(name="half busy", bolts=only(0.5)),
    Shape(name="nothing comes", bolts=only(0.5), offered=lambda now: 0.0),
    Shape(name="CPU-bound on an idle machine", bolts=only(2.5), answer=right(work=4)),
    Shape(name="sleeping on an idle machine", bolts=only(2.5, cpu=0.02), answer=right(work=4)),
    Shape(
        name="sleeping on a busy machine", bolts=only(2.5, cpu=0.02), answer=right(work=4), **BUSY
    ),
    Shape(name="CPU-bound on a busy machine", bolts=only(1.5), **BUSY),
    Shape(
        name="CPU-bound with one core left", bolts=only(6.0), cores=2.0, answer=right(work=2)
    ),
    Shape(
        name="two CPU-bound bolts with two cores left",
        bolts=(Bolt(name="first", need=3.0), Bolt(name="second", need=3.0)),
        cores=4.0, answer=right(first=2, second=2),
    ),
    Shape(
        name="a sleeping and a CPU-bound bolt on a busy machine",
        bolts=(Bolt(name="ask", need=2.5, cpu=0.02), Bolt(name="count", need=0.4)),
        answer=right(ask=4), **BUSY,
    ),
    Shape(
        name="idle bolts on a busy machine", bolts=only(0.05), cores=2.0, others=8.0,
    ),
    Shape(
        name="bolts that wait for a core all the time", bolts=only(0.3), cores=2.0, others=8.0,
    ),
    Shape(
        name="one key has 60 %", bolts=only(1.8, instances=4, grouping=FIELDS, keys=HOT),
    ),
    Shape(
        name="one key has 60 %, and one instance is there",
        bolts=only(2.0, grouping=FIELDS, keys=HOT),
    ),
    Shape(
        name="one key has 20 %, which an instance can do",
        bolts=only(3.0, grouping=FIELDS, keys=WARM), answer=right(work=4),
    ),
    Shape(
        name="101 equally frequent keys", bolts=only(2.5, grouping=FIELDS, keys=UNIFORM_101),
        answer=right(work=4),
    ),
    Shape(
        name="101 equally frequent keys, asleep", answer=right(work=4),
        bolts=only(2.5, grouping=FIELDS, keys=UNIFORM_101, cpu=0.02),
    ),
    Shape(
        name="12 equally frequent keys", bolts=only(2.0, grouping=FIELDS, keys=(1.0,) * 12),
        answer=right(work=(3, 4)),
    ),
    Shape(
        name="three keys", bolts=only(2.0, grouping=FIELDS, keys=(1.0,) * 3),
        answer=right(work=3),
    ),
    Shape(
        name="two keys, each more than an instance can do",
        bolts=only(3.0, grouping=FIELDS, keys=(1.0,) * 2), answer=right(work=2),
    ),
    Shape(
        name="skew where keys are not sampled", sees_keys=False,
        bolts=only(1.8, instances=4, grouping=FIELDS, keys=HOT),
    ),
    Shape(
        name="partial key with one key of 50 %", answer=right(work=4),
        bolts=only(2.5, grouping=PARTIAL, keys=(*[50.0], *[0.5] * 100)),
    ),
    Shape(name="every instance gets all", bolts=only(1.2, instances=2, grouping=ALL)),
    Shape(name="all goes to one instance", bolts=only(1.5, instances=2, grouping=GLOBAL)),
    Shape(
        name="two bottlenecks, of which one hides the other",
        bolts=(Bolt(name="split", need=2.5), Bolt(name="count", need=1.4)),
        answer=right(split=4, count=2),
    ),
    Shape(
        name="a bolt that another one behind it holds back",
        bolts=(Bolt(name="split", need=0.6), Bolt(name="count", need=2.0)),
        answer=right(count=3),
    ),
    Shape(
        name="a sink that writes batches", answer=right(sink=3),
        bolts=(Bolt(name="parse", need=0.3), Bolt(name="sink", need=1.6, cpu=0.03)),
    ),
    Shape(
        name="a sink that writes batches on a busy machine", answer=right(sink=3), **BUSY,
        bolts=(Bolt(name="parse", need=0.2), Bolt(name="sink", need=1.6, cpu=0.03)),
    ),
    Shape(
        name="each line has ten words", answer=right(count=4),
        bolts=(Bolt(name="split", need=0.4, gain=10.0), Bolt(name="count", need=2.8)),
    ),
    Shape(
        name="bursts with time between them", bolts=only(1.2),
        offered=lambda now: 1.0 if now % 10 < 4 else 0.1,
    ),
    Shape(
        name="a rise that lasts", bolts=only(2.5), answer=right(work=(3, 4)),
        offered=lambda now: 0.2 if now < 5 else 1.0,
    ),
    Shape(name="ten times too many instances", bolts=only(0.4, instances=10), answer=right(work=1)),
    Shape(
        name="too many instances, which sleep", bolts=only(1.1, instances=8, cpu=0.02),
        answer=right(work=2),
    ),
    Shape(name="state that cannot be divided", bolts=only(2.0, is_fixed=True)),
    Shape(
        name="the limit of the topology is reached", bolts=only(4.0, instances=2),
        config={"topology.autoscale.instances.max": 2},
    ),
    Shape(
        name="limited by pending tuples", bolts=only(2.5, cpu=0.1), answer=right(work=4),
        is_pending_limited=True,
    ),
    Shape(
        name="pending tuples wait for another system", bolts=only(0.3), is_pending_limited=True,
        waits_outside=0.8,
    ),
)  # fmt: skip
