"""A simulated topology whose instances save their own states, without checkpoints: at least once by
themselves, and in both modes for an update.

A spout starts behind the position of its state, so a tuple left out is never processed:
`Journal.check_idents` finds the loss at the end. A bolt's state has to be the newest saved one.
Keyed state moves with its keys in an update: without kills the final state equals the received
input, and never exceeds the input.
"""

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

from heron_api.state.stateful_component import StatefulComponent
from heron_core import config as keys
from heron_core.records import replace
from heron_core.topology import ComponentSpec, GroupingKind, GroupingSpec, TopologySpec
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from tests.sim.checkers import require
from tests.sim.topologies import HABITS, SimBolt, SimSpout

if TYPE_CHECKING:
    from tests.sim.cluster import Cluster

NUMBERS_MAX = 1_000_000
SAVING_SHARE = 0.7
"""Of the topologies that run at least once."""
FAILING_SHARES = (0.0, 0.0, 0.3)
"""How often the store does not take a state."""
KEYED_SHARE = 0.5
"""Of the bolts without direct streams: bolts with input grouped by key, and their state."""

WINDOWS_SHARE = 0.6
"""In a topology whose instances save their states: bolts with tuples held as by open windows. An
update after a drain timeout goes on while tuples are held, failed and replayed; a mode without
saves between updates, absent from the engine, would lose tuples."""
LONG_WINDOWS = 0.95
"""How often such a bolt holds a tuple where windows are open for long: in half of the runs."""


class OwnStates:
    """States saved by all tasks on their own; outlive the processes."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(f"own states {seed}")
        self._failing_share = self._rng.choice(FAILING_SHARES)
        self.interval_secs = self._rng.choice((0.002, 0.01, 0.05))
        self.window_share = Random(f"open windows {seed}").choice((0.0, LONG_WINDOWS))
        self.of: dict[int, dict[int, bytes]] = {}
        """task -> number -> state"""
        self.processes = 0
        """Number of processes so far: a later one has higher numbers, as by the clock."""
        self.loaded = 0
        """How many processes have begun with a state."""

    def save(self, task: int, number: int, state: bytes) -> str:
        """Reason of a failed save; empty after a success."""
        if self._rng.random() < self._failing_share:
            return "no space is left"
        self.of.setdefault(task, {})[number] = state
        return ""

    def newest_of(self, task: int) -> "Newest":
        """For a new process of the task."""
        return Newest(self, task)


class Newest:
    """An instance's NewestState."""

    def __init__(self, states: OwnStates, task: int) -> None:
        self._states = states
        self._task = task
        states.processes += 1
        self.latest = states.processes * NUMBERS_MAX
        self.loaded: tuple[int, bytes | None] = 0, None

    def load(self) -> bytes | None:
        found = self._states.of.get(self._task)
        if not found:
            return None
        self._states.loaded += 1
        return found[max(found)]


class MovedStates:
    def __init__(self, seed: int) -> None:
        self._rng = Random(f"moved states {seed}")
        self._failing_share = self._rng.choice(FAILING_SHARES)
        self._states: dict[tuple[int, int], bytes] = {}

    def save(self, task: int, update: int, state: bytes) -> str:
        """Reason of a failed save; empty after a success."""
        if self._rng.random() < self._failing_share:
            return "no space is left"
        self._states[update, task] = state
        return ""

    def load(self, update: int, task: int) -> bytes:
        if self._rng.random() < self._failing_share:
            raise CheckpointStoreError("it cannot be read")
        require((update, task) in self._states, f"{task} has saved nothing for update {update}")
        return self._states[update, task]


def own_states_of(seed: int, config: dict[str, Any]) -> OwnStates | None:
    """For some of the topologies that run at least once."""
    is_chosen = Random(f"saving {seed}").random() < SAVING_SHARE
    if config[keys.RELIABILITY_MODE] != keys.ATLEAST_ONCE or not is_chosen:
        return None
    return OwnStates(seed)


def saving(topology: TopologySpec, states: OwnStates | None) -> TopologySpec:
    """The topology with stateful components, given a place for the state."""
    if states is None:
        return topology
    topology.components[0].config[HABITS].window_share = states.window_share
    kinds = {
        f"{kind.__module__}.{kind.__name__}": f"{__name__}.{saver.__name__}"
        for kind, saver in ((SimSpout, SavingSpout), (SimBolt, SavingBolt))
    }
    components = tuple(
        replace(each, class_path=kinds.get(each.class_path, each.class_path))
        for each in topology.components
    )
    config = {**topology.config, keys.CHECKPOINT_INTERVAL_SECS: states.interval_secs}
    return replace(topology, components=components, config=config)


def keyed(topology: TopologySpec, seed: int, is_saved: bool) -> TopologySpec:
    """The topology with some bolts that count their input by key, and some that hold tuples by key
    if instances save their states on their own (`is_saved`)."""
    rng, windows = Random(f"keyed {seed}"), Random(f"windows {seed}")
    components = tuple(
        _keyed(each, rng, is_saved and windows.random() < WINDOWS_SHARE)
        for each in topology.components
    )
    return replace(topology, components=components)


