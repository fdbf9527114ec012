"""A simulated topology that takes checkpoints: what its components count, and what that has to be.

Spouts keep their position in the state, bolts what they have counted and what they hold back. How
many tuples come of an ident is a matter of the topology alone, so the counts are known beforehand.
"""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any
from zlib import crc32

from heron_api.state.stateful_component import (
    StatefulComponent,
    TwoPhaseStatefulComponent,
)
from heron_core import config as keys
from heron_core.plans import PhysicalPlan
from heron_core.records import replace
from heron_core.state.in_flight_table import own_keys
from heron_core.state.parts import KeyRange
from heron_core.topology import ComponentSpec, GroupingKind, TopologySpec
from heron_engine.topology_master.events import StatesSought
from heron_instance.stored_states import CheckpointStates
from heron_io.checkpoint_store.protocol import CheckpointStoreError, StateDamaged, StateGone
from tests.sim.checkers import require
from tests.sim.topologies import HABITS, Emitter, Habits, SimBolt, SimSpout

if TYPE_CHECKING:
    from tests.sim.cluster import Cluster
    from tests.sim.instances import Instance

LONGER = 3
"""Factor of the input with checkpoints: some checkpoints have to be complete."""
KEYED_SHARE = 0.8
"""Of the updates, if there is a component whose state keys divide."""
RAISES_MAX = 30
"""Of all bolts of a run: some need a restore for each."""
HELD_MAX = 3
"""Tuples held back by a bolt, in its state."""


FAILING_SHARES = (0.7, 1.0)
"""How much fails while the store is in trouble: some operations, or the whole store."""


class SimStates:
    """The checkpoint store; slow or broken at the run's will, and hidden from hosts without its
    disk."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(f"states {seed}")
        self._states: dict[tuple[int, int], bytes] = {}
        self.fails_to = ""
        self.failing_share = 1.0
        self._lost: dict[tuple[int, int], type[CheckpointStoreError]] = {}
        self._bare: dict[int, dict[tuple[int, int], bytes]] = {}
        """container -> files of its host in the mount point of the disk"""

    def save(self, container: int, checkpoint: int, task: int, state: bytes) -> None:
        if self.fails_to in ("save", "both") and self._rng.random() < self.failing_share:
            raise CheckpointStoreError("no space is left")
        self._seen_by(container)[checkpoint, task] = state

    def _seen_by(self, container: int) -> dict[tuple[int, int], bytes]:
        return self._bare.get(container, self._states)

    def load(self, container: int, checkpoint: int, task: int) -> bytes:
        if self.fails_to in ("load", "both") and self._rng.random() < self.failing_share:
            raise CheckpointStoreError("it cannot be read")
        states = self._seen_by(container)
        if states is not self._states and (checkpoint, task) not in states:
            raise CheckpointStoreError("the disk is not mounted")
        require((checkpoint, task) in states, f"{task} has no state of {checkpoint}")
        if (checkpoint, task) in self._lost:
            raise self._lost[checkpoint, task](f"the state of {task} in {checkpoint} is lost")
        return states[checkpoint, task]

    def backed_up(
        self, instance: "Instance", plan: Callable[[], PhysicalPlan | None]
    ) -> CheckpointStates | None:
        """Where an instance saves states that other containers hold as well (backup.py); None:
        there are none."""
        return None

    def sought(self, checkpoint: int, tasks: tuple[int, ...]) -> StatesSought:
        """What the topology master's host sees of a checkpoint."""
        if self.fails_to in ("load", "both") and self._rng.random() < self.failing_share:
            return StatesSought(checkpoint, "/store", failure="it cannot be read")
        missing = tuple(task for task in tasks if (checkpoint, task) not in self._states)
        return StatesSought(checkpoint, "/store", missing)

    def discard(self, topology: str, checkpoint: int) -> None:
        for key in [each for each in self._states if each[0] == checkpoint]:
            del self._states[key]

    def unmount(self, container: int) -> None:
        """Its host starts without the disk, undetected: the host left its mark in the folder."""
        self._bare[container] = {}

    def mount(self, container: int) -> None:
        """States saved in the folder meanwhile are hidden by the disk."""
        del self._bare[container]

    def begin_failing(self, to: str) -> None:
        """It is full, or away, or both."""
        self.fails_to, self.failing_share = to, self._rng.choice(FAILING_SHARES)

    def lose(self) -> None:
        """The files of some states of the newest checkpoint are damaged, or gone."""
        newest = max((number for number, _ in self._states), default=0)
        for key in self._states:
            if key[0] >= newest - 1 and self._rng.random() < 0.5:
                self._lost[key] = self._rng.choice((StateDamaged, StateGone))

    def recover(self) -> None:
        """The store works again, with lost files restored by a person."""
        self.fails_to = ""
        self._lost = {}


