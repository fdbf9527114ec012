"""The book of back-pressure against a plain set of causes: an instance is paused exactly while one
of its causes stands, and its times add up."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from heron_core.config import STAGE
from heron_core.plans import PackingPlan
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_engine.stream_manager.backpressure import BackPressure, QueueOrigin
from heron_engine.stream_manager.upstream import upstream_of
from tests.unit.stream_manager.manager_support import packing_of

SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)
EDGES: dict[str, tuple[str, ...]] = {"s": (), "a": ("s",), "b": ("s",), "sink": ("a", "b"),
                                     "loop": ("sink", "loop")}  # fmt: skip
TOPOLOGY = TopologySpec(
    "t",
    tuple(
        ComponentSpec(
            name, not sources, "module.Class", 1, (StreamSpec("default", ("value",)),),
            tuple(InputSpec(source, "default", SHUFFLE) for source in sources),
        )
        for name, sources in EDGES.items()
    ),
    {},
)  # fmt: skip

HERE = 1
PACKINGS = (
    packing_of({1: "s", 2: "a", 3: "b"}, {4: "sink", 5: "loop", 6: "s"}),
    packing_of({1: "s", 2: "a", 7: "sink"}, {4: "sink", 5: "loop", 6: "s", 3: "b"}, {8: "a"}),
    packing_of({1: "s", 2: "a", 3: "b", 4: "sink", 5: "loop"}),
)
origins = st.one_of(
    st.builds(QueueOrigin, st.integers(2, 3), st.just(0)),
    st.builds(QueueOrigin, st.just(HERE), st.integers(1, 3)),
)
some_tasks = st.sets(st.integers(1, 9), min_size=1, max_size=3)


class PressureMachine(RuleBasedStateMachine):
    """Causes come and go in any order, of our own queues and of other stream managers; now and then
    the topology is scaled."""

    def __init__(self) -> None:
        super().__init__()
        self.packing = PACKINGS[0]
        self.pressure = BackPressure(TOPOLOGY, self.packing, HERE, STAGE)
        self.causes: set[tuple[QueueOrigin, int]] = set()
        self.upstream = upstream_of(TOPOLOGY)
        self.now = 0.0
        self.paused_secs: dict[int, float] = {}

    @property
    def containers(self) -> set[int]:
        return {each.id for each in self.packing.containers}

    @property
    def local(self) -> list[int]:
        return [each.task for each in self.packing.container(HERE).instances]

    def paused(self) -> set[int]:
        components = {task: each.component for task, each in self.packing.instances.items()}
        retained = {name for _, task in self.causes for name in self.upstream[components[task]]}
        return {task for task in self.local if components[task] in retained}

    def is_possible(self, origin: QueueOrigin) -> bool:
        return {origin.announcer, origin.queue or HERE} <= self.containers

    def check(self, changed: list[int], before: set[int]) -> None:
        assert set(changed) == before ^ self.paused()
        assert len(set(changed)) == len(changed)

    @rule(secs=st.integers(1, 5))
    def time_passes(self, secs: int) -> None:
        self.now += secs
        for task in self.paused():
            self.paused_secs[task] = self.paused_secs.get(task, 0.0) + secs

    @rule(origin=origins, tasks=some_tasks)
    def on(self, origin: QueueOrigin, tasks: set[int]) -> None:
        if self.is_possible(origin):
            before = self.paused()
            changed = self.pressure.on(origin, tasks, self.now)
            self.causes |= {(origin, task) for task in tasks if task in self.packing.instances}
            self.check(changed, before)

    @rule(origin=origins, tasks=some_tasks)
    def off(self, origin: QueueOrigin, tasks: set[int]) -> None:
        before = self.paused()
        changed = self.pressure.off(origin, tasks, self.now)
        self.causes -= {(origin, task) for task in tasks}
        self.check(changed, before)

    @rule(announcer=st.integers(2, 3))
    def forget(self, announcer: int) -> None:
        before = self.paused()
        changed = self.pressure.forget(announcer, self.now)
        self.causes = {each for each in self.causes if each[0].announcer != announcer}
        self.check(changed, before)

    @rule(packing=st.sampled_from(PACKINGS))
    def scale(self, packing: PackingPlan) -> None:
        before = self.paused()
        gone = self.containers - {each.id for each in packing.containers}
        # What our queues to containers that are gone had named is lifted first (flow_control).
        lifted = [each for each in self.causes if each[0].queue in gone]
        for origin, task in lifted:
            self.pressure.off(origin, {task}, self.now)
        released = self.pressure.apply_packing(packing, self.now)
        stayed = set(self.local)
        self.packing = packing
        self.causes = {
            (origin, task)
            for origin, task in self.causes
            if self.is_possible(origin) and task in packing.instances
        }
        stayed &= set(self.local)
        self.paused_secs = {task: self.paused_secs.get(task, 0.0) for task in stayed}
        assert stayed & (before - self.paused()) >= set(released)
        if not lifted:
            assert set(released) == stayed & (before - self.paused())

    @invariant()
    def no_pause_without_a_cause(self) -> None:
        assert {task for task in self.local if self.pressure.is_paused(task)} == self.paused()
        assert self.pressure.own() == {task for origin, task in self.causes if origin.queue}
        self.pressure.validate(self.now, self.containers)

    @invariant()
    def times_add_up(self) -> None:
        paused = {
            task: each.paused_secs for task, each in self.pressure.statistics(self.now).items()
        }
        assert {task: secs for task, secs in paused.items() if secs} == {
            task: secs for task, secs in self.paused_secs.items() if secs
        }


TestPressure = PressureMachine.TestCase
TestPressure.settings = settings(max_examples=60, stateful_step_count=30, derandomize=True)
