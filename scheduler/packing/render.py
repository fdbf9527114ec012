"""Output of a dry run for a packing plan: Heron's table, JSON, raw form.

The formats follow SubmitTableDryRunRenderer.java (table), JsonFormatterUtils.java (JSON) and
PackingPlan.toString() (raw). Instances are in order of task id; Heron prints any order.
"""

import json
from collections.abc import Sequence
from typing import Any

from heron_core.errors import UsageError
from heron_core.plans import GIB, MIB, ContainerPlan, InstancePlan, PackingPlan, Resource

KIB = 1024
TITLES = ("component", "task ID", "CPU", "RAM (MB)", "disk (MB)")


def render(plan: PackingPlan, algorithm_name: str, format: str) -> str:  # noqa: A002
    """The plan as text without a last newline; `format` is raw, table or json, else UsageError."""
    writers = {"raw": _raw, "table": _table, "json": _json}
    if format not in writers:
        raise UsageError(f"unknown dry-run format {format!r}: use {', '.join(writers)}")
    return writers[format](plan, algorithm_name)


def _table(plan: PackingPlan, algorithm_name: str) -> str:
    head = (
        f"Total number of containers: {len(plan.containers)}\n"
        f"Using packing class: {algorithm_name}\n"
    )
    return head + "\n\n".join(_container_table(each) for each in plan.containers)


def _container_table(container: ContainerPlan) -> str:
    rows = [_cells(instance) for instance in container.instances]
    head = [f"Container {container.id}", _usage(container.resource)]
    return "\n".join([*head, *_framed(TITLES, rows)])


def _framed(titles: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    frame = sum(widths) + 3 * len(widths) + 1  # "| " and " " around each, "|" at the end
    return [
        "=" * frame,
        _line(titles, widths),
        "-" * frame,
        *(_line(row, widths) for row in rows),
        "=" * frame,
    ]


def render_update(current: PackingPlan, target: PackingPlan, algorithm_name: str) -> str:
    """Changes of an update, container by container, as text without a last newline
    (UpdateTableDryRunRenderer.java): added instances have a +, removed instances a -."""
    before = {container.id: container for container in current.containers}
    after = {container.id: container for container in target.containers}
    head = (
        f"Total number of containers: {len(after)} (now {len(before)})\n"
        f"Using packing class: {algorithm_name}\n"
    )
    numbers = sorted(before.keys() | after.keys())
    return head + "\n\n".join(
        _changes(number, before.get(number), after.get(number)) for number in numbers
    )


def _changes(number: int, before: ContainerPlan | None, after: ContainerPlan | None) -> str:
    """One container, present in at least one of the plans."""
    old = {instance.task: instance for instance in before.instances} if before else {}
    new = {instance.task: instance for instance in after.instances} if after else {}
    rows = [
        (_sign(task in old, task in new), *_cells(new.get(task) or old[task]))
        for task in sorted(old.keys() | new.keys())
    ]
    if before is None or after is None:
        word = "NEW" if before is None else "REMOVED"
    else:
        word = "MODIFIED" if old.keys() != new.keys() else "UNAFFECTED"
    shown = after or before
    assert shown is not None
    usage = _usage(shown.resource)
    if before and after and before.resource != after.resource:
        usage += f" (now {_usage(before.resource)})"
    return "\n".join([f"Container {number} {word}", usage, *_framed(("", *TITLES), rows)])


def _sign(was_there: bool, is_there: bool) -> str:
    return "" if was_there and is_there else "+" if is_there else "-"


def _usage(resource: Resource) -> str:
    ram, disk = _megabytes(resource.ram_bytes), _megabytes(resource.disk_bytes)
    return f"CPU: {resource.cpu}, RAM: {ram} MB, Disk: {disk} MB"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def _cells(instance: InstancePlan) -> tuple[str, ...]:
    resource = instance.resource
    return (
        instance.component,
        str(instance.task),
        str(resource.cpu),
        str(_megabytes(resource.ram_bytes)),
        str(_megabytes(resource.disk_bytes)),
    )


def _megabytes(count: int) -> int:
    return (count + MIB // 2) // MIB  # Java's Math.round


def _json(plan: PackingPlan, algorithm_name: str) -> str:
    return json.dumps(
        {
            "packingClass": algorithm_name,
            "topology": plan.topology,
            "containers": [
                {
                    "id": container.id,
                    "resources": _resources(container.resource),
                    "components": [_component(instance) for instance in container.instances],
                }
                for container in plan.containers
            ],
        }
    )


def _component(instance: InstancePlan) -> dict[str, Any]:
    return {
        "component": instance.component,
        "id": instance.task,
        "index": instance.index,
        "resources": _resources(instance.resource),
    }


def _resources(resource: Resource) -> dict[str, float]:
    return {"cpu": resource.cpu, "ram": resource.ram_bytes, "disk": resource.disk_bytes}


def _raw(plan: PackingPlan, algorithm_name: str) -> str:
    containers = ", ".join(_raw_container(each) for each in plan.containers)
    return (
        f"Packing class: {algorithm_name}\n"
        f"Topology: {plan.topology}\n"
        "Packing plan:\n"
        f"{{plan-id: {plan.topology}, containers-list: [{containers}]}}"
    )


def _raw_container(container: ContainerPlan) -> str:
    instances = ", ".join(_raw_instance(each) for each in container.instances)
    return (
        f"{{container-id: {container.id}, instances-list: [{instances}], "
        f"required-resource: {_raw_resource(container.resource)}}}"
    )


def _raw_instance(instance: InstancePlan) -> str:
    return (
        f"{{component-name: {instance.component}, task-id: {instance.task}, component-index: "
        f"{instance.index}, instance-resource: {_raw_resource(instance.resource)}}}"
    )


def _raw_resource(resource: Resource) -> str:
    ram, disk = _raw_bytes(resource.ram_bytes), _raw_bytes(resource.disk_bytes)
    return f"{{cpu: {resource.cpu:f}, ram: {ram}, disk: {disk}}}"


def _raw_bytes(count: int) -> str:
    for unit, name in ((GIB, "GB"), (MIB, "MB"), (KIB, "KB")):
        if count + unit // 2 >= unit:  # rounds to at least one of them
            return f"ByteAmount{{{count / unit:.1f} {name} ({count} bytes)}}"
    return f"ByteAmount{{{count} bytes}}"