def checkpoint_config(seed: int) -> dict[str, Any]:
    """Checkpoints, some in a hurry."""
    rng = Random(f"checkpoints {seed}")
    # By a separate choice: the seeds keep their runs.
    overtaking = Random(f"overtaking {seed}")
    return {
        keys.BOLT_RETRIES: RAISES_MAX,  # so no tuple is ever abandoned
        keys.BOLT_RETRY_BACKOFF_MS: 1,
        keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE,
        keys.CHECKPOINT_INTERVAL_SECS: rng.choice((0.005, 0.02, 0.1)),
        keys.CHECKPOINT_TIMEOUT_SECS: rng.choice((0.2, 5, 5, 5)),
        keys.CHECKPOINT_PAUSE_MS: rng.choice((0, 10)),
        keys.CHECKPOINTS_RETAINED: rng.choice((1, 3, 3)),
        keys.ALIGNED_TIMEOUT_MS: overtaking.choice((0, 0, 2, 20, -1)),
        keys.LINGER_MS: overtaking.choice((0, 2)),  # how often a bolt looks up in a message
        **(LARGE_BATCHES if _naps(seed) else {}),
    }


NAPPING_SHARE = 0.5
"""Of the runs: some of the bolts' calls take long."""
NAPS_SHARES = (0.4, 1.0)
"""Of their calls."""
NAPS_SECS = (0.004, 0.02)
LARGE_BATCHES = {keys.BATCH_TUPLES: 512, keys.BATCH_BYTES: 65536}
"""Share of messages with long work in such runs."""


def _naps(seed: int) -> bool:
    return Random(f"naps {seed}").random() < NAPPING_SHARE


def napping(cluster: "Cluster") -> bool:
    """Whether bolts take their time in this run, so that barriers, restores and new plans come amid
    a message."""
    if not _naps(cluster.seed):
        return False
    rng = Random(f"each nap {cluster.seed}")
    share, secs = rng.choice(NAPS_SHARES), rng.choice(NAPS_SECS)

    def nap() -> None:
        if not cluster.journal.calm and rng.random() < share:
            cluster.habits.running.nap(secs)

    cluster.habits.nap = nap
    return True


ABANDONING_SHARE = 0.5
"""Of the runs: some of the bolts' tuples fail for good."""
ABANDONED_SHARE = 0.1
"""Of the idents of a bolt."""


def is_among(share: float, what: str) -> bool:
    """Whether a name is chosen: by the name alone."""
    return crc32(what.encode()) % 1000 < 1000 * share


def settle(bolt: Any, tup: Any, ident: int) -> None:
    """A bolt has done all for a tuple; a tuple with a failing ident fails for good nevertheless,
    and counts once, after any number of attempts."""
    emitter = bolt.emitter
    abandons = emitter.habits.abandons and is_abandoned(emitter.name, ident)
    (bolt.fail if abandons else bolt.ack)(tup)


def is_abandoned(component: str, ident: int) -> bool:
    """Whether a bolt fails each tuple of an ident, in a run where any does."""
    return is_among(ABANDONED_SHARE, f"fails {component} {ident}")


def counting(topology: TopologySpec, habits: Habits) -> TopologySpec:
    """The topology with stateful components, and with more input."""
    shape = [(each.name, each.parallelism, each.inputs) for each in topology.components]
    habits.abandons = is_among(ABANDONING_SHARE, f"gives up {habits.idents} {shape}")
    habits.idents *= LONGER
    components = tuple(
        replace(each, class_path=f"{__name__}.{_kind_of(each).__name__}")
        for each in topology.components
    )
    return replace(topology, components=components)


def _kind_of(component: ComponentSpec) -> type:
    if component.is_spout:
        return CountingSpout
    kinds = {each.grouping.kind for each in component.inputs}
    if kinds == {GroupingKind.FIELDS}:
        return KeyedCountingBolt
    # A matter of the component alone: all callers agree.
    what = f"{component.name} {component.parallelism} {component.outputs}"
    is_spread = GroupingKind.ALL not in kinds and crc32(what.encode()) % 3 > 0
    return SpreadCountingBolt if is_spread else CountingBolt


def scalable(topology: TopologySpec, rng: Random) -> list[str]:
    """The components whose parallelism may change: mostly components with state divided by keys, as
    an update of the rest is aborted. A tuple for all tasks must not get more copies then."""
    keyed = [each for each in topology.components if issubclass(_kind_of(each), KeyedCountingBolt)]
    others = [
        each
        for each in topology.components
        if not any(one.grouping.kind is GroupingKind.ALL for one in each.inputs)
    ]
    chosen = keyed if keyed and rng.random() < KEYED_SHARE else others
    return [each.name for each in chosen]


