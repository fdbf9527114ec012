"""Readers of Heron's resource keys: limits of containers and instances.

The defaults are Heron's (Key.java, PackingUtils.java, RoundRobinPacking.java). Heron's padding,
the reserve of a container for its stream manager and other daemons, is one or two GB; ours need
well below 100 MB. The defaults are kept, so that a topology gets the containers known from
Heron; set topology.container.ram.padding to reclaim the memory.
"""

from typing import TypeVar

from msgspec import Struct

from heron_core import config as keys
from heron_core.config.readers import bytes_of_components, cores_of_components
from heron_core.errors import TopologyError, shown
from heron_core.plans import GIB, MIB, Resource
from heron_core.topology import TopologySpec

INSTANCE_DEFAULT = Resource(cpu=1.0, ram_bytes=GIB, disk_bytes=GIB)
# An idle Python process needs 10 MB (MinRamConstraint.java).
INSTANCE_RAM_BYTES_MIN = 16 * MIB

Amount = TypeVar("Amount", int, float)


def component_bytes(topology: TopologySpec, key: str) -> dict[str, int]:
    """component -> bytes of a rammap or diskmap, "component:bytes,component:bytes"."""
    return _checked(topology, key, bytes_of_components(topology.config, key))


def component_cores(topology: TopologySpec, key: str) -> dict[str, float]:
    """component -> cores of a cpumap, "component:cores,component:cores"."""
    return _checked(topology, key, cores_of_components(topology.config, key))


class Placed(Struct, frozen=True):
    """A placed instance, before its size is determined."""

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
            f"{INSTANCE_RAM_BYTES_MIN} ({keys.RAM_MAP} or {keys.CONTAINER_RAM})"
        )


def _checked(topology: TopologySpec, key: str, amounts: dict[str, Amount]) -> dict[str, Amount]:
    for name in amounts:
        _check_component(topology, key, name)
    return amounts


def _check_component(topology: TopologySpec, key: str, name: str) -> None:
    if name not in topology.by_name:
        names = ", ".join(topology.by_name)
        raise TopologyError(f"{key} names the component {shown(name)}: the topology has {names}")
