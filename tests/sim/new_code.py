"""New code in a simulated topology that takes checkpoints: bolts that keep their state elsewhere.

Each moves what the class before it has saved by `migrate`; so if that were left out, done twice, or
done to a state that is new already, the counts at the end would not be exact.
"""

from dataclasses import replace
from random import Random
from typing import Any

from heron_core.topology import ComponentSpec, TopologySpec
from sim.checkers import require
from sim.effectively_once import CountingBolt, KeyedCountingBolt


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


_NEXT = {
    f"{kind.__module__}.{kind.__name__}": f"{__name__}.{following.__name__}"
    for kind, following in ((CountingBolt, MigratedBolt), (KeyedCountingBolt, MigratedKeyedBolt))
}


def new_code(topology: TopologySpec, rng: Random) -> TopologySpec:
    """The topology with another class for some of its bolts; the same if all are new."""
    old = [each.name for each in topology.components if each.class_path in _NEXT]
    chosen = set(rng.sample(old, rng.randint(1, len(old)))) if old else set()

    def changed(component: ComponentSpec) -> ComponentSpec:
        if component.name not in chosen:
            return component
        return replace(component, class_path=_NEXT[component.class_path])

    return replace(topology, components=tuple(map(changed, topology.components)))
