"""The meaning of Storm's settings of a component here: its tasks and its resources. Pure.

Storm runs `topology.tasks` tasks of a component, whatever its parallelism, and never more than
`topology.max.task.parallelism`; here each task is an instance. Cores and memory of a component
become entries of the packing's maps. Both may be set in the topology's config, for all components,
and in the config of one component, for that one.
"""

from collections.abc import Mapping
from typing import Any

from heron_core.config import (
    CORE_PERCENT_MAX,
    CPU_MAP,
    MIB_MAX,
    RAM_MAP,
    STORM_CPU_PERCENT,
    STORM_HEAP_MB,
    STORM_OTHER_MEMORY_MB,
    STORM_TASKS,
    STORM_TASKS_MAX,
    value_of,
)
from heron_core.config.readers import positive
from heron_core.errors import TopologyError, shown
from heron_core.records import replace
from heron_core.topology import ComponentSpec, Config, TopologySpec

CORE_PERCENT = 100
"""Storm counts a core as 100."""


def settled(topology: TopologySpec) -> TopologySpec:
    """The topology with the parallelism and the packing's maps as in its config, in Storm's words;
    TopologyError with the wrong key."""
    components = tuple(
        replace(component, parallelism=instances_of(topology.config, component))
        for component in topology.components
    )
    maps = {
        **_map(CPU_MAP, topology, _cores),
        **_map(RAM_MAP, topology, _memory_bytes),
    }
    return replace(topology, components=components, config={**topology.config, **maps})


def check(topology: TopologySpec) -> None:
    """TopologyError if a value among these keys is wrong."""
    settled(topology)


def instances_of(config: Config, component: ComponentSpec) -> int:
    """How many instances a component has; `config` is the topology's."""
    merged = {**config, **component.config}
    number = component.parallelism
    if merged.get(STORM_TASKS) is not None:
        number = value_of(merged, STORM_TASKS)
    most = instances_limit(config, component)
    # Whether a parallelism is a number, others say.
    return number if most is None or type(number) is not int else min(number, most)


def instances_limit(config: Config, component: ComponentSpec) -> int | None:
    """Most instances of a component by `topology.max.task.parallelism`; None: any number."""
    merged = {**config, **component.config}
    if merged.get(STORM_TASKS_MAX) is None:
        return None
    return int(value_of(merged, STORM_TASKS_MAX))


def check_limits(topology: TopologySpec, numbers: Mapping[str, int]) -> None:
    """TopologyError if a component is to have more instances than its config allows; `numbers`:
    component -> instances."""
    for name, number in numbers.items():
        most = instances_limit(topology.config, topology.by_name[name])
        if most is not None and number > most:
            raise TopologyError(
                f"{number} instances of {name} are more than {STORM_TASKS_MAX}, which is {most}:"
                " use fewer, or submit the topology with a higher limit"
            )


def with_entries(key: str, amounts: Mapping[str, str], config: Config) -> dict[str, str]:
    """The packing's map `key` in `config` with the entries of `amounts`, component -> amount, for
    the components that the map does not name; empty if none is added."""
    given = [each for each in _text(config.get(key)).split(",") if each.strip()]
    named = {each.rpartition(":")[0].strip() for each in given}
    entries = [f"{name}:{amount}" for name, amount in amounts.items() if name not in named]
    return {key: ",".join([*given, *entries])} if entries else {}


def _text(value: Any) -> str:
    """Text of a map; the packing reports a map that is no text."""
    return value if isinstance(value, str) else "" if value is None else shown(value)


def _map(key: str, topology: TopologySpec, read: Any) -> dict[str, str]:
    amounts: dict[str, str] = {}
    for each in topology.components:
        amount = read({**topology.config, **each.config})
        if amount is not None:
            amounts[each.name] = amount
    return with_entries(key, amounts, topology.config)


def _cores(config: Config) -> str | None:
    if config.get(STORM_CPU_PERCENT) is None:
        return None
    percent = positive(config, STORM_CPU_PERCENT, CORE_PERCENT_MAX)
    return f"{percent / CORE_PERCENT:g}"


def _memory_bytes(config: Config) -> str | None:
    """Bytes of memory of a component, if it has a heap: as in Storm, further memory counts with a
    heap."""
    if config.get(STORM_HEAP_MB) is None:
        return None
    mib = positive(config, STORM_HEAP_MB, MIB_MAX)
    if config.get(STORM_OTHER_MEMORY_MB):
        mib += positive(config, STORM_OTHER_MEMORY_MB, MIB_MAX)
    return str(int(mib * (1 << 20)))