def _keyed(component: ComponentSpec, rng: Random, has_windows: bool) -> ComponentSpec:
    kinds = {each.grouping.kind for each in component.inputs}
    is_simple = component.class_path.endswith(f".{SimBolt.__name__}")
    if not is_simple or GroupingKind.DIRECT in kinds or rng.random() > KEYED_SHARE:
        return component
    grouping = GroupingSpec(GroupingKind.FIELDS, ("key",))
    inputs = tuple(replace(each, grouping=grouping) for each in component.inputs)
    kind = WindowBolt if has_windows else KeyedBolt
    return replace(component, class_path=f"{__name__}.{kind.__name__}", inputs=inputs)


def with_keys(topology: TopologySpec) -> list[str]:
    """The components whose state goes with its keys in an update."""
    kinds = (KeyedBolt.__name__, WindowBolt.__name__)
    return [each.name for each in topology.components if each.class_path.endswith(kinds)]


def check_keyed_counts(cluster: "Cluster") -> None:
    """At the end the states of all tasks together equal the received input."""
    journal = cluster.journal
    counted: dict[str, Counter[int]] = {}
    for each in cluster.instances.values():
        if isinstance(each.component, KeyedBolt):
            name = cluster.packing.instances[each.task].component
            counted.setdefault(name, Counter()).update(each.component.counts)
    for name, counts in counted.items():
        received = cluster.habits.received.get(name, Counter())
        require(not counts - received, f"{name} has counted twice: {counts - received}")
        is_exact = not journal.killed
        require(not (is_exact and received - counts), f"{name} has lost {received - counts}")


class KeyedBolt(SimBolt):
    """Its state has the input of each key."""

    def init_state(self, stateful_state: Any) -> None:
        self.counted = stateful_state.map_state("counted")

    @property
    def counts(self) -> Counter[int]:
        """Of each ident of all keys."""
        found: Counter[int] = Counter()
        for _, each in self.counted.all_items():
            found.update(each)  # one of several that are joined is under the key of the first
        return found

    def receive(self, tup: Any) -> None:
        super().receive(tup)
        received = self.emitter.habits.received.setdefault(self.emitter.name, Counter())
        for ident in tup.values[5]:
            received[ident] += 1
            self.counted.put(ident, self.counted.get(ident, 0) + 1)

    def close(self) -> None:
        self.emitter.journal.ended(self)


class WindowBolt(SimBolt, StatefulComponent):
    """Holds tuples as open windows do: an update of the bolt fails the held tuples, and by the new
    plan each is held at its key's task."""

    saved_at_least_once = False

    @property
    def holding_share(self) -> float:
        """See SimBolt."""
        return self.emitter.habits.window_share or super().holding_share

    def init_state(self, stateful_state: Any) -> None:
        """Only the position would be saved."""

    def pre_save(self, checkpoint_id: Any) -> None:
        """The rest is gone when an update asks for the state."""
        require(not self.held, "tuples are held, and do not come again")

    def fail_retained(self) -> bool:
        """See EventWindowBolt."""
        self.emitter.habits.has_failed_windows |= bool(self.held)
        for tup in self.held:
            self.emitter.journal.failed(tup.values[4])
            self.fail(tup)
        self.held.clear()
        return True

    def close(self) -> None:
        self.emitter.journal.ended(self)


class SavingSpout(SimSpout, StatefulComponent):
    """Its state has its position, and failed tuples to replay, without tuples under way."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.order = list(self.left)
        self.position: int = self.state.get("position") or 0
        again = [tuple(each) for each in self.state.get("again") or ()]
        acked = self.emitter.habits.acked_idents
        left_out = [
            each
            for each in self.order[: self.position]
            if each not in again and each[1] not in acked
        ]
        require(not left_out, f"a state counts, and nobody will emit {left_out[:3]}")
        self.left.clear()
        self.left.extend([*again, *self.order[self.position :]])

    def next_tuple(self) -> None:
        if self.left and self.position < len(self.order):
            self.position += self.left[0] == self.order[self.position]
        super().next_tuple()

    def pre_save(self, checkpoint_id: Any) -> None:
        again = set(self.order[: self.position]) & set(self.left)
        self.state.put("position", self.position)
        self.state.put("again", sorted(again))

    def ack(self, tup_id: Any) -> None:
        self.emitter.habits.acked_idents.add(self.attempts[tup_id][1])
        super().ack(tup_id)


class SavingBolt(SimBolt, StatefulComponent):
    """Its state has its input."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.counts: Counter[int] = Counter(self.state.get("counts") or {})
        self.taken: dict[str, Counter[int]] = {}
        habits, task = self.emitter.habits, self.emitter.task
        self.saved: dict[int, Counter[int]] = habits.saved_counts
        missing = self.saved.get(task, Counter()) - self.counts
        known = not missing or self.emitter.journal.undrained
        require(known, f"task {task} has lost what was in a saved state: {missing}")

    def receive(self, tup: Any) -> None:
        super().receive(tup)
        self.counts.update(tup.values[5])

    def close(self) -> None:
        self.emitter.journal.ended(self)

    def pre_save(self, checkpoint_id: Any) -> None:
        self.taken[checkpoint_id] = Counter(self.counts)
        self.state.put("counts", dict(self.counts))

    def post_save(self, checkpoint_id: Any) -> None:
        taken, emitter = self.taken.pop(checkpoint_id), self.emitter
        # The state of a task is the state of its newest process, not of a replaced one.
        if emitter.process_id not in emitter.habits.replaced_processes:
            self.saved[emitter.task] = taken
