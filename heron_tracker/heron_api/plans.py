"""A topology in the format of Heron's tracker: logical, packing and physical plan, states,
metadata.

Names are Heron's: the stream manager of container 1 is stmgr-1, an instance in the container is
container_1_word_3, by its task. Fields without an equivalent (a shell on each container,
releases) are present and empty, for clients that require them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from heron_core.graph_walks import levels
from heron_core.plans import ContainerPlan, InstancePlan, Resource, TopologyState
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.typed_json import to_json
from heron_core.version import version_of_heronpy
from heron_tracker.model.config_view import shown_config
from heron_tracker.model.snapshot import TopologySnapshot

Json = dict[str, Any]

MINIMUM_CLOCK = "minimum_clock"
STATUS: Mapping[str, str] = {
    TopologyState.RUNNING: "Running",
    TopologyState.PAUSED: "Paused",
    TopologyState.KILLED: "Killed",
}
"""Heron's words for states; any other state is Unknown."""


def stream_manager_id(container: int) -> str:
    """Heron's name of a container's stream manager."""
    return f"stmgr-{container}"


def instance_id(container: int, component: str, task: int) -> str:
    """Heron's name of an instance."""
    return f"container_{container}_{component}_{task}"


def instance_ids(snapshot: TopologySnapshot) -> dict[int, str]:
    """task -> Heron's name of its instance, by plan."""
    packing = snapshot.packing
    return {
        task: instance_id(packing.container_of[task], each.component, task)
        for task, each in packing.instances.items()
    }


def metadata(snapshot: TopologySnapshot) -> Json:
    """User, time and target of the submission."""
    return {
        "cluster": snapshot.cluster,
        "environ": snapshot.environ,
        "role": snapshot.role,
        "jobname": snapshot.name,
        "submission_time": snapshot.submitted_secs,
        "submission_user": snapshot.role,
        "release_username": "",
        "release_tag": "",
        "release_version": version_of_heronpy(),
        "extra_links": [],
    }


def runtime_state(snapshot: TopologySnapshot) -> Json:
    """Available nodes, and registered stream managers. The minimum clock is ours; null without a
    report."""
    clock = snapshot.stats.minimum_clock if snapshot.stats is not None else None
    return {
        "has_physical_plan": snapshot.physical is not None,
        "has_packing_plan": bool(snapshot.packing.containers),
        "has_tmaster_location": bool(snapshot.master),
        "has_tmanager_location": bool(snapshot.master),
        "has_scheduler_location": bool(snapshot.scheduler),
        "stmgrs": {
            stream_manager_id(container.id): {"is_registered": container.id in snapshot.registered}
            for container in snapshot.packing.containers
        },
        MINIMUM_CLOCK: None if clock is None else to_json(clock),
    }


def execution_state(snapshot: TopologySnapshot) -> Json:
    """Metadata, what is there, and the state in Heron's words and in ours."""
    there = {
        key: value
        for key, value in runtime_state(snapshot).items()
        if key not in ("stmgrs", MINIMUM_CLOCK)
    }
    status = STATUS.get(snapshot.state, "Unknown")
    return {**metadata(snapshot), **there, "status": status, "state": snapshot.state}


def scheduler_location(snapshot: TopologySnapshot) -> Json:
    """Heron's location of a scheduler; kind, host and pid are ours."""
    node = snapshot.scheduler
    kept = {key: node[key] for key in ("kind", "host", "pid", "cluster") if key in node}
    name = snapshot.name if node else None
    return {"name": name, "http_endpoint": "", "job_page_link": "", **kept}


def master_location(snapshot: TopologySnapshot) -> Json:
    """Heron's location of a topology master."""
    node, there = snapshot.master, bool(snapshot.master)
    return {
        "name": snapshot.name if there else None,
        "id": snapshot.id if there else None,
        "host": node.get("host"),
        "controller_port": _port(node.get("address")),
        "server_port": None,
        "stats_port": None,
    }


def _port(address: Any) -> int | None:
    port = str(address).rpartition(":")[2]
    return int(port) if port.isdecimal() and len(port) < 6 else None


def logical_plan(snapshot: TopologySnapshot) -> Json:
    """Components and streams."""
    spec = snapshot.spec
    if spec is None:
        return {"stages": 0, "spouts": {}, "bolts": {}}
    return {
        "stages": stages(spec),
        "spouts": {each.name: _spout(each) for each in spec.components if each.is_spout},
        "bolts": {each.name: _bolt(each) for each in spec.components if not each.is_spout},
    }


def _spout(component: ComponentSpec) -> Json:
    config = shown_config(component.config)
    return {
        "config": config,
        "outputs": _outputs(component),
        "type": str(config.get("spout.type", "default")),
        "spout_type": str(config.get("spout.type", "default")),
        "source": str(config.get("spout.source", "NA")),
        "spout_source": str(config.get("spout.source", "NA")),
        "version": str(config.get("spout.version", "NA")),
        "extra_links": [],
    }


