"""Keys of containers: how many instances there are, and what is reserved for them."""

from collections.abc import Mapping
from typing import Any

from heron_core.config import readers as r
from heron_core.config import values as v
from heron_core.config.key import Key, Owner, Subject
from heron_core.errors import TopologyError, shown


def _percentage(config: Mapping[str, Any], key: str) -> int:
    percentage = r.whole_number(config, key, 0)
    if percentage >= 100:
        raise TopologyError(f"{key} is {percentage}: use 0 to 99")
    return percentage


def _sorting(config: Mapping[str, Any], key: str) -> str:
    value = config[key]
    word = value.upper() if isinstance(value, str) else ""
    if word not in (v.RAM_FIRST, v.CPU_FIRST):
        raise TopologyError(f"{key} is {shown(value)}: use {v.RAM_FIRST} or {v.CPU_FIRST}")
    return word


def _other_memory(config: Mapping[str, Any], key: str) -> float:
    """MiB; 0 adds nothing."""
    value = config[key]
    is_zero = not isinstance(value, bool) and value in (0, "0")
    return 0.0 if is_zero else r.positive(config, key, v.MIB_MAX)


def _packing_class(config: Mapping[str, Any], key: str) -> str:
    """The algorithm of a class of Heron's, whatever package the name begins with."""
    value = config[key]
    for name, algorithm in v.HERON_PACKINGS.items():
        if isinstance(value, str) and value.rpartition(".")[2] == name:
            return algorithm
    raise TopologyError(f"{key} is {shown(value)}: use a {' or '.join(v.HERON_PACKINGS)}")