def children(component: str, stream: str, ident: int, most: int) -> int:
    """How many tuples a bolt emits on a stream for one of an ident."""
    return 1 + crc32(f"{component} {stream} {ident}".encode()) % most


class CountingSpout(SimSpout, StatefulComponent):
    """Emits its idents in order; its position is in its state."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.total = len(self.left)
        for _ in range(self.state.get("position") or 0):
            self.left.popleft()

    def next_tuple(self) -> None:
        acked = self.emitter.habits.acked_idents
        if self.left:
            require(self.left[0][1] not in acked, f"{self.left[0]} is emitted again after its ack")
        super().next_tuple()
        self.state.put("position", self.total - len(self.left))

    def ack(self, tup_id: Any) -> None:
        self.emitter.habits.acked_idents.add(self.attempts[tup_id][1])
        super().ack(tup_id)

    def fail(self, tup_id: Any) -> None:
        self.emitter.journal.settled(tup_id, "failed", False)


class CountingBolt(SimBolt, TwoPhaseStatefulComponent):
    """Counts its input and passes the input on, in part later. Changes before an exception can be
    undone only by the topology."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.counts: dict[int, int] = self.state.get("counts") or {}
        self.waiting: list[int] = self.state.get("waiting") or []
        self.uncommitted = 0
        self.prepared: dict[str, int] = self.state.get("prepared") or {}
        self.has_finished = bool(self.state.get("has finished"))

    def pre_save(self, checkpoint_id: Any) -> None:
        self.prepared[checkpoint_id] = self.uncommitted
        self.uncommitted = 0
        self.state.put("counts", self.counts)
        self.state.put("waiting", self.waiting)
        self.state.put("prepared", self.prepared)
        self.state.put("has finished", self.has_finished)

    def post_save(self, checkpoint_id: Any) -> None:
        """Commit the prepared counts, as a two-phase sink does; a second call is without effect."""
        habits = self.emitter.habits
        habits.newest_committed = max(habits.newest_committed, int(checkpoint_id))
        ready = [each for each in self.prepared if int(each) <= int(checkpoint_id)]
        for each in ready:
            number = self.prepared.pop(each)
            before = habits.committed.setdefault((self.emitter.instance, each), number)
            require(before == number, f"checkpoint {each} is {before} tuples, and then {number}")

    def process(self, tup: Any) -> None:
        self.emitter.habits.may_nap()
        self.receive(tup)
        (ident,) = tup.values[5]
        require(not self.has_finished, "a tuple comes after on_finish")
        self.counts[ident] = self.counts.get(ident, 0) + 1
        self.uncommitted += 1
        self.waiting.append(ident)
        habits = self.emitter.habits
        if len(self.waiting) > HELD_MAX or self.emitter.rng.random() > habits.holding_share:
            self.send_waiting()
        settle(self, tup, ident)
        habits.may_raise()

    def send_waiting(self) -> None:
        """Pass on what was held back."""
        waiting, self.waiting = self.waiting, []
        for ident in waiting:
            pass_on(self.emitter, ident)

    def on_finish(self) -> None:
        require(not self.has_finished, "on_finish is called on a state that has finished")
        self.has_finished = True
        self.send_waiting()
        self.emitter.habits.may_raise()


class KeyedCountingBolt(SimBolt, StatefulComponent):
    """Counts by key: counts and held tuples move with their key to another task."""

    def init_state(self, stateful_state: Any) -> None:
        self.counted = stateful_state.map_state("counted")
        self.waiting = stateful_state.list_state("waiting")

    @property
    def counts(self) -> dict[int, int]:
        """Count of each ident over all keys; several keys may share an ident."""
        found: Counter[int] = Counter()
        for _, each in self.counted.all_items():
            found.update(each)
        return found

    def process(self, tup: Any) -> None:
        self.emitter.habits.may_nap()
        self.receive(tup)
        (ident,) = tup.values[5]
        waiting, habits = self.count(ident), self.emitter.habits
        if len(waiting) > HELD_MAX or self.emitter.rng.random() > habits.holding_share:
            self.send(waiting)
        settle(self, tup, ident)
        habits.may_raise()

    def count(self, ident: int) -> Any:
        """Count a tuple; returns the held tuples of its key."""
        self.counted.put(ident, self.counted.get(ident, 0) + 1)
        self.waiting.add(ident)
        return self.waiting

    def send(self, waiting: Any) -> None:
        """Pass on what was held back of a key."""
        idents = waiting.get()
        waiting.clear()
        for ident in idents:
            pass_on(self.emitter, ident)

    def on_finish(self) -> None:
        for key in list(self.waiting.all_keys()):
            self.send(self.waiting.for_key(key))
        self.emitter.habits.may_raise()