def _bolt(component: ComponentSpec) -> Json:
    inputs = [
        {
            "stream_name": entry.stream,
            "component_name": entry.component,
            "grouping": entry.grouping.kind.of_heron,
        }
        for entry in component.inputs
    ]
    return {
        "config": shown_config(component.config),
        "outputs": _outputs(component),
        "inputs": inputs,
        "inputComponents": [entry["component_name"] for entry in inputs],
        "input_components": [entry["component_name"] for entry in inputs],
    }


def _outputs(component: ComponentSpec) -> list[Json]:
    return [{"stream_name": each.name} for each in component.outputs]


def stages(spec: TopologySpec) -> int:
    """Streams on the longest path, in which a cycle counts as one component."""
    return max(levels(spec.feeders).values(), default=0)


def packing_plan(snapshot: TopologySnapshot) -> Json:
    """The packing plan."""
    containers = snapshot.packing.containers
    return {
        "id": snapshot.id if containers else "",
        "container_plans": [_container_plan(each) for each in containers],
    }


def _container_plan(container: ContainerPlan) -> Json:
    return {
        "id": container.id,
        "instances": [_instance_plan(each) for each in container.instances],
        "required_resources": _resources(container.resource),
        "scheduled_resources": _resources(container.resource),
    }


def _instance_plan(instance: InstancePlan) -> Json:
    return {
        "component_name": instance.component,
        "task_id": instance.task,
        "component_index": instance.index,
        "instance_resources": _resources(instance.resource),
    }


def _resources(resource: Resource) -> Json:
    return {"cpu": resource.cpu, "ram": resource.ram_bytes, "disk": resource.disk_bytes}


def physical_plan(snapshot: TopologySnapshot) -> Json:
    """Which instance runs where; empty before the first plan."""
    physical, spec = snapshot.physical, snapshot.spec
    if physical is None or spec is None:
        empty = ("instances", "instance_groups", "stmgrs", "spouts", "bolts", "config")
        return {**{key: {} for key in empty}, "components": {}}
    packing = physical.packing
    ids = {
        task: instance_id(packing.container_of[task], instance.component, task)
        for task, instance in packing.instances.items()
    }
    by_component = {name: [ids[task] for task in tasks] for name, tasks in packing.tasks_of.items()}
    return {
        "instances": {
            ids[task]: _instance(ids[task], instance, packing.container_of[task])
            for task, instance in packing.instances.items()
        },
        "instance_groups": {
            f"container_{container.id}": [ids[x.task] for x in container.instances]
            for container in packing.containers
        },
        "stmgrs": {
            stream_manager_id(container.id): _stream_manager(snapshot, container, ids)
            for container in packing.containers
        },
        "spouts": {x.name: by_component.get(x.name, []) for x in spec.components if x.is_spout},
        "bolts": {x.name: by_component.get(x.name, []) for x in spec.components if not x.is_spout},
        "config": shown_config(spec.config),
        "components": {x.name: {"config": shown_config(x.config)} for x in spec.components},
    }


def log_file(component: str, task: int) -> str:
    """The name of an instance's log file."""
    return f"{component}-{task}.log"


def _instance(name: str, plan: InstancePlan, container: int) -> Json:
    return {
        "id": name,
        "name": plan.component,
        "stmgr_id": stream_manager_id(container),
        "logfile": log_file(plan.component, plan.task),
    }


def _stream_manager(
    snapshot: TopologySnapshot, container: ContainerPlan, ids: Mapping[int, str]
) -> Json:
    address = snapshot.physical.stream_managers.get(container.id) if snapshot.physical else None
    registered = snapshot.registered.get(container.id)
    return {
        "id": stream_manager_id(container.id),
        "host": snapshot.host_of(container.id),
        "port": _port(address),
        "shell_port": None,
        "cwd": str(snapshot.execution.get("logs") or ""),
        "pid": registered.pid if registered is not None else None,
        "joburl": "",
        "logfiles": "",
        "instance_ids": [ids[instance.task] for instance in container.instances],
    }


def machines(snapshot: TopologySnapshot) -> list[str]:
    """The hosts of its containers."""
    return sorted({snapshot.host_of(each.id) for each in snapshot.packing.containers})


def info(snapshot: TopologySnapshot) -> Json:
    """All plans of the topology."""
    return {
        "id": snapshot.id,
        "name": snapshot.name,
        **{name: make(snapshot) for name, make in PARTS.items()},
        "tmaster_location": master_location(snapshot),
    }


PARTS: Mapping[str, Callable[[TopologySnapshot], Json]] = {
    "metadata": metadata,
    "logical_plan": logical_plan,
    "packing_plan": packing_plan,
    "physical_plan": physical_plan,
    "runtime_state": runtime_state,
    "execution_state": execution_state,
    "scheduler_location": scheduler_location,
    "tmanager_location": master_location,
}
"""Heron's parts of a topology's info."""
