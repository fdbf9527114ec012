"""Faults of a seed, their times, and the repair of each.

Several kinds of nights: each seed has one kind, so that a rule of lossless runs is checked under
lossless faults (a cut network, a dead master).
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from random import Random

from heron_core import config as keys
from heron_core.plans import Phase, UpdateStage
from heron_engine.topology_master.update.moved_states import moving
from tests.sim.at_least_once import with_keys
from tests.sim.cluster import PATIENCE_SECS, Cluster
from tests.sim.effectively_once import scalable

FAULTS_MAX = 3
CHECKPOINT_FAULTS_MAX = 6
CALM_ROUNDS = {False: (20, 250), True: (100, 500)}
"""When faults are over; where checkpoints are taken, some are to be complete before."""
RESTART_ROUNDS_MAX = 30
RESETS_MAX, RESET_ROUNDS_MAX = 6, 100
"""A connection that breaks does so several times."""
MASTER_AWAY_ROUNDS_MAX = 120
"""Long enough that the stream managers look for a master in vain (a round is up to 20 ms)."""
UNREADABLE_ROUNDS_MAX = 1500
"""Long enough for many tries of a restore."""
STORE_AWAY_ROUNDS_MAX = 400
"""Long enough for a new plan, and for the death of its master."""
CUT_ROUNDS_MAX = 60
BREAKS_MAX = 5
DROPPING_SHARE = 0.4
STOPPED_ROUNDS_MAX = 60
"""A stopped process may wake before its successor has registered, or after everything is done."""
LATE_SHARE = 0.4
UNMOUNTED_SHARE = 0.2
"""Of the runs with checkpoints."""
PARALLELISM_MAX, CONTAINERS_MAX = 4, 4
SCALED_ROUNDS_MAX = 60
"""Where checkpoints are taken; soon afterwards most spouts have finished, and rescales are
refused."""
UPDATE_AGAIN_ROUNDS = 3
"""After a refused update: the topology is not up yet, or another update is under way."""

MOVES_SHARE = 0.5
MOVES_ROUNDS = (10, 40)
"""When keys move: there is input left, and windows are open."""
SWITCHING = (UpdateStage.SAVE, UpdateStage.INSTANCES)

NIGHTS: tuple[tuple[str, ...], ...] = (
    (),
    ("cut",),
    ("break",),
    ("instance",),
    ("instance", "manager"),
    ("zombie",),
    ("zombie", "instance", "manager"),
    ("master", "takeover"),
    ("master", "manager", "instance"),
    ("container", "cut"),
    ("store", "master", "manager"),
    ("break", "instance", "zombie", "manager", "container", "cut", "master", "takeover", "store"),
    ("reset",),
    ("scale",),
    ("scale", "break", "cut"),
    ("scale", "cut", "reset"),
    ("scale", "scale", "master", "takeover"),
    ("scale", "instance", "manager"),
    ("scale", "zombie"),
    (
        "scale",
        "break",
        "instance",
        "zombie",
        "manager",
        "container",
        "cut",
        "master",
        "takeover",
        "store",
    ),
    ("replace", "scale", "cancel"),
    ("replace", "instance", "manager", "zombie", "container", "cut", "master", "takeover", "store"),
    ("reset", "manager", "master", "takeover", "instance", "store"),
)


CHECKPOINT_NIGHTS: tuple[tuple[str, ...], ...] = (
    (),
    ("break",),
    ("break", "instance"),
    ("instance",),
    ("manager", "cut"),
    ("zombie", "instance"),
    ("master", "takeover", "instance"),
    ("reset",),
    ("reset", "manager", "master", "takeover", "instance"),
    ("container", "cut", "states"),
    ("states", "instance"),
    ("unreadable",),
    ("unreadable", "instance", "master", "states"),
    ("store", "master", "manager", "instance"),
    (
        "break",
        "instance",
        "zombie",
        "manager",
        "container",
        "cut",
        "master",
        "takeover",
        "store",
        "states",
    ),
    ("scale",),
    ("scale", "break", "manager"),
    ("scale", "scale", "instance", "reset"),
    ("scale", "manager", "zombie", "cut"),
    ("scale", "scale", "master", "takeover", "store"),
    ("scale", "container", "states", "instance"),
    ("replace", "replace", "instance", "manager", "states"),
    ("replace", "scale", "cancel", "master", "takeover", "zombie", "container", "store"),
)
"""In a topology that takes checkpoints."""


class Faults:
    """The faults of one run."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.chance = chance = Random(f"faults {cluster.seed}")
        self.calm_at = chance.randint(*CALM_ROUNDS[cluster.effectively_once])
        nights = CHECKPOINT_NIGHTS if cluster.effectively_once else NIGHTS
        self._kinds = nights[cluster.seed % len(nights)]
        self._planned: dict[int, list[str]] = defaultdict(list)
        self._repairs: dict[int, list[Callable[[], None]]] = defaultdict(list)
        most = CHECKPOINT_FAULTS_MAX if cluster.effectively_once else FAULTS_MAX
        for _ in range(chance.randint(1, most) if self._kinds else 0):
            self._planned[chance.randint(1, self.calm_at)].append(chance.choice(self._kinds))
        changes = [each for each in ("replace", "scale") if each in self._kinds]
        if changes and cluster.effectively_once:
            self._planned[chance.randint(10, SCALED_ROUNDS_MAX)].append(changes[0])
        late = bool(self._kinds) and chance.random() < LATE_SHARE
        self._late = chance.choice((Phase.DRAINING, Phase.FINISHING)) if late else None
        """A fault when the end is near: in this phase."""
        others = sorted(set(self._kinds) - {"scale", "replace"})
        self._amid = chance.choice(list(UpdateStage)) if changes and others else None
        """A fault in the middle of an update: in this step."""
        self._others = others
        self._store_back_at = 0
        self._begin_unmounted()
        self._plan_moves()

    def _plan_moves(self) -> None:
        """Besides, in a topology with moving keys: updates of the keyed components."""
        cluster, chance = self.cluster, Random(f"moves {self.cluster.seed}")
        is_tracked = cluster.habits.tracked and not cluster.effectively_once
        moves = cluster.own_states is not None if is_tracked else not cluster.effectively_once
        names = with_keys(cluster.topology) if moves else []
        cluster.habits.defers_fail = self._defers_fail
        if names and chance.random() < MOVES_SHARE:
            self._planned[chance.randint(*MOVES_ROUNDS)].append("move")

    def _defers_fail(self, task: int) -> bool:
        cluster = self.cluster
        if cluster.masters != 1 or cluster.step not in SWITCHING:
            return False
        return task not in moving(cluster.packing, cluster.deployment.packings.wanted)

    def _move(self, at: int) -> None:
        """A component with keys has one instance more or less."""
        cluster = self.cluster
        chance = Random(f"move {cluster.seed} {at}")
        name = chance.choice(with_keys(cluster.topology))
        known = 0 if cluster.master is None else len(cluster.packing.tasks_of[name])
        wanted = {name: known + 1 if known < 2 else known - 1}
        is_running = cluster.phase in (None, Phase.RUNNING)
        if not cluster.update(wanted, None) and is_running:
            self._planned[at + UPDATE_AGAIN_ROUNDS].append("move")

    def _begin_unmounted(self) -> None:
        """A host begins without the disk of the checkpoint store, and gets it later."""
        chance = Random(f"unmounted {self.cluster.seed}")
        if not self.cluster.effectively_once or chance.random() >= UNMOUNTED_SHARE:
            return
        container = chance.choice(sorted(self.cluster.deployment.places))
        self.cluster.states.unmount(container)
        mounted_at = chance.randint(self.calm_at // 2, self.calm_at)
        self._repairs[mounted_at].append(partial(self._mount, container, chance))

    def _mount(self, container: int, chance: Random) -> None:
        """The next restore there reads the disk."""
        self.cluster.states.mount(container)
        there = [each for each in sorted(self.cluster.instances) if each[0] == container]
        if there:
            self.cluster.kill_instance(*chance.choice(there))

    def step(self, at: int) -> None:
        """What happens before round `at`."""
        found = self._planned.pop(at, [])
        if self._late is not None and self.cluster.phase is self._late:
            self._late = None
            found = [*found, self.chance.choice(self._kinds)]
        if self._amid is not None and self.cluster.step is self._amid:
            self._amid = None
            found = [*found, self.chance.choice(self._others)]
        for kind in found:
            if not self.cluster.ended:
                getattr(self, f"_{kind}")(at)
        for repair in self._repairs.get(at, ()):
            repair()  # may put another one at the end of this very round's
        self._repairs.pop(at, None)

    @property
    def repaired(self) -> bool:
        """Whether all repairs are done."""
        return not self._repairs

    def _later(self, at: int, rounds_max: int, repair: Callable[[], None]) -> int:
        due = at + self.chance.randint(0, rounds_max)
        self._repairs[due].append(repair)
        return due

    def _instance(self, at: int) -> None:
        self.cluster.kill_instance(*self.chance.choice(sorted(self.cluster.instances)))

    def _zombie(self, at: int) -> None:
        stopped = self.cluster.stop_instance(*self.chance.choice(sorted(self.cluster.instances)))
        self._later(at, STOPPED_ROUNDS_MAX, partial(self.cluster.wake_instance, stopped))

    def _manager(self, at: int) -> None:
        self._kill_home(at, self.cluster.kill_manager)

    def _container(self, at: int) -> None:
        self._kill_home(at, self.cluster.kill_container)

    def _kill_home(self, at: int, kill: Callable[[int], None]) -> None:
        if self.cluster.managers:
            container = self.chance.choice(list(self.cluster.managers))
            kill(container)
            restart = partial(self.cluster.start_manager, container)
            self._later(at, RESTART_ROUNDS_MAX, restart)

    def _reset(self, at: int) -> None:
        """A stream manager's connection to the master breaks, again and again."""
        container = self.chance.choice(sorted(self.cluster.deployment.places))
        for _ in range(self.chance.randint(1, RESETS_MAX)):
            self._later(at, RESET_ROUNDS_MAX, partial(self.cluster.reset_line, container))

    def _master(self, at: int) -> None:
        if self.cluster.master is not None:
            self.cluster.kill_master(node_stays=self.chance.random() < 0.5)
            self._later(at, MASTER_AWAY_ROUNDS_MAX, self._start_master)

    def _start_master(self) -> None:
        if self.cluster.store_away:
            self._repairs[self._store_back_at].append(self._start_master)
        else:
            self.cluster.start_master()

    def _store(self, at: int) -> None:
        if not self.cluster.store_away:
            self.cluster.store_leaves()
            returns = self.cluster.store_returns
            self._store_back_at = self._later(at, STORE_AWAY_ROUNDS_MAX, returns)

    def _states(self, at: int) -> None:
        """The checkpoint store is full or away; or its content is unreadable for a while, or
        damaged until restored by a person."""
        states = self.cluster.states
        trouble = self.chance.choice(("save", "load", "both", "lose"))
        if trouble == "lose":
            states.lose()
        else:
            states.begin_failing(trouble)
        self._later(at, STORE_AWAY_ROUNDS_MAX, states.recover)

    def _unreadable(self, at: int) -> None:
        """An instance dies while its initial state is unreadable or damaged; after some
        checkpoints."""
        states = self.cluster.states
        completed = self.cluster.stored_checkpoints.get("completed", ())
        if len(completed) < min(2, self.cluster.topology.config[keys.CHECKPOINTS_RETAINED]):
            if not self.cluster.ended:
                self._repairs[at + 1].append(partial(self._unreadable, at + 1))
            return
        if self.chance.random() < 0.5:
            states.lose()
        else:
            states.begin_failing("load")
        self._instance(at)
        self._later(at, UNREADABLE_ROUNDS_MAX, states.recover)

    def _scale(self, at: int) -> None:
        """A component more or less, containers more or less, or both at once."""
        topology = self.cluster.topology
        once = self.cluster.effectively_once
        every = [each.name for each in topology.components]
        names = scalable(topology, self.chance) if once else every
        wanted = {
            name: self.chance.randint(1, PARALLELISM_MAX)
            for name in self.chance.sample(names, self.chance.randint(0, min(2, len(names))))
        }
        containers = self.chance.choice((None, self.chance.randint(1, CONTAINERS_MAX)))
        is_running = self.cluster.phase in (None, Phase.RUNNING)
        if not self.cluster.update(wanted, containers) and is_running and at < self.calm_at:
            self._planned[at + UPDATE_AGAIN_ROUNDS].append("scale")

    def _replace(self, at: int) -> None:
        """Some components get new code."""
        is_running = self.cluster.phase in (None, Phase.RUNNING)
        if not self.cluster.change_code(self.chance) and is_running and at < self.calm_at:
            self._planned[at + UPDATE_AGAIN_ROUNDS].append("replace")

    def _cancel(self, at: int) -> None:
        self.cluster.cancel()

    def _takeover(self, at: int) -> None:
        if self.cluster.master is not None and not self.cluster.store_away:
            self.cluster.take_over()
            self._later(at, MASTER_AWAY_ROUNDS_MAX, self.cluster.end_previous_master)

    def _pairs(self) -> list[tuple[int, int]]:
        """Two containers, in one direction or in both; empty if there is one container only."""
        containers = sorted(self.cluster.deployment.places)
        if len(containers) < 2:
            return []
        one, other = self.chance.sample(containers, 2)
        return [(one, other), (other, one)][: self.chance.randint(1, 2)]

    def _break(self, at: int) -> None:
        """Connections between living processes break again and again, or lose all for a while."""
        for pair in self._pairs():
            for _ in range(self.chance.randint(0, BREAKS_MAX)):
                self._later(at, CUT_ROUNDS_MAX, partial(self.cluster.break_off, *pair))
            if self.chance.random() < DROPPING_SHARE and pair not in self.cluster.drops:
                self.cluster.drop(*pair, True)
                self._later(at, CUT_ROUNDS_MAX, partial(self.cluster.drop, *pair, False))

    def _cut(self, at: int) -> None:
        for pair in self._pairs():
            if pair not in self.cluster.cuts:
                self.cluster.cut(*pair)
                since = self.cluster.clock.now
                self._later(at, CUT_ROUNDS_MAX, partial(self._heal, pair, since))

    def _heal(self, pair: tuple[int, int], since: float) -> None:
        if self.cluster.clock.now - since > PATIENCE_SECS:
            self.cluster.journal.killed = True
        self.cluster.heal(*pair)
