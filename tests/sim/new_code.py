"""New code in a simulated topology: bolts with renamed states; some with a failing start.

Each class moves the state of the previous class by `migrate`; a migration left out, done twice, or
done to a new state would falsify the counts at the end.
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
"""Share of changes to code with a failing start."""


class MigratedBolt(CountingBolt):
    """Counts under another name."""

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
    """Counts of tuples without a key."""


class OwnKeyedBolt(KeyedBolt):
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
    """Without a state to take over."""


class OtherComfortableBolt(ComfortableBolt):
    """Without a state as well."""


class OtherSavingBolt(SavingBolt):
    """State without keys stays with its task."""


class Broken:
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
    """The topology with another class for some of its bolts, one perhaps with a failing start; the
    given topology if all are new."""
    old = [each.name for each in topology.components if each.class_path in _NEXT]
    chosen = rng.sample(old, rng.randint(1, len(old))) if old else []
    paths = {each: _NEXT[topology.by_name[each].class_path] for each in chosen}
    if chosen and rng.random() < BROKEN_SHARE:
        paths[chosen[0]] = path_of(Broken)

    def changed(component: ComponentSpec) -> ComponentSpec:
        path = paths.get(component.name, component.class_path)
        return replace(component, class_path=path)

    return replace(topology, components=tuple(map(changed, topology.components)))
