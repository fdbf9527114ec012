"""What Storm gives a component of another language: its `context`, as JSON-able values.

Source: org.apache.storm.task.TopologyContext.toJSONString (apache/storm, storm-client).
"""

from typing import Any

from heron_core.plans import PackingPlan
from heron_core.topology import ComponentSpec, GroupingSpec, TopologySpec


def storm_context(topology: TopologySpec, packing: PackingPlan, task: int) -> dict[str, Any]:
    """The context of `task`: its component, all tasks, and the streams it emits and reads."""
    component = topology.by_name[packing.instances[task].component]
    tasks = sorted(packing.instances.items())
    return {
        "task->component": {str(each): instance.component for each, instance in tasks},
        "taskid": task,
        "componentid": component.name,
        "streams": [stream.name for stream in component.outputs],
        "stream->outputfields": _fields(component),
        "stream->target->grouping": {
            stream.name: {
                reader.name: _grouping(spec.grouping)
                for reader, spec in topology.consumers.get((component.name, stream.name), ())
            }
            for stream in component.outputs
        },
        "source->stream->grouping": _inputs(component),
        "source->stream->fields": {
            source: _fields(topology.by_name[source])
            for source in sorted({entry.component for entry in component.inputs})
        },
    }


def storm_components(topology: TopologySpec) -> list[dict[str, Any]]:
    """All components, as Storm's StormTopology has them: streams, and inputs with groupings."""
    return [
        {
            "name": component.name,
            "spout": component.is_spout,
            "parallelism": component.parallelism,
            "streams": [
                [stream.name, list(stream.fields), stream.direct] for stream in component.outputs
            ],
            "inputs": [
                [entry.component, entry.stream, *_kind_and_fields(entry.grouping)]
                for entry in component.inputs
            ],
        }
        for component in topology.components
    ]


def _kind_and_fields(grouping: GroupingSpec) -> tuple[str, list[str]]:
    return grouping.kind.of_storm, list(grouping.fields)


def _fields(component: ComponentSpec) -> dict[str, list[str]]:
    return {stream.name: list(stream.fields) for stream in component.outputs}


def _inputs(component: ComponentSpec) -> dict[str, dict[str, Any]]:
    groupings: dict[str, dict[str, Any]] = {}
    for each in component.inputs:
        groupings.setdefault(each.component, {})[each.stream] = _grouping(each.grouping)
    return groupings


def _grouping(grouping: GroupingSpec) -> dict[str, Any]:
    if grouping.kind.of_storm == "FIELDS":
        return {"type": "FIELDS", "fields": list(grouping.fields)}
    return {"type": grouping.kind.of_storm}
