"""From a topology to the levels of a query: tasks that run together, and problems of the topology
as a query.

A level is a stage of Spark's job: level 0 has the spouts, and a bolt's level is one more than the
highest level among its inputs (the longest path). So each batch passes every level once, and the
complete input of a level exists before the level runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from heron_connectors.spark import frames
from heron_core import config as keys
from heron_core.config.effects import SPARK_IDLE, idle_keys
from heron_core.errors import TopologyError
from heron_core.graph_walks import a_cycle
from heron_core.graph_walks import levels as levels_of
from heron_core.naming import others
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec
from heron_spark.compile.encodings import other_encoding
from heron_spark.compile.trident import of_micro_batches, trident_problems

SHELL_CLASSES = (
    "heron_frontends.adapters.multilang.ShellBolt",
    "heron_frontends.adapters.multilang.ShellSpout",
)
NOTHING = Resource(0.0, 0, 0)
NO_LINGER_MS = 24 * 3600 * 1000
"""A batch is the unit here: frames leave when they are full or when the batch ends."""
OVERRULED = (keys.RELIABILITY_MODE, keys.STORM_ACKERS, keys.LINGER_MS)


@dataclass(frozen=True)
class QueryPlan:
    """A topology in levels, with its tasks."""

    topology: TopologySpec
    """The config says at most once: tuples are not tracked within a batch, and the batch is exactly
    once.
    """
    packing: PackingPlan
    """Each task is a container of its own: a tuple for several tasks is sent to each separately."""
    levels: tuple[tuple[int, ...], ...]
    notices: tuple[str, ...]

    @cached_property
    def level_of(self) -> dict[int, int]:
        """task -> level."""
        return {task: level for level, tasks in enumerate(self.levels) for task in tasks}

    @property
    def spout_tasks(self) -> tuple[int, ...]:
        """The tasks of level 0."""
        return self.levels[0]

    def partitions(self, level: int, slots: int) -> int:
        """How many partitions a level has where `slots` tasks of Spark run at once."""
        return min(len(self.levels[level]), max(1, slots))

    def tasks_at(self, level: int, partition: int, slots: int) -> tuple[int, ...]:
        """Tasks of one partition of a level."""
        return self.levels[level][partition :: self.partitions(level, slots)]

    def partition_of(self, slots: int) -> dict[int, tuple[int, int]]:
        """task -> (level, partition)."""
        return {
            task: (level, position % self.partitions(level, slots))
            for level, tasks in enumerate(self.levels)
            for position, task in enumerate(tasks)
        }


def compile_topology(topology: TopologySpec) -> QueryPlan:
    """The plan of a checked topology; TopologyError names the first component that cannot run."""
    complaints = problems(topology)
    if complaints:
        raise TopologyError(f"{complaints[0]}{others(complaints)}")
    packing = one_task_a_container(topology)
    by_component = levels_of(topology.feeders)
    levels: list[list[int]] = [[] for _ in range(max(by_component.values()) + 1)]
    for task, instance in packing.instances.items():
        levels[by_component[instance.component]].append(task)
    return QueryPlan(
        _untracked(topology), packing, tuple(map(tuple, levels)), tuple(_notices(topology))
    )


def problems(topology: TopologySpec) -> list[str]:
    """Problems of the topology as a query, one line each, with the remedy."""
    complaints = [
        f"{component.label} is a program in another language, which does not share its state: on "
        "Spark the state of a component is saved with every batch; use --engine native"
        for component in topology.components
        if component.class_path in SHELL_CLASSES
    ]
    if keys.state_backend(keys.with_defaults(topology.config)) != keys.MEMORY:
        complaints.append(
            f"{keys.STATE_BACKEND} is {topology.config[keys.STATE_BACKEND]}: on Spark states are "
            "kept in memory; leave it out, or run it with --engine native"
        )
    complaints += trident_problems(topology)
    circle = a_cycle(topology.feeders)
    if circle:
        complaints.append(
            f"bolt {circle[0]!r} reads its own output ({' -> '.join(circle)}): a Spark query "
            "cannot have cycles; remove one of these inputs, or use --engine native"
        )
    return complaints


def one_task_a_container(topology: TopologySpec) -> PackingPlan:
    """A packing for routing: every tuple for another task is sent to the task alone."""
    return PackingPlan(
        topology.name,
        tuple(ContainerPlan(each.task, (each,), NOTHING) for each in _instances(topology)),
    )


def one_container(topology: TopologySpec) -> PackingPlan:
    """For people, and the state store: the query is all there is."""
    return PackingPlan(topology.name, (ContainerPlan(1, _instances(topology), NOTHING),))


def _instances(topology: TopologySpec) -> tuple[InstancePlan, ...]:
    """Task ids as everywhere: 1..n in order of declaration."""
    instances = (
        (component.name, index)
        for component in topology.components
        for index in range(component.parallelism)
    )
    return tuple(
        InstancePlan(task, name, index, NOTHING) for task, (name, index) in enumerate(instances, 1)
    )


def _untracked(topology: TopologySpec) -> TopologySpec:
    config = {
        **topology.with_config({}).config,
        keys.RELIABILITY_MODE: keys.ATMOST_ONCE,
        keys.LINGER_MS: NO_LINGER_MS,
    }
    components = tuple(
        replace(
            of_micro_batches(component),
            config={**_without(component.config, OVERRULED), **_fed(component)},
        )
        for component in topology.components
    )
    return replace(topology, config=config, defaults={}, components=components)


def _fed(component: ComponentSpec) -> dict[str, bool]:
    """What a spout is told whose rows Spark reads."""
    return {frames.FED: True} if frames.is_frame(component.config) else {}


def _without(config: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in names}


def _notices(topology: TopologySpec) -> Iterator[str]:
    named = {each.key for each in idle_keys(topology, is_query=True) if each.key in SPARK_IDLE}
    if named:
        yield (
            f"{', '.join(sorted(named))}: without meaning on Spark, where each batch is processed "
            "exactly once or again as a whole"
        )
    for component in topology.components:
        is_json = component.config.get(frames.SPARK_FORMAT) == "json"
        if is_json and (encoding := other_encoding(component.config.get(frames.OPTIONS, {}))):
            yield (
                f"spout {component.name!r}: JSON in {encoding} is not looked through: Spark reads"
                " half a character as a question mark, and values of several types in one place"
                " as texts"
            )
