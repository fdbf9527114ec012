"""A topology as a fluid, for the autoscaler: offered loads in, the counters of instances out.

Not the engine: a model of rates under back-pressure. In each step every spout emits its offered
load, less the excess over the fullest bolt's capacity; for this share of the step the spout counts
as paused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from heron_core.algorithms.autoscale.autoscaler import Autoscaler, Decision, Diagnosis
from heron_core.algorithms.autoscale.options import AutoscaleOptions
from heron_core.algorithms.autoscale.readings import HotKey, InstanceReading, Readings
from heron_core.records import replace
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)

Offered = Callable[[float], float]
"""Seconds -> tuples per second offered to the spout."""
STREAM = "default"
STEP_SECS = 5.0
MOVE_SECS = 1.0
OFFERED_MAX_RATE = 1e6
"""Tuples emitted by the spout's instance in a second of work."""


def topology(
    *bolts: tuple[str, GroupingKind, str], config: Mapping[str, object] | None = None
) -> TopologySpec:
    """A spout `words`, and bolts (name, grouping, sources), one instance each."""
    out = (StreamSpec(STREAM, ("word",)),)
    components = [ComponentSpec("words", True, "a.B", 1, out)]
    for name, kind, source in bolts:
        fields = ("word",) if kind in (GroupingKind.FIELDS, GroupingKind.PARTIAL_KEY) else ()
        reads = (InputSpec(source, STREAM, GroupingSpec(kind, fields)),)
        components.append(ComponentSpec(name, False, "a.B", 1, out, reads))
    return TopologySpec("t", tuple(components), {**(config or {})})


def chain(kind: GroupingKind = GroupingKind.FIELDS) -> TopologySpec:
    """words -> split -> count."""
    return topology(("split", GroupingKind.SHUFFLE, "words"), ("count", kind, "split"))


def options_of(spec: TopologySpec, **changes: object) -> AutoscaleOptions:
    """The defaults, with up to 64 instances of each bolt."""
    bolts = [each.name for each in spec.components if not each.is_spout]
    base = replace(AutoscaleOptions.of(spec), instances_max=dict.fromkeys(bolts, 64))
    return replace(base, **changes)


@dataclass
class Fluid:
    """A running topology, and the actions of its autoscaler."""

    spec: TopologySpec
    options: AutoscaleOptions
    offered: Offered
    rates: Mapping[str, float]
    """bolt -> tuples processed by an instance in a second"""
    gains: Mapping[str, float] = field(default_factory=dict)
    """bolt -> tuples emitted for one input; default 1"""
    hot_share: Mapping[str, float] = field(default_factory=dict)
    """bolt -> the share of its input with the hottest key"""
    sees_keys: bool = True
    cores: float = float("inf")
    """Instances that can work at the same time."""
    sees_cores: bool = False
    """Whether idle times are known."""
    refuses: Callable[[Decision], str] = lambda decision: ""
    decisions: list[tuple[float, Decision]] = field(default_factory=list)
    diagnoses: list[Diagnosis] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now = 0.0
        self.instances = {each.name: 1 for each in self.spec.components}
        self.scaler = Autoscaler(self.spec, self.options, self.now)
        self.history: list[tuple[float, dict[str, int]]] = []
        self.unmet = 0.0
        """Share of the offered load that was held back in the last step."""
        self._idle_secs = 0.0
        self._tasks: dict[tuple[str, int], InstanceReading] = {}
        self._epoch = 0

    def run(self, secs: float) -> None:
        """So long, with a look after each step."""
        end = self.now + secs
        while self.now < end:
            self._step(STEP_SECS)
            outcome = self.scaler.observe(self._readings(), self.now)
            self.diagnoses += outcome.diagnoses
            if outcome.decision is not None:
                self._move(outcome.decision)
            self.history.append((self.now, dict(self.instances)))

    def _move(self, decision: Decision) -> None:
        self.decisions.append((self.now, decision))
        self.now += MOVE_SECS
        reason = self.refuses(decision)
        if not reason:
            self.instances.update(decision.parallelism)
        self.scaler.moved(reason, self.now)

    def _inputs(self, spout_rate: float) -> dict[str, float]:
        out = {"words": spout_rate}
        inputs: dict[str, float] = {}
        for each in self.spec.components[1:]:
            (source,) = each.inputs
            times = self.instances[each.name] if source.grouping.kind is GroupingKind.ALL else 1
            inputs[each.name] = out[source.component] * times
            out[each.name] = inputs[each.name] * self.gains.get(each.name, 1.0)
        return inputs

    def _shares(self, name: str) -> list[float]:
        """Of a bolt's input, by instance."""
        (source,) = self.spec.by_name[name].inputs
        number, hot = self.instances[name], self.hot_share.get(name, 0.0)
        if source.grouping.kind is GroupingKind.GLOBAL:
            hot = 1.0
        return [hot + (1 - hot) / number, *[(1 - hot) / number] * (number - 1)]

    def _step(self, secs: float) -> None:
        offered = self.offered(self.now)
        wanted = self._inputs(offered)
        work = sum(wanted[name] / self.rates[name] for name in wanted)
        fullest = max(wanted[name] * max(self._shares(name)) / self.rates[name] for name in wanted)
        let = min(1.0, 1 / max(fullest, 1e-9), self.cores / max(work, 1e-9))
        self.unmet = 1 - let
        inputs = self._inputs(offered * let)
        # Where the cores are too few, the fullest instance works or waits for one all the time.
        slow = max(1.0, 1 / (fullest * let)) if work > self.cores else 1.0
        self.now += secs
        self._idle_secs += secs * max(0.0, 1 - work * let / self.cores)
        emitted = offered * let * secs
        self._count("words", 0, emitted, emitted, emitted / OFFERED_MAX_RATE, (1 - let) * secs)
        for name, rate in inputs.items():
            for index, share in enumerate(self._shares(name)):
                done = rate * share * secs
                busy = min(secs, done * slow / self.rates[name])
                self._count(name, index, done, done * self.gains.get(name, 1.0), busy, 0.0)

    def _count(
        self, name: str, index: int, executed: float, emitted: float, busy: float, paused: float
    ) -> None:
        before = self._tasks.get((name, index)) or InstanceReading(
            component=name, incarnation=1, executed=0, emitted={STREAM: 0}, busy_secs=0
        )
        self._tasks[name, index] = replace(
            before,
            executed=before.executed + executed,
            emitted={STREAM: before.emitted[STREAM] + emitted},
            busy_secs=before.busy_secs + busy,
            paused_secs=before.paused_secs + paused,
        )

    def _readings(self) -> Readings:
        names = [each.name for each in self.spec.components]
        tasks = {
            names.index(name) * 100 + index: each
            for (name, index), each in self._tasks.items()
            if index < self.instances[name]
        }
        keys = {
            name: (HotKey(key="'x'", share=share),)
            for name, share in self.hot_share.items()
            if self.sees_keys
        }
        idle_secs = self._idle_secs if self.sees_cores else None
        cores = int(self.cores) if self.sees_cores else None
        return Readings(tasks=tasks, hot_keys=keys, idle_secs=idle_secs, cores=cores)

    @property
    def reversals(self) -> int:
        """How often a bolt got fewer instances after more, or more after fewer."""
        return sum(_reversals([step[name] for _, step in self.history]) for name in self.rates)


def _reversals(numbers: Sequence[int]) -> int:
    moves = [after > before for before, after in pairwise(numbers) if after != before]
    return sum(one != other for one, other in pairwise(moves))