class SpreadCountingBolt(KeyedCountingBolt):
    """Counts tuples without a key: under keys owned by its task, so the state is divided as well,
    and any task may process any input."""

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        tasks = sorted(context.get_component_tasks(self.emitter.name))
        self.own = own_keys(KeyRange(tasks.index(self.emitter.task), len(tasks)))

    def count(self, ident: int) -> Any:
        key = self.own[ident % len(self.own)]
        counted = self.counted.for_key(key)
        counted.put(ident, counted.get(ident, 0) + 1)
        waiting = self.waiting.for_key(key)
        waiting.add(ident)
        return waiting


def pass_on(emitter: Emitter, ident: int) -> None:
    """Emit the results of a tuple of an ident."""
    for stream in emitter.streams:
        most = emitter.habits.children_max
        for _ in range(children(emitter.name, stream, ident, most)):
            emitter.send(stream, [], [ident])


def expected_counts(topology: TopologySpec, idents: dict[str, dict[str, list[int]]]) -> Any:
    """component -> number of inputs of each ident; `idents`: of each spout, by stream."""
    habits: Habits = topology.components[0].config[HABITS]
    counts: dict[str, Counter[int]] = {each.name: Counter() for each in topology.components}
    for component in topology.components:  # those that feed others come first
        emitted: dict[str, Counter[int]] = {}
        for stream in component.outputs:
            if component.is_spout:
                emitted[stream.name] = Counter(idents[component.name].get(stream.name, ()))
            else:
                most = habits.children_max
                emitted[stream.name] = Counter(
                    {
                        ident: number * children(component.name, stream.name, ident, most)
                        for ident, number in counts[component.name].items()
                    }
                )
            for reader, an_input in topology.consumers.get((component.name, stream.name), ()):
                copies = reader.parallelism if an_input.grouping.kind is GroupingKind.ALL else 1
                for ident, number in emitted[stream.name].items():
                    counts[reader.name][ident] += number * copies
    return counts


def check_restore(cluster: "Cluster") -> None:
    """At any moment: commits of sinks are part of the restored state."""
    restore = cluster.master.core.plan_restore if cluster.master is not None else None
    newest = cluster.habits.newest_committed
    if restore is not None and restore.members is None:
        at = restore.checkpoint
        require(at >= newest, f"all are restored from {at}, and sinks have committed {newest}")


def check_committed(cluster: "Cluster", bolt: CountingBolt) -> None:
    """At the end all input of a bolt is committed, each tuple once."""
    who = bolt.emitter.instance
    committed = sum(n for (whose, _), n in cluster.habits.committed.items() if whose == who)
    got = sum(bolt.counts.values())
    require(committed == got, f"{who} has made {committed} of {got} tuples good")


def check_counts(cluster: "Cluster") -> None:
    """At the end every bolt has counted every ident exactly as often as it must."""
    assert cluster.master is not None
    require(cluster.master.core.lost == 0, "the master misses deliveries")
    restore = cluster.master.core.plan_restore
    assert restore is not None
    assert restore.members is not None
    late = {
        each.task
        for each in cluster.instances.values()
        if restore.members[each.task] != each.incarnation
    }
    idents: dict[str, dict[str, list[int]]] = {}
    counted: dict[str, Counter[int]] = {}
    for each in cluster.instances.values():
        name = cluster.packing.instances[each.task].component
        if isinstance(each.component, CountingSpout):
            for stream, some in each.component.all_idents.items():
                idents.setdefault(name, {}).setdefault(stream, []).extend(some)
        elif isinstance(each.component, CountingBolt | KeyedCountingBolt):
            counted.setdefault(name, Counter()).update(each.component.counts)
            if each.task not in late and isinstance(each.component, CountingBolt):
                check_committed(cluster, each.component)
        elif not isinstance(each.component, SimBolt):
            require(each.task in late, f"task {each.task} still waits for its state")
    tasks_of = cluster.packing.tasks_of
    for name, expected in expected_counts(cluster.topology, idents).items():
        # A process replaced after the end does not count any more.
        if name in counted and not late & set(tasks_of[name]):
            wrong = {
                ident: (counted[name][ident], expected[ident])
                for ident in expected | counted[name]
                if counted[name][ident] != expected[ident]
            }
            require(not wrong, f"{name} has counted (ident: got, expected) {wrong}")
            check_abandoned(cluster, name, counted[name])


def check_abandoned(cluster: "Cluster", component: str, counts: Counter[int]) -> None:
    """At the end: the master's failed roots equal the failures of the final history, neither more
    (undone by a restore) nor less (process ended)."""
    assert cluster.master is not None
    stats = cluster.master.core.stats(None, cluster.clock.now).components[component]
    abandoned = sum(counts[ident] for ident in counts if is_abandoned(component, ident))
    wanted = abandoned if cluster.habits.abandons else 0
    found = stats.failed_for_good
    require(found == wanted, f"{component}: {found} failed for good, and {wanted} did")
