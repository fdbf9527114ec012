"""What a topology, and a plan for it, must be so that an update may begin."""

from heron_core.errors import HeronError
from heron_core.plans import MASTER_CONTAINER, PackingPlan, Phase
from heron_core.topology import TopologySpec
from heron_engine.topology_master.update.record import MasterView


def check_may_start(view: MasterView, is_under_way: bool) -> None:
    """HeronError if the topology cannot be updated now. `is_under_way`: an update is."""
    name = view.topology.name
    if is_under_way:
        raise HeronError(f"an update of {name} is under way: wait until it is done")
    if view.draining:
        raise HeronError(f"{name} is being killed")
    if view.phase is not Phase.RUNNING:
        raise HeronError(f"{name} is ending: all of its spouts have finished")
    if not view.epoch:
        raise HeronError(f"{name} is still starting: try again when its containers are up")


def check_target(topology: TopologySpec, current: PackingPlan, target: PackingPlan) -> None:
    """HeronError if a topology that runs by `current` cannot run by `target`."""
    if target.topology != topology.name:
        raise HeronError(f"the packing plan is of {target.topology!r}, not of {topology.name!r}")
    wanted = target.topology_of(topology).by_name.keys()
    if target.tasks_of.keys() != wanted:
        odd = ", ".join(sorted(target.tasks_of.keys() ^ wanted))
        raise HeronError(f"the packing plan's components are not the topology's: {odd}")
    empty = [container.id for container in target.containers if not container.instances]
    if empty or MASTER_CONTAINER in {container.id for container in target.containers}:
        raise HeronError(f"a container without instances: {empty or MASTER_CONTAINER}")
    if current.changed is not None and target.changed is None:
        raise HeronError(f"the packing plan belongs to the previous code of {topology.name}")
    if target == current:
        raise HeronError(f"{topology.name} already runs by this plan")
    for task, instance in target.instances.items():
        known = current.instances.get(task)
        if known and (known.component, known.index) != (instance.component, instance.index):
            raise HeronError(
                f"task {task} is {known.component}[{known.index}] in the running plan: a plan must "
                "not change the place of a task"
            )
