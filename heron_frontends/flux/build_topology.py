"""From a complete definition to the topology; problems are text with the line they come from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heron_core import config as keys
from heron_core.config import CPU_MAP, RAM_MAP
from heron_core.errors import HeronError
from heron_core.naming import others
from heron_core.plans import MIB
from heron_core.records import replace
from heron_core.storm_settings import with_entries
from heron_core.topology import (
    DEFAULT_STREAM,
    ComponentSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.validation import problems
from heron_frontends.components import java
from heron_frontends.flux import connections, object_definitions, source
from heron_frontends.flux.component_resources import with_packing_maps
from heron_frontends.flux.components import component, value_object
from heron_frontends.flux.definitions import StreamDefinition, TopologyDefinition, VertexDefinition
from heron_frontends.flux.documents import FilePosition
from heron_frontends.flux.schema import plain_config
from heron_frontends.jvm import frontend

STORM_DEFAULTS = {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}
_CORE_POINTS = 100


def topology(definition: TopologyDefinition, name: str) -> TopologySpec:
    """The topology called `name`; TopologyError with file and line for a fault in the
    definition.
    """
    object_definitions.check_references(definition.components)
    config = plain_config(definition.config)
    components = {
        name: entry if frontend.runs_in_jvm(entry.class_name, config) else value_object(entry)
        for name, entry in definition.components.items()
    }
    if definition.source is not None:
        source_spec = source.source_topology(definition.source, components, config)
        spec = replace(source_spec, name=name, config={**source_spec.config, **config})
    else:
        wired = _components(definition, components, config)
        config = with_packing_maps(config, definition.config, definition.vertices)
        config = {**config, **_resources(definition.vertices, config)}
        api = {} if definition.is_herons else STORM_DEFAULTS
        spec = TopologySpec(name, wired, config, defaults=api)
    _check(spec, definition)
    return spec


def _components(
    definition: TopologyDefinition,
    components: object_definitions.Components,
    config: Mapping[str, Any],
) -> tuple[ComponentSpec, ...]:
    """Every component with its inputs, in the order of the file."""
    for stream in definition.streams:
        connections.check_ends(stream, definition.vertices)
    named = [
        component(vertex, components, definition.components, config)
        for vertex in definition.vertices.values()
    ]
    unwired = {
        vertex_spec.name: vertex_spec
        for vertex_spec in frontend.described(
            named, config, definition.position.file, lambda *problem: _wrong(definition, *problem)
        )
    }
    for vertex_spec in unwired.values():
        if java.is_only_drawn(vertex_spec.class_path):
            unwired[vertex_spec.name] = replace(
                vertex_spec, outputs=_outputs_read(vertex_spec.name, definition)
            )
    inputs: dict[str, list[InputSpec]] = {}
    for stream in definition.streams:
        _check_outputs(stream, unwired[stream.source])
        input_spec = connections.input_spec(stream, components, lambda name: unwired[name].outputs)
        inputs.setdefault(stream.target, []).append(input_spec)
    return tuple(
        replace(vertex_spec, inputs=tuple(inputs.get(vertex_spec.name, ())))
        for vertex_spec in unwired.values()
    )


def _wrong(definition: TopologyDefinition, name: str, problem: str) -> HeronError:
    return definition.vertices[name].position.wrong(f"{name!r}: {problem}")


def _outputs_read(name: str, definition: TopologyDefinition) -> tuple[StreamSpec, ...]:
    """Streams of a component as read by other components, for drawing: Java declares outputs in
    code.
    """
    fields: dict[str, dict[str, None]] = {}
    for stream in definition.streams:
        if stream.source == name:
            fields.setdefault(stream.stream, {}).update(dict.fromkeys(stream.fields))
    found = tuple(StreamSpec(stream, tuple(names)) for stream, names in fields.items())
    return found or (StreamSpec(DEFAULT_STREAM, ()),)


def _check_outputs(stream: StreamDefinition, sender: ComponentSpec) -> None:
    if not sender.outputs and sender.class_path.startswith(java.LIBRARY):
        raise stream.position.wrong(
            f"{stream.target!r} reads {stream.source!r}, whose class {sender.class_path} does "
            "not emit (as in Storm): read its input stream instead"
        )
    if not sender.outputs and frontend.is_java(sender):
        raise stream.position.wrong(
            f"{stream.target!r} reads {stream.source!r}, whose Java class declares no output stream"
        )
    if not sender.outputs:
        raise stream.position.wrong(
            f"{stream.target!r} reads {stream.source!r}, but its class {sender.class_path} has no"
            " outputs: give it a class attribute, as in outputs = ['word']"
        )


def _resources(
    vertices: Mapping[str, VertexDefinition], config: Mapping[str, Any]
) -> dict[str, str]:
    """cpuLoad and memory loads as the packing's maps; what `config` says of a component wins."""
    cores, memory = {}, {}
    for vertex in vertices.values():
        if vertex.cpu_points:
            cores[vertex.id] = f"{vertex.cpu_points / _CORE_POINTS:g}"
        if vertex.heap_mib:
            # As Storm: the other memory counts only beside a heap.
            memory[vertex.id] = str(int((vertex.heap_mib + (vertex.other_memory_mib or 0)) * MIB))
    return {**with_entries(CPU_MAP, cores, config), **with_entries(RAM_MAP, memory, config)}


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a problem comes from whose line starts so, perhaps after "config of"."""

    start: str
    position: FilePosition


def _check(spec: TopologySpec, definition: TopologyDefinition) -> None:
    found = problems(spec)
    if found:
        raise _position_of(found[0], definition).wrong(f"{found[0]}{others(found)}")


def _position_of(problem: str, definition: TopologyDefinition) -> FilePosition:
    text = problem.removeprefix("config of ")
    for origin in _origins(definition):
        if text.startswith(origin.start):
            return origin.position
    return definition.position if definition.source is None else definition.source.object.position


def _origins(definition: TopologyDefinition) -> Iterator[_Origin]:
    """The most particular first."""
    for stream in reversed(definition.streams):
        reader = definition.vertices[stream.target].label
        whole = f"{stream.source}:{stream.stream}"
        yield _Origin(f"{reader}: input {whole} ", stream.position)
        yield _Origin(f"{reader} reads {stream.stream!r} of {stream.source!r}", stream.position)
        yield _Origin(f"{reader} reads {whole} ", stream.position)
    for vertex in definition.vertices.values():
        yield _Origin(vertex.label, vertex.position)