# A row is read as a paragraph.
# fmt: off
CONTAINERS = Subject("Containers and instances")
STMGRS = CONTAINERS.add(Key(
    "topology.stmgrs", r.whole(1), 1, "containers, each with a stream manager", on_spark=False,
))
STORM_WORKERS = CONTAINERS.add(Key(
    "topology.workers", r.whole(1), None, f"Storm's: means `{STMGRS}`", on_spark=False,
))
STORM_ACKERS = CONTAINERS.add(Key(
    "topology.acker.executors", r.whole(0), None,
    "Storm's: 0 means at most once, more means at least once", see="GUIDE.md#configuration",
))
INSTANCES_MAX = CONTAINERS.add(Key(
    "topology.instances.max", r.whole(1), 10_000,
    "maximum instances: more are rejected at the start and by `heronpy update`; on one machine "
    "the limit also depends on its memory (8 MiB an instance) and its limit of open files",
    why="far beyond what was ever measured here: a slip of the hand is not to fill a machine with"
    " processes",
))
COMPONENT_PARALLELISM = CONTAINERS.add(Key(
    "topology.component.parallelism", r.whole(1), None,
    "Heron's: parallelism of a component, as its API writes it", owner=Owner.COMPONENT,
))
STORM_TASKS = CONTAINERS.add(Key(
    "topology.tasks", r.whole(1), None,
    "Storm's: the number of instances, whatever the parallelism; in the topology's config for all",
    owner=Owner.COMPONENT,
))
STORM_TASKS_MAX = CONTAINERS.add(Key(
    "topology.max.task.parallelism", r.whole(1), None,
    "Storm's: maximum parallelism of a component, at the start, by `update` and by autoscaling",
    owner=Owner.COMPONENT,
))
RAM_MAP = CONTAINERS.add(Key(
    "topology.component.rammap", r.bytes_of_components, None,
    "`component:bytes,…`: RAM that packing reserves for an instance. An instance (with its "
    "child processes) that uses more is restarted; the container's log warns at 90 %",
    on_spark=False,
))
CPU_MAP = CONTAINERS.add(Key(
    "topology.component.cpumap", r.cores_of_components, None,
    "`component:cores,…`: CPU that packing reserves for an instance", on_spark=False,
))
DISK_MAP = CONTAINERS.add(Key(
    "topology.component.diskmap", r.bytes_of_components, None,
    "`component:bytes,…`: disk that packing reserves for an instance", on_spark=False,
))
STORM_CPU_PERCENT = CONTAINERS.add(Key(
    "topology.component.cpu.pcore.percent", r.at_most(v.CORE_PERCENT_MAX), None,
    f"Storm's: becomes an entry of `{CPU_MAP}` (100 is a core)",
    owner=Owner.COMPONENT, on_spark=False,
))
STORM_HEAP_MB = CONTAINERS.add(Key(
    "topology.component.resources.onheap.memory.mb", r.at_most(v.MIB_MAX), None,
    f"Storm's: becomes an entry of `{RAM_MAP}`", owner=Owner.COMPONENT, on_spark=False,
))
STORM_OTHER_MEMORY_MB = CONTAINERS.add(Key(
    "topology.component.resources.offheap.memory.mb", _other_memory, None,
    f"Storm's: added to `{STORM_HEAP_MB}`", owner=Owner.COMPONENT, on_spark=False,
))
PACKING_ALGORITHM = CONTAINERS.add(Key(
    "topology.packing.algorithm", r.one_of(v.ROUND_ROBIN, v.FIRST_FIT_DECREASING), None,
    "assignment of instances to containers: `round_robin` or `first_fit_decreasing`",
    on_spark=False, without="`round_robin`",
))
HERON_PACKING_CLASS = CONTAINERS.add(Key(
    "heron.class.packing.algorithm", _packing_class, None,
    "Heron's: the class of a packing, `RoundRobinPacking` or `FirstFitDecreasingPacking`",
    on_spark=False,
))
FFD_SORTING_STRATEGY = CONTAINERS.add(Key(
    "topology.packing.ffd.sorting.strategy", _sorting, None,
    "sort key of `first_fit_decreasing`: `RAM_FIRST` or `CPU_FIRST`",
    on_spark=False, fallback=v.RAM_FIRST,
))
CONTAINER_CPU = CONTAINERS.add(Key(
    "topology.container.cpu", r.core_count, None, "cores of a container", on_spark=False,
    without="the sum of its instances and the padding",
))
CONTAINER_RAM = CONTAINERS.add(Key(
    "topology.container.ram", r.size(1), None, "memory of a container", on_spark=False,
    without="the sum of its instances and the padding",
))
CONTAINER_DISK = CONTAINERS.add(Key(
    "topology.container.disk", r.size(1), None, "disk of a container", on_spark=False,
    without="the sum of its instances and the padding",
))
CONTAINER_LIMITS = CONTAINERS.add(Key(
    "topology.container.limits",
    r.one_of(v.LIMITS_WHERE_POSSIBLE, v.LIMITS_REQUIRED, v.OFF), v.LIMITS_WHERE_POSSIBLE,
    "whether the kernel limits a container (`cpu.max`, `memory.high`) to the cores and memory of "
    f"the packing plan: `{v.LIMITS_WHERE_POSSIBLE}` (a line in the container's log and `heronpy "
    f"doctor` say where not), `{v.LIMITS_REQUIRED}` (a start without is refused) or `off`; YARN "
    "and Kubernetes limit their containers themselves",
    on_spark=False, see="DEPLOY.md#limits-of-cpu-and-memory",
    why="a plan that reserves cores means them: on a shared machine a busy bolt takes no more",
))
CONTAINER_CPU_PADDING = CONTAINERS.add(Key(
    "topology.container.cpu.padding",
    lambda config, key: r.core_count(config, key, zero=True), None,
    "cores for the processes of the engine in a container", on_spark=False, without="1, Heron's",
))
CONTAINER_RAM_PADDING = CONTAINERS.add(Key(
    "topology.container.ram.padding", r.size(0), None,
    "memory for the processes of the engine in a container", on_spark=False,
    without="1 or 2 GB, Heron's",
))
CONTAINER_PADDING_PERCENTAGE = CONTAINERS.add(Key(
    "topology.container.padding.percentage", _percentage, None,
    (
        "padding as a percentage of the container, with `first_fit_decreasing`; the larger "
        "padding counts"
    ),
    on_spark=False, fallback=10, why="Heron's",
))
CONTAINER_MAX_INSTANCES = CONTAINERS.add(Key(
    "topology.container.max.instances", r.whole(1), None,
    "instances of a container at most, with `first_fit_decreasing`",
    on_spark=False, fallback=10, why="Heron's",
))
RUN_ON_ALL = CONTAINERS.add(Key(
    "topology.run.on.all", r.switch(v.ON, v.OFF), v.ON,
    "whether `heronpy run-on-all` may run shell commands beside the containers, as their user",
    on_spark=False, see="CLI.md#run_on_all",
    why="the key of the topology that a command needs lets `heronpy update --code` run any code "
    "as the same user: without commands nothing is safer, unless updates are forbidden as well",
))
NODE_LABELS = CONTAINERS.add(Key(
    "topology.node.labels", r.labels, None,
    "labels of the nodes that all containers run on, `{LABEL: value}`: on Kubernetes, YARN "
    "(`partition`), Aurora, and of this machine (`HERONPY_LABELS`)",
    on_spark=False, see="DEPLOY.md#placement-by-labels",
))
CONSTRAINTS = CONTAINERS.add(Key(
    "topology.component.constraints", r.labels_of_components, None,
    "labels of the nodes that instances of single components run on,"
    " `{COMPONENT: {LABEL: value}}`: on Kubernetes, YARN (`partition`), and of this machine "
    "(`HERONPY_LABELS`)",
    on_spark=False, see="DEPLOY.md#placement-by-labels",
))
STMGR_RAM = CONTAINERS.add(Key(
    "topology.stmgr.ram", r.size(0), None, "Heron's: memory of the stream manager", on_spark=False,
    without="1 GB, Heron's",
))
METRICSMGR_RAM = CONTAINERS.add(Key(
    "topology.metricsmgr.ram", r.size(0), None, "Heron's: memory of the metrics manager, which is"
    " reserved here too", on_spark=False, without="1 GB, Heron's",
))
CHECKPOINTMGR_RAM = CONTAINERS.add(Key(
    "topology.stateful.checkpointmanager.ram", r.size(0), None, "Heron's: memory of the checkpoint"
    " manager, which is reserved here too in `EFFECTIVELY_ONCE`",
    on_spark=False, without="1 GB, Heron's",
))
