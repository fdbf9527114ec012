"""New code in a simulated topology: bolts that keep their state elsewhere; some cannot begin.

Each moves what the class before it has saved by `migrate`; so if that were left out, done twice, or
done to a state that is new already, the counts at the end would not be exact.
"""

from random import Random
from typing import Any

from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec
from tests.sim.at_least_once import KeyedBolt, SavingBolt
from tests.sim.checkers import require
from tests.sim.effectively_once import CountingBolt, KeyedCountingBolt, SpreadCountingBolt
from tests.sim.topologies import ComfortableBolt, SimBolt

BROKEN_SHARE = 0.25
"""Of the changes: those to code that cannot begin."""


class MigratedBolt(CountingBolt):
    """Its counts are called otherwise."""

    state_version = 1

    def migrate(self, old: Any) -> None:
        require(old.version == 0, f"a state of version {old.version} is migrated")
        require(self.state.get("tally") is None, "a state is migrated twice")
        self.state.put("tally", self.state.delete("counts") or {})

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        require(self.state.get("counts") is None, "a state is not migrated")
        self.counts = self.state.get("tally") or {}

    def pre_save(self, checkpoint_id: Any) -> None:
        super().pre_save(checkpoint_id)
        self.state.put("tally", self.state.delete("counts"))


class MigratedKeyedBolt(KeyedCountingBolt):
    """The same by key."""

    state_version = 1

    def init_state(self, stateful_state: Any) -> None:
        self.counted = stateful_state.map_state("tally")
        self.waiting = stateful_state.list_state("waiting")

    def migrate(self, old: Any) -> None:
        require(old.version == 0, f"a state of version {old.version} is migrated")
        before = old.map_state("counted")
        for key, counts in list(before.all_items()):
            for ident, number in counts.items():
                self.counted.for_key(key).put(ident, number)
        before.clear_all()


class MigratedSpreadBolt(MigratedKeyedBolt, SpreadCountingBolt):
    """The same of tuples without a key."""


class OwnKeyedBolt(KeyedBolt):
    """The same where no checkpoints are taken: an update moves the state."""

    state_version = 1

    def init_state(self, stateful_state: Any) -> None:
        self.counted = stateful_state.map_state("tally")

    def migrate(self, old: Any) -> None:
        require(old.version == 0, f"a state of version {old.version} is migrated")
        before = old.map_state("counted")
        for key, counts in list(before.all_items()):
            for ident, number in counts.items():
                self.counted.for_key(key).put(ident, number)
        before.clear_all()


class OtherBolt(SimBolt):
    """It has nothing to take over."""


class OtherComfortableBolt(ComfortableBolt):
    """Nor has this."""


class OtherSavingBolt(SavingBolt):
    """What no key divides stays with the task that there was."""


class Broken:
    """It cannot begin."""

    def __init__(self) -> None:
        raise ValueError("not yet")


def path_of(kind: type) -> str:
    """How a plan names a class."""
    return f"{kind.__module__}.{kind.__name__}"


_NEXT = {
    path_of(kind): path_of(following)
    for kind, following in (
        (CountingBolt, MigratedBolt),
        (KeyedCountingBolt, MigratedKeyedBolt),
        (SpreadCountingBolt, MigratedSpreadBolt),
        (KeyedBolt, OwnKeyedBolt),
        (SimBolt, OtherBolt),
        (ComfortableBolt, OtherComfortableBolt),
        (SavingBolt, OtherSavingBolt),
    )
}


def new_code(topology: TopologySpec, rng: Random) -> TopologySpec:
    """The topology with another class for some of its bolts, one of which may not be able to begin;
    the same if all are new."""
    old = [each.name for each in topology.components if each.class_path in _NEXT]
    chosen = rng.sample(old, rng.randint(1, len(old))) if old else []
    paths = {each: _NEXT[topology.by_name[each].class_path] for each in chosen}
    if chosen and rng.random() < BROKEN_SHARE:
        paths[chosen[0]] = path_of(Broken)

    def changed(component: ComponentSpec) -> ComponentSpec:
        path = paths.get(component.name, component.class_path)
        return replace(component, class_path=path)

    return replace(topology, components=tuple(map(changed, topology.components)))
