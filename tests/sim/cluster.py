"""The cluster: all processes of one topology in one Python process, turned in random order."""

import json
from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Any

from heron_core import config as keys
from heron_core.code_change import changed_code
from heron_core.errors import TopologyError
from heron_core.plans import PackingPlan, Phase, UpdateStage, leaving, packing_to_json
from heron_core.topology import TopologySpec
from heron_engine.scheduler.packing import pack, repack
from heron_engine.scheduler.packing.code_packing import pack_code
from tests.sim.at_least_once import MovedStates, OwnStates, keyed, own_states_of, saving
from tests.sim.checkers import Journal, require
from tests.sim.clock import Clock
from tests.sim.deployment import Deployment
from tests.sim.effectively_once import (
    RAISES_MAX,
    SimStates,
    check_restore,
    checkpoint_config,
    counting,
    napping,
)
from tests.sim.instances import Instance
from tests.sim.network import Channel
from tests.sim.new_code import new_code
from tests.sim.pressure import PressureRules
from tests.sim.processes import Manager, Master
from tests.sim.topologies import Habits, SimBolt, SimSpout, random_config, random_topology

CONTROL_DELAY_SECS = 0.01
REPEATED_SHARE = 0.05
ASKED_AGAIN_SHARE = 0.3
"""Share of updates requested twice at once."""
BREAKING_SHARE = 0.05
ROUND_SECS = 0.0005
IDLE_SECS = 0.02
"""Passage of time after a round with events, and after a round without."""
PATIENCE_SECS = 0.4
"""A little less than the masters' lost_after_secs: what is cut off for longer may be abandoned."""
IDLE_CHECK_ROUNDS = 4
TRACE_LINES = 60


@dataclass(frozen=True)
class Manners:
    """How the world of one run behaves."""

    refusing_share: float
    """How often a peer's socket refuses a message despite its room."""
    peer_messages_max: int
    repeated_share: float
    consumed_bytes: int
    window_bytes: int
    pipelined_bytes: int
    at_once_bytes: int
    """Messages handed to a busy instance at once, the rest waits for a merge; 0 hands over all."""
    master_silent_secs: float
    drain_secs: float
    blocked_secs: float
    breaking_share: float = 0.0
    """How often a connection between stream managers breaks with a message on it."""


