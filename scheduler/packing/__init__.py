"""Packing by Heron's rules, from instances to containers, as a pure function."""

from collections.abc import Callable, Mapping
from typing import Any

from heron_core.config import keys as config_keys
from heron_core.config.names import (
    FIRST_FIT_DECREASING,
    HERON_PACKING_CLASS,
    PACKING_ALGORITHM,
    ROUND_ROBIN,
)
from heron_core.errors import TopologyError
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_engine.scheduler.packing import first_fit, repacking, round_robin

_ALGORITHMS: Mapping[str, Callable[[TopologySpec], PackingPlan]] = {
    ROUND_ROBIN: round_robin.pack,
    FIRST_FIT_DECREASING: first_fit.pack,
}
_AGAIN: Mapping[
    str, Callable[[TopologySpec, PackingPlan, Mapping[str, int], int | None, bool], PackingPlan]
] = {
    ROUND_ROBIN: repacking.repack_round_robin,
    FIRST_FIT_DECREASING: repacking.repack_first_fit,
}


def algorithm_name(config: Mapping[str, Any]) -> str:
    """The algorithm that `config` chooses, "round_robin" if it does not.

    Heron's key with the name of a Java class, in any package, is read when ours is not set.
    TopologyError names the key and the choices.
    """
    for key in (PACKING_ALGORITHM, HERON_PACKING_CLASS):
        if config.get(key) is not None:
            return str(config_keys.value_of(config, key))
    return ROUND_ROBIN


def pack(topology: TopologySpec) -> PackingPlan:
    """The packing plan of `topology`; equal topologies have equal plans.

    Task ids are 1..n in order of declaration for every algorithm: the instances of a component
    have consecutive ids, readable for people and stable under packing changes. (Heron numbers
    them in order of placement.) Containers are sorted by id, the instances of a container by
    task id. TopologyError names the key or component and valid values.
    """
    return _ALGORITHMS[algorithm_name(topology.config)](topology)


def repack(
    topology: TopologySpec,
    current: PackingPlan,
    parallelism: Mapping[str, int],
    containers: int | None = None,
    grow: bool = False,
) -> PackingPlan:
    """The packing plan of a running topology with a new parallelism or number of containers.

    `parallelism`: component -> new number of instances, for changed components. Running
    instances stay in place as far as possible (repacking.py). `grow`: a container may get more
    instances than before, because capacity is not reserved. An equal plan without changes;
    TopologyError for an unknown component or a number below 1.
    """
    for component, number in parallelism.items():
        if component not in topology.by_name:
            names = ", ".join(topology.by_name)
            raise TopologyError(
                f"{topology.name} has no component {component!r}; its components: {names}"
            )
        if number < 1:
            raise TopologyError(f"{component} cannot have {number} instances: use at least 1")
    again = _AGAIN[algorithm_name(topology.config)]
    plan = again(topology, current, parallelism, containers, grow)
    return current if plan.container_of == current.container_of else plan
