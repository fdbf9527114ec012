"""Supervisors of the simulated containers: a scheduler follows the plans in the state store, and in
each container an executor follows its stream manager (scheduler.daemon and .container)."""

import json
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_core.plans import PackingPlan, packing_from_json, physical_from_json
from heron_core.wire.messages import InstanceFailed
from heron_engine.scheduler.update_plans import Packings
from heron_engine.stream_manager.events import FromInstanceControl
from tests.sim.instances import Instance, Said
from tests.sim.network import Channel
from tests.sim.new_code import Broken, path_of

if TYPE_CHECKING:
    from tests.sim.cluster import Cluster

START_AGAIN_ROUNDS_MAX = 40
"""Delay of a restart after a failed start."""
RELOAD_ROUNDS_MAX = 20
"""How long a scheduler or an executor takes until the next poll of the plan."""


class Deployment:
    """The running containers, and the plan of each start."""

    def __init__(self, cluster: "Cluster", packing: PackingPlan) -> None:
        self._cluster = cluster
        self._first = packing
        self.places: dict[int, PackingPlan] = {}
        """container -> the plan known to its executor"""
        self._told_at: dict[int, int] = {}
        """container -> the round of the newest plan's arrival at its executor"""
        self._due: dict[int, list[Callable[[], None]]] = defaultdict(list)
        self._failing: set[tuple[int, int]] = set()
        """(container, task) whose process ends at its beginning, and is started again"""
        self.failures = 0

    @property
    def packings(self) -> Packings:
        """Plans of the state store."""
        cluster = self._cluster
        wanted = packing_from_json(json.loads(cluster.stored_packing))
        if cluster.stored_plan is None:
            return Packings(wanted, wanted)
        return Packings(physical_from_json(json.loads(cluster.stored_plan)).packing, wanted)

    def reload(self) -> None:
        """The topology master says that the plans have changed."""
        self._later(self._follow_store)

    def repacked(self, container: int, packing: PackingPlan) -> None:
        """The stream manager of a container works by another plan; its executor gets each plan, in
        order."""
        earliest = self._told_at.get(container, 0)
        self._told_at[container] = self._later(
            lambda: self._follow_manager(container, packing), earliest
        )

    def _later(self, call: Callable[[], None], earliest: int = 0) -> int:
        """Schedule a call, not before the round `earliest`; returns the round."""
        wait = self._cluster.chance.randint(1, RELOAD_ROUNDS_MAX)
        at = max(self._cluster.rounds + wait, earliest)
        self._due[at].append(call)
        return at

    @property
    def settled(self) -> bool:
        """Whether all have followed."""
        return not self._due

    def step(self) -> None:
        """Events due in this round."""
        for call in self._due.pop(self._cluster.rounds, ()):
            call()

    def _follow_store(self) -> None:
        if self._cluster.store_away:
            self._later(self._follow_store)
            return
        packings = self.packings
        for container in packings.containers:
            if container not in self.places:
                self.start(container, packings.of(container))
        for container in set(self.places) - set(packings.containers):
            self._end(container)

    def start(self, container: int, packing: PackingPlan) -> None:
        """Start a missing container."""
        cluster = self._cluster
        cluster.note(f"start container {container}")
        self.places[container] = packing
        for each in packing.container(container).instances:
            self.start_instance(container, each.task)
        cluster.start_manager(container)

    def start_instance(self, container: int, task: int) -> None:
        """A process of a task, with connections of its own."""
        cluster = self._cluster
        if self._is_broken(container, task):
            if (container, task) not in self._failing:
                self._failing.add((container, task))
                self._fail(container, task)
            return
        words: Channel[Any] = cluster.control_channel()
        data: Channel[Said] = Channel(cluster.clock, cluster.rng)
        cluster.instances[container, task] = Instance(cluster, container, task, words, data)

    def _is_broken(self, container: int, task: int) -> bool:
        """Whether the task's class cannot begin, by the executor's plan."""
        packing = self.places[container]
        component = packing.instances[task].component
        spec = packing.topology_of(self._cluster.topology).by_name[component]
        return spec.class_path == path_of(Broken)

    def _fail(self, container: int, task: int) -> None:
        """A process reports its failed start, and ends; its supervisor starts a new one, while
        wanted."""
        place, cluster = self.places.get(container), self._cluster
        if place is None or place.container_of.get(task) != container:
            self._failing.discard((container, task))
            return
        cluster.note(f"task {task} cannot begin in container {container}")
        manager = cluster.managers.get(container)
        if manager is not None:
            self.failures += 1
            failed = InstanceFailed(task, "ValueError: not yet")
            manager.handle(FromInstanceControl(task, cluster.number(), failed))
        wait = cluster.chance.randint(1, START_AGAIN_ROUNDS_MAX)
        self._due[cluster.rounds + wait].append(partial(self._fail, container, task))

    def _end(self, container: int) -> None:
        cluster = self._cluster
        cluster.note(f"end container {container}")
        del self.places[container]
        for key in [each for each in cluster.instances if each[0] == container]:
            self._end_instance(*key)
        manager = cluster.managers.pop(container, None)
        if manager is not None:
            manager.died()
        cluster.rules.process_changed()

    def _end_instance(self, container: int, task: int) -> None:
        cluster = self._cluster
        cluster.note(f"end task {task} in container {container}")
        instance = cluster.instances.pop((container, task))
        instance.abandon()
        cluster.end_zombies(container, task)
        cluster.journal.ended(instance.component)

    def _follow_manager(self, container: int, packing: PackingPlan) -> None:
        if container not in self.places or not any(x.id == container for x in packing.containers):
            return
        self.places[container] = packing
        wanted = {each.task for each in packing.container(container).instances}
        here = {task for at, task in self._cluster.instances if at == container}
        for task in here - wanted:
            self._end_instance(container, task)
        for task in wanted - here:
            self._cluster.note(f"start task {task} in container {container}")
            self.start_instance(container, task)
        self._cluster.rules.process_changed()
