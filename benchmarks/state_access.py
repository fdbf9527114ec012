"""What keyed state costs a tuple: CPU time of a bolt's driver over batches of words.

    python -m benchmarks.state_access

One instance in the process, at most once, with its state in memory. For each state a second bolt
does equal work with its own dicts and lists, without a restore; the cost of both beyond a bolt that
only acks is the cost of the state. Noted: a snapshot was taken before, so changes are noted for the
next snapshot, as in EFFECTIVELY_ONCE.
"""

import gc
import logging
from itertools import count
from random import Random
from statistics import median
from time import process_time
from typing import Any

import msgpack

from heron_core.native import HOT_PATH
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire.frames import Flag, FrameKind, header
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import ReadyInstance, build
from heronpy_compat import Bolt
from heronpy_compat.api.state.keyed_state import list_state, map_state, reducing_state, value_state

TUPLES = 1000
KEYS = 1000
ROUNDS = 41
LIST_MAX = 20
EPOCH = 1
NOTHING = Resource(0.0, 0, 0)


class Acks(Bolt):
    """It only acks."""

    outputs: Any = ()

    def initialize(self, config: Any, context: Any) -> None:
        """Start empty."""
        self.own: dict[Any, Any] = {}

    def process(self, tup: Any) -> None:
        """Ack alone."""
        self.ack(tup)


class OwnValue(Acks):
    """A dict."""

    def process(self, tup: Any) -> None:
        """Count."""
        word = tup.values[0]
        self.own[word] = self.own.get(word, 0) + 1
        self.ack(tup)


class Value(Acks):
    """A value state."""

    state = value_state(default=0)

    def process(self, tup: Any) -> None:
        """Count."""
        self.state.put(self.state.get() + 1)
        self.ack(tup)


class Reducing(Acks):
    """A reducing state."""

    state = reducing_state(int.__add__)

    def process(self, tup: Any) -> None:
        """Count."""
        self.state.add(1)
        self.ack(tup)


class OwnMap(Acks):
    """A dict of dicts."""

    def process(self, tup: Any) -> None:
        """Count by two keys."""
        word, sub = tup.values
        counts = self.own.setdefault(word, {})
        counts[sub] = counts.get(sub, 0) + 1
        self.ack(tup)


class Map(Acks):
    """A map state."""

    state = map_state()

    def process(self, tup: Any) -> None:
        """Count by two keys."""
        sub = tup.values[1]
        self.state.put(sub, self.state.get(sub, 0) + 1)
        self.ack(tup)


class OwnList(Acks):
    """A dict of lists."""

    def process(self, tup: Any) -> None:
        """Add, and begin anew now and then."""
        word, sub = tup.values
        elements = self.own.setdefault(word, [])
        elements.append(sub)
        if sub == 0:
            self.own[word] = []
        self.ack(tup)


class List(Acks):
    """A list state."""

    state = list_state()

    def process(self, tup: Any) -> None:
        """Add, and begin anew now and then."""
        sub = tup.values[1]
        self.state.add(sub)
        if sub == 0:
            self.state.clear()
        self.ack(tup)


PAIRS: tuple[tuple[str, type[Acks], type[Acks]], ...] = (
    ("value: get, put", OwnValue, Value),
    ("reducing: add", OwnValue, Reducing),
    ("map: get, put", OwnMap, Map),
    ("list: add, clear each 20th", OwnList, List),
)


def instance_of(kind: type[Acks]) -> ReadyInstance:
    """A bolt of a class, fed by fields grouping."""
    words = StreamSpec("default", ("word", "number"))
    by_word = InputSpec("words", "default", GroupingSpec(GroupingKind.FIELDS, ("word",)))
    bolt = ComponentSpec("bolt", False, f"{__name__}.{kind.__qualname__}", 1, (), (by_word,))
    source = ComponentSpec("words", True, f"{__name__}.{kind.__qualname__}", 1, (words,))
    tasks = (InstancePlan(1, "bolt", 0, NOTHING), InstancePlan(2, "words", 0, NOTHING))
    plan = PackingPlan("measured", (ContainerPlan(1, tasks, NOTHING),))
    times = count()
    environment = InstanceEnvironment(
        lambda: next(times) * 1e-5, Random(1), list, lambda: None, logging.getLogger("measured")
    )
    instance = build(TopologySpec("measured", (source, bolt), {}), plan, 1, environment)
    instance.driver.plan_changed(EPOCH)
    instance.driver.begin(True, 0.0)
    return instance


def message() -> list[bytes]:
    """A batch of words."""
    rows = [[f"w{at * 7919 % KEYS}", at % LIST_MAX] for at in range(TUPLES)]
    head = header(FrameKind.DATA, EPOCH, 2, 1, TUPLES, 0, Flag.NONE)
    return [head, msgpack.packb(rows)]


class Measured:
    """One bolt, and its nanoseconds a tuple, round by round."""

    def __init__(self, kind: type[Acks], is_noted: bool = False) -> None:
        self.instance = instance_of(kind)
        self.is_noted = is_noted
        self.rounds: list[float] = []

    def round(self, frames: list[bytes]) -> None:
        """One batch, behind a snapshot if changes are to be noted."""
        if self.is_noted:
            self.instance.state.snapshot()
        before = process_time()
        self.instance.driver.deliver(frames)
        self.rounds.append((process_time() - before) / TUPLES * 1e9)
        if self.instance.driver.metrics.errors:
            raise SystemExit(self.instance.driver.metrics.last_error)


def shown(measured: Measured, base: Measured) -> str:
    """Cost beyond the base: of the fastest rounds of both; median and quartiles of all rounds."""
    beyond = sorted(one - other for one, other in zip(measured.rounds, base.rounds, strict=True))
    quarter = len(beyond) // 4
    spread = f"{median(beyond):.0f}, {beyond[quarter]:.0f} to {beyond[-1 - quarter]:.0f}"
    return f"{min(measured.rounds) - min(base.rounds):.0f} ({spread})"


def main() -> None:
    """Measure in turn, and print."""
    base, frames = Measured(Acks), message()
    rows = [
        (name, Measured(own), Measured(kind), Measured(kind, is_noted=True))
        for name, own, kind in PAIRS
    ]
    gc.collect()
    gc.disable()
    for _ in range(ROUNDS):
        base.round(frames)
        for _, *measured in rows:
            for each in measured:
                each.round(frames)
    print(f"hot path: {HOT_PATH}; a bolt that only acks: {min(base.rounds):.0f} ns a tuple")
    print("| ns of CPU a tuple beyond it | dicts and lists of its own | state | state, noted |")
    print("| --- | ---: | ---: | ---: |")
    for name, *measured in rows:
        print(f"| {name} | {' | '.join(shown(each, base) for each in measured)} |")


if __name__ == "__main__":
    main()