class Cluster:
    """All processes of one topology, made from one seed."""

    round_secs = ROUND_SECS

    def __init__(self, seed: int, effectively_once: bool = False) -> None:
        self.seed = seed
        self.effectively_once = effectively_once
        self.states = SimStates(seed)
        self.rng = rng = Random(seed)
        self.trace: deque[str] = deque(maxlen=TRACE_LINES)
        self.clock = Clock(rng.choice((1e-5, 1e-4)))
        self.habits = Habits(Random(rng.random()))
        config = self._chosen_config()
        self._choose_habits(config)
        self.own_states = self._chosen_states(config)
        self.moved_states = MovedStates(seed)
        self.topology = self._made_topology(config)
        instances = sum(each.parallelism for each in self.topology.components)
        containers = min(config[keys.STMGRS], instances)
        self.topology = self.topology.with_config({keys.STMGRS: containers})
        first = pack(self.topology)
        self.journal = self.habits.journal = Journal(self.topology)
        overtakes = config.get(keys.ALIGNED_TIMEOUT_MS, -1) >= 0
        self.journal.is_run_again = overtakes or self.habits.raising is not None
        self.naps = napping(self)
        self.chance = Random(f"deployment {seed}")
        self.stored_packing = json.dumps(packing_to_json(first))
        self.stored_execution: dict[str, Any] = {}
        self.stored_checkpoints: dict[str, Any] = {}
        self.deployment = Deployment(self, first)
        self.manners = self._chosen_manners()
        manners = self.manners
        self.refusing_share, self.breaking_share = manners.refusing_share, manners.breaking_share
        self.rules = PressureRules(self)
        self.rounds = 0
        self.updates = 0
        self.masters = 1  # so many there have been
        self._last_number = 0
        self.managers: dict[int, Manager] = {}
        self.instances: dict[tuple[int, int], Instance] = {}
        self.zombies: list[Instance] = []
        """Stopped and replaced processes, still unaware of the replacement."""
        self.stored_plan: str | None = None
        """The physical plan in the state store, as JSON."""
        self.store_away = False
        self.cuts: set[tuple[int, int]] = set()
        """(container, container): cut from the first to the second."""
        self.drops: set[tuple[int, int]] = set()
        """(container, container): from the first to the second all is lost."""
        self.previous: list[Master] = []
        """Replaced masters, still unaware of the replacement."""
        self.master: Master | None = Master(self)
        self.node: Master | None = self.master
        """The master named by the state store, perhaps dead."""
        for container in first.containers:
            self.deployment.start(container.id, first)
        self._slow_some(rng)

    def _slow_some(self, rng: Random) -> None:
        for instance in self.instances.values():
            if rng.random() < 0.2:
                instance.speed = rng.choice((0.0, 0.02, 0.2))

    def _chosen_config(self) -> dict[str, Any]:
        once = checkpoint_config(self.seed) if self.effectively_once else {}
        # By a separate choice: the seeds keep their runs.
        tuples = Random(f"tuples {self.seed}").choice((1, 10, 100, 2048))
        return random_config(self.rng) | {keys.BACKPRESSURE_HIGH_TUPLES: tuples} | once

    def _made_topology(self, config: dict[str, Any]) -> TopologySpec:
        made = random_topology(self.rng, self.habits, config)
        if self.effectively_once:
            return counting(made, self.habits)
        return saving(keyed(made, self.seed, self.own_states is not None), self.own_states)

    def _chosen_states(self, config: dict[str, Any]) -> OwnStates | None:
        return None if self.effectively_once else own_states_of(self.seed, config)

    def _chosen_manners(self) -> Manners:
        rng = self.rng
        return Manners(
            refusing_share=rng.choice((0.0, 0.1, 0.5)),
            breaking_share=self.chance.choice((0.0, 0.0, BREAKING_SHARE)),
            peer_messages_max=rng.choice((2, 8, 64)),
            repeated_share=rng.choice((0.0, REPEATED_SHARE)),
            consumed_bytes=rng.choice((100, 1000)),
            window_bytes=rng.choice((300, 1000, 5000)),
            pipelined_bytes=self.chance.choice((0, 150, 100_000)),
            at_once_bytes=self.chance.choice((0, 1000)),
            master_silent_secs=rng.choice((0.7, 1.5)),
            drain_secs=rng.choice((0.2, 3.0, 60.0)),
            blocked_secs=Random(f"held up {self.seed}").choice((0.05, 0.3, 6.0)),
        )

    def _choose_habits(self, config: dict[str, Any]) -> None:
        habits, rng = self.habits, self.rng
        habits.tracked = config[keys.RELIABILITY_MODE] == keys.ATLEAST_ONCE
        habits.failing_share = rng.choice((0.0, 0.05)) if habits.tracked else 0.0
        raising = Random(f"raising {self.seed}")
        if self.effectively_once and raising.random() < 0.5:
            habits.raising, habits.raises_left = raising, raising.choice((1, RAISES_MAX))
        habits.holding_share = rng.choice((0.0, 0.3))
        habits.children_max = rng.choice((1, 1, 2))

    def number(self) -> int:
        """An unused process number."""
        self._last_number += 1
        return self._last_number

    def control_channel(self) -> Channel[Any]:
        """A connection for control messages."""
        return Channel(self.clock, self.rng, CONTROL_DELAY_SECS, self.manners.repeated_share)

    def note(self, text: str) -> None:
        """Remember one line, shown when the run fails."""
        self.trace.append(f"{self.clock.now - 1000:.4f} {text}")

    # --- running ------------------------------------------------------------------------------

    def round(self) -> None:
        """Every process gets its turn, in any order; then time passes."""
        self.rounds += 1
        actors: list[Instance | Manager | Master] = [
            *self.instances.values(),
            *(each for each in self.zombies if not each.is_stopped),
            *self.managers.values(),
            *([self.master] if self.master is not None else []),
            *self.previous,
        ]
        self.rng.shuffle(actors)
        busy = False
        for actor in actors:
            is_due = actor.speed == 1.0 or self.rng.random() < actor.speed
            if is_due or self._is_overdue(actor):
                busy = actor.turn() or busy
            elif isinstance(actor, Instance):
                busy = actor.control_step() or busy
        self.deployment.step()
        check_restore(self)
        self._reap()
        for container in [each.container for each in self.managers.values() if each.refused]:
            self.kill_manager(container)
            self.start_manager(container)
        self.clock.advance(self.round_secs if busy else IDLE_SECS)
        if not busy and self.rounds % IDLE_CHECK_ROUNDS == 0 and self._nothing_under_way:
            self.rules.check_idle()

    def _is_overdue(self, actor: Instance | Manager | Master) -> bool:
        """Whether a slow instance must take its waiting input: the instance reports idle, and
        during a drain the master would abort after lost_after_secs (seed 50467)."""
        return (
            isinstance(actor, Instance)
            and (self.step is not None or self.phase is not Phase.RUNNING)
            and actor.inbox.ready
            and self.clock.now - actor.turned_at > PATIENCE_SECS
        )

    @property
    def _nothing_under_way(self) -> bool:
        """Whether every cause and every pause has arrived; beats do not matter."""
        return (
            self.master is not None
            and not self.previous
            and not self.cuts
            and not self.drops
            and not self.zombies
            and self.deployment.settled
            and {each.container: each.core.epoch for each in self.managers.values()}
            == dict.fromkeys(self.packing.container_of.values(), self.master.core.epoch)
            and {container for container, _ in self.instances}
            == set(self.packing.container_of.values())
            and all(each.epoch_taken == self.master.core.epoch for each in self.instances.values())
            and not any(each.core.blocked_peers() for each in self.managers.values())
            and not any(each.line is None or each.line.down for each in self.managers.values())
            and not any(any(each.inbound) for each in self.managers.values())
            and not any(
                peer.outgoing.kept_bytes
                for each in self.managers.values()
                for peer in each.core.state.peers.values()
            )
            and not any(each.data or each.orders for each in self.instances.values())
            and all(
                each.incarnation == self.managers[home].core.state.queues[task].incarnation
                for (home, task), each in self.instances.items()
            )
        )

    def become_calm(self) -> None:
        """No faults from here on, and all consumers run."""
        self.note("calm")
        self.journal.calm = True
        self.refusing_share = self.breaking_share = 0.0
        for manager in self.managers.values():
            for _, channel in manager.links.values():
                channel.breaking_share = 0.0
        for instance in self.instances.values():
            instance.speed = 1.0

    @property
    def packing(self) -> PackingPlan:
        """The plan by which the newest master runs the topology."""
        assert self.master is not None
        return self.master.core.packing

    @property
    def ended(self) -> bool:
        """Whether the master found the topology done."""
        return self.phase is Phase.ENDED

    @property
    def phase(self) -> Phase | None:
        """Phase of the master; None without a master."""
        return None if self.master is None else self.master.core.phase

    @property
    def all_done(self) -> bool:
        """Whether all instances are without work, and queues are empty."""
        return all(each.driver.counts()[2] for each in self.instances.values()) and not any(
            any(each.core.statistics()["waiting_bytes"].values()) for each in self.managers.values()
        )

    # --- scaling ------------------------------------------------------------------------------

    @property
    def step(self) -> UpdateStage | None:
        """Step of the running update."""
        return None if self.master is None else self.master.core.update_stage

    def update(self, parallelism: dict[str, int], containers: int | None) -> bool:
        """Scale the topology by `heronpy update`; whether accepted."""
        if self.master is None or self.store_away:
            return False
        try:
            packing = repack(self.topology, self.packing, parallelism, containers)
        except TopologyError:
            return False
        what = f"update {parallelism} {containers}, {len(leaving(self.packing, packing))} leave"
        return self._ask(packing, what)

    def change_code(self, rng: Random) -> bool:
        """Give new code by `heronpy update --code`; whether accepted."""
        if self.master is None or self.store_away:
            return False
        current = self.packing
        running = current.topology_of(self.topology)
        instances = {name: len(tasks) for name, tasks in current.tasks_of.items()}
        change = changed_code(running, new_code(running, rng), instances)
        if change.is_nothing:
            return True
        return self._ask(pack_code(current, change), f"new code, {change}")

    def _ask(self, packing: PackingPlan, what: str) -> bool:
        """Whether another plan is not refused. The command may die then, and be given once more."""
        assert self.master is not None
        arguments = {"packing": packing_to_json(packing)}
        answer = self.master.ask("update", arguments)
        self.note(f"{what}: {answer}")
        self.updates += bool(answer.ok)
        if answer.ok and self.chance.random() < ASKED_AGAIN_SHARE:
            begins = self.master.ask("update", arguments).ok
            require(not begins, "an update begins while one is under way")
        return bool(answer.ok)

    def cancel(self) -> None:
        """A container of the new plan is not to be had: the update is aborted if it still may."""
        if self.master is not None and not self.store_away:
            is_switched = self.step in (None, UpdateStage.INSTANCES)
            answer = self.master.ask("cancel", {"reason": "there is no room"})
            self.note(f"cancel: {answer}, {self.step}")
            may_roll_back = self.step is UpdateStage.CONTAINERS
            require(may_roll_back or not (is_switched and answer.ok), "a cancelled plan stays")

    # --- faults -------------------------------------------------------------------------------

    def kill_instance(self, container: int, task: int) -> None:
        """An instance dies; its successor starts at once."""
        self.note(f"kill task {task} in container {container}")
        self.journal.killed = True
        dead = self.instances[container, task]
        dead.died()
        self.instances[container, task] = Instance(self, container, task, dead.words, dead.data)
        self.rules.process_changed()

    def processes(self, container: int) -> list[Instance]:
        """The processes of a container's instances, including replaced ones."""
        return [
            each
            for each in (*self.instances.values(), *self.zombies)
            if each.container == container
        ]

    def process(self, container: int, task: int, incarnation: int) -> Instance | None:
        """The process with the number, if alive."""
        for each in self.processes(container):
            if each.task == task and each.incarnation == incarnation:
                return each
        return None

    def stop_instance(self, container: int, task: int) -> Instance:
        """An instance is stopped until another process takes its place."""
        self.note(f"stop task {task} in container {container}")
        self.journal.killed = True
        stopped = self.instances[container, task]
        stopped.is_stopped = True
        if isinstance(stopped.component, SimSpout | SimBolt):
            self.habits.replaced_processes.add(stopped.component.emitter.process_id)
        self.zombies.append(stopped)
        self.deployment.start_instance(container, task)
        self.rules.process_changed()
        return stopped

    def wake_instance(self, stopped: Instance) -> None:
        """The instance goes on, unaware of the pause."""
        self.note(f"process {stopped.incarnation} of task {stopped.task} goes on")
        stopped.is_stopped = False

    def _reap(self) -> None:
        """A superseded process has ended; its supervisor starts a new one unless replaced on
        purpose (two processes may supersede each other at a new stream manager)."""
        for zombie in [each for each in self.zombies if each.has_exited]:
            zombie.abandon()
            self.zombies.remove(zombie)
        for key in [key for key, each in self.instances.items() if each.has_exited]:
            self.kill_instance(*key)

    def end_zombies(self, container: int, task: int | None = None) -> None:
        """End all processes of a container, or of a task."""
        for zombie in list(self.zombies):
            if zombie.container == container and task in (None, zombie.task):
                zombie.abandon()
                self.zombies.remove(zombie)

    def close(self) -> None:
        """The end of a run: no thread of a suspended call stays."""
        for each in (*self.instances.values(), *self.zombies):
            each.abandon()

    def kill_manager(self, container: int) -> None:
        """A stream manager dies; `start_manager` brings its successor."""
        self.note(f"kill stream manager {container}")
        self.journal.killed = True
        self.managers.pop(container).died()
        self.rules.process_changed()

    def start_manager(self, container: int) -> None:
        """A new stream manager for a container, if still wanted."""
        if container not in self.deployment.places or container in self.managers:
            return
        manager = self.managers[container] = Manager(self, container)
        self.note(f"start stream manager {manager.address}")

    def kill_container(self, container: int) -> None:
        """A whole container dies; its instances restart before its stream manager."""
        self.kill_manager(container)
        self.end_zombies(container)
        for key in [each for each in self.instances if each[0] == container]:
            dead = self.instances[key]
            dead.data.clear()
            dead.words.clear()
            self.kill_instance(*key)

    def reset_line(self, container: int) -> None:
        """A stream manager's connection to the master breaks and comes again."""
        if container in self.managers:
            self.managers[container].reset_line()

    def kill_master(self, node_stays: bool) -> None:
        """The master dies; `node_stays`: as with ZooKeeper, until its session has expired."""
        assert self.master is not None
        self.master.died()
        self.master = None
        if not node_stays:
            self.node = None

    def start_master(self) -> None:
        """A new master takes the node, and the content of the state store."""
        self.note("start master")
        self.masters += 1
        self.master = self.node = Master(self)

    def take_over(self) -> None:
        """The master's session with the state store is lost, and a standby takes its place."""
        assert self.master is not None
        self.master.cut_off = True
        self.previous.append(self.master)
        self.start_master()

    def end_previous_master(self) -> None:
        """A replaced master notices, and ends."""
        self.previous.pop(0).died()

    def store_leaves(self) -> None:
        """The state store is out of reach for reads and writes."""
        self.note("the state store is away")
        self.store_away = True

    def store_returns(self) -> None:
        """The state store returns, with all writes."""
        self.note("the state store is there")
        self.store_away = False

    def cut(self, first: int, second: int) -> None:
        """Cut the direction from one container to another."""
        self.note(f"cut {first} -> {second}")
        self._set_cut(first, second, True)

    def heal(self, first: int, second: int) -> None:
        """Waiting messages arrive, in order."""
        self.note(f"heal {first} -> {second}")
        self._set_cut(first, second, False)

    def _set_cut(self, first: int, second: int, on: bool) -> None:
        (self.cuts.add if on else self.cuts.discard)((first, second))
        manager = self.managers.get(first)
        if manager is not None and second in manager.links:
            manager.links[second][1].cut = on

    def break_off(self, first: int, second: int) -> None:
        """The connection from one container to another breaks, and is made again."""
        self.note(f"break {first} -> {second}")
        if (manager := self.managers.get(first)) is not None and second in manager.links:
            manager.links[second][1].break_off()

    def drop(self, first: int, second: int, on: bool) -> None:
        """Messages from one container to another are lost, or arrive again."""
        self.note(f"{'drop' if on else 'no more drop'} {first} -> {second}")
        (self.drops.add if on else self.drops.discard)((first, second))
        if (manager := self.managers.get(first)) is not None and second in manager.links:
            manager.links[second][1].loses = on
            manager.links[second][1].break_off()
