"""Readers of Heron's resource keys: what containers and instances may use.

The defaults are Heron's (Key.java, PackingUtils.java, RoundRobinPacking.java). Its padding, what a
container keeps for its stream manager and other daemons, is one or two GB; ours need well below
100 MB. The numbers stay, so that a topology gets the containers that its owner knows from Heron;
set topology.container.ram.padding to get the memory back.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from heron_core import config as keys
from heron_core.errors import TopologyError, shown
from heron_core.plans import GIB, MIB, Resource
from heron_core.sizes import parse_size
from heron_core.topology import TopologySpec

CONTAINER_CPU = "topology.container.cpu"
CONTAINER_RAM = "topology.container.ram"
CONTAINER_DISK = "topology.container.disk"
CONTAINER_CPU_PADDING = "topology.container.cpu.padding"
CONTAINER_RAM_PADDING = "topology.container.ram.padding"
CONTAINER_PADDING_PERCENTAGE = "topology.container.padding.percentage"
CONTAINER_MAX_INSTANCES = "topology.container.max.instances"
COMPONENT_CPU_MAP = keys.CPU_MAP
COMPONENT_RAM_MAP = keys.RAM_MAP
COMPONENT_DISK_MAP = keys.DISK_MAP
FFD_SORTING_STRATEGY = "topology.packing.ffd.sorting.strategy"
STMGR_RAM = "topology.stmgr.ram"
METRICSMGR_RAM = "topology.metricsmgr.ram"
CHECKPOINTMGR_RAM = "topology.stateful.checkpointmanager.ram"

INSTANCE_DEFAULT = Resource(cpu=1.0, ram_bytes=GIB, disk_bytes=GIB)
# A Python process needs 10 MB before it has done anything (MinRamConstraint.java).
INSTANCE_RAM_BYTES_MIN = 16 * MIB

BYTES_MAX = 1 << 50
"""A pebibyte: far more than a host has, and sums of it still fit into a message."""
CORES_MAX = 1e6
"""Of an instance or a container; far more than a host has."""

Amount = TypeVar("Amount", int, float)


def byte_count(config: Mapping[str, Any], key: str, least: int = 1) -> int | None:
    """The value of `key` in bytes, None if it is not set; 512MB and the like are sizes, too."""
    value = config.get(key)
    if value is None:
        return None
    try:
        number = parse_size(value)
    except ValueError:
        number = -1
    if not least <= number <= BYTES_MAX:
        raise TopologyError(
            f"{key} must be a whole number of at least {least} (bytes), or a size such as 512MB, "
            f"not {shown(value)}"
        )
    return number


def core_count(config: Mapping[str, Any], key: str, *, zero: bool = False) -> float | None:
    """The value of `key` in cores, None if it is not set; 0 only if `zero`."""
    value = config.get(key)
    if value is None:
        return None
    try:
        return _cores(value, zero)
    except ValueError:
        least = "of at least 0" if zero else "above 0"
        raise TopologyError(
            f"{key} must be a number of cores {least}, not {shown(value)}"
        ) from None


def component_bytes(topology: TopologySpec, key: str) -> dict[str, int]:
    """component -> bytes of a rammap or diskmap, "component:bytes,component:bytes"."""
    return _component_map(topology, key, "bytes", _positive_int)


def component_cores(topology: TopologySpec, key: str) -> dict[str, float]:
    """component -> cores of a cpumap, "component:cores,component:cores"."""
    return _component_map(topology, key, "cores", _cores)


class Placed(Struct, frozen=True):
    """An instance that has its place, before its size is known."""

    component: str
    index: int
    task: int


def check_instances(topology: TopologySpec) -> int:
    """The number of instances, at least one for each component."""
    if not topology.components:
        raise TopologyError(f"topology {topology.name} has no components: add at least one spout")
    for component in topology.components:
        if component.parallelism < 1:
            raise TopologyError(
                f"component {component.name} has parallelism {component.parallelism}: "
                "use at least 1"
            )
    total = sum(component.parallelism for component in topology.components)
    keys.check_instances(topology.config, total)
    return total


def first_tasks(topology: TopologySpec) -> dict[str, int]:
    """component -> the task id of its first instance; the others follow without a gap."""
    found: dict[str, int] = {}
    task = 1
    for component in topology.components:
        found[component.name] = task
        task += component.parallelism
    return found


def check_instance_ram(component: str, ram_bytes: int) -> None:
    """TopologyError if an instance gets less memory than a process needs to start."""
    if ram_bytes < INSTANCE_RAM_BYTES_MIN:
        raise TopologyError(
            f"an instance of {component} gets {ram_bytes} bytes of memory: give it at least "
            f"{INSTANCE_RAM_BYTES_MIN} ({COMPONENT_RAM_MAP} or {CONTAINER_RAM})"
        )


def _component_map(
    topology: TopologySpec, key: str, unit: str, read: Callable[[str], Amount]
) -> dict[str, Amount]:
    text = topology.config.get(key)
    if text is None or text == "":
        return {}
    found: dict[str, Amount] = {}
    for entry in _text_of(text).split(","):
        name, colon, amount = (part.strip() for part in entry.rpartition(":"))
        try:
            if not colon or not name or name in found:
                raise ValueError
            found[name] = read(amount)
        except ValueError:
            raise TopologyError(
                f"{key} has the entry {shown(entry)}: use 'component:{unit},component:{unit}' "
                "with a positive number, each component once"
            ) from None
        _check_component(topology, key, name)
    return found


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # a number of thousands of digits
        return shown(value)


def _check_component(topology: TopologySpec, key: str, name: str) -> None:
    if name not in topology.by_name:
        names = ", ".join(topology.by_name)
        raise TopologyError(f"{key} names the component {shown(name)}: the topology has {names}")


def _positive_int(text: str) -> int:
    number = parse_size(text)
    if not 1 <= number <= BYTES_MAX:
        raise ValueError
    return number


def _cores(value: Any, zero: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError from error
    if not 0.0 <= number <= CORES_MAX or (number == 0.0 and not zero):
        raise ValueError
    return number
