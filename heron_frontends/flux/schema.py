"""From a Flux document to definitions: the known keys, with the type of each value."""

from typing import Any

from heron_core.topology import DEFAULT_STREAM, GroupingKind
from heron_core.validation import choices
from heron_frontends.flux.definitions import (
    Argument,
    ConfigMethod,
    IncludeDefinition,
    ObjectDefinition,
    Property,
    SourceDefinition,
    StreamDefinition,
    TopologyDefinition,
    VertexDefinition,
)
from heron_frontends.flux.documents import Located
from heron_frontends.flux.mapping_reader import MappingReader

INCLUDED_KEYS = ("name", "config", "components", "spouts", "bolts", "streams")
"""What Flux takes from an included file."""
_TOPOLOGY_KEYS = (*INCLUDED_KEYS, "includes", "topologySource", "workerHooks", "type")
_STORM, _HERON = "storm", "heron"
_TYPES = (_STORM, _HERON)
"""Heron ECO's `type` of a topology: the API of its components."""
_OBJECT_KEYS = ("id", "className", "constructorArgs", "properties", "configMethods", "factory",
                "factoryArgs")  # fmt: skip
_VERTEX_KEYS = (*_OBJECT_KEYS, "parallelism", "numTasks", "cpuLoad", "onHeapMemoryLoad",
                "offHeapMemoryLoad", "config")  # fmt: skip
_SOURCE_KEYS = (*_OBJECT_KEYS, "methodName")
_STREAM_KEYS = ("id", "name", "from", "to", "grouping")
_GROUPING_KEYS = ("type", "streamId", "args", "customClass")
_INCLUDE_KEYS = ("file", "resource", "override")
_KINDS = {each.name: each for each in GroupingKind}


def topology_definition(document: Located, *, included: bool = False) -> TopologyDefinition:
    """Definitions of one file, without its includes."""
    entries = MappingReader(document, "the topology", _TOPOLOGY_KEYS)
    if included:
        _check_included(document)
    definition = TopologyDefinition(
        document.position, entries.text("name"), entries.mapping("config")
    )
    definition.is_herons = _type(entries) == _HERON
    if entries.items("workerHooks"):
        raise entries.position_of("workerHooks").wrong(
            "workerHooks are not supported: there is a process for each instance, so use initialize"
            " and close of the component, or name task hooks in topology.auto.task.hooks"
        )
    definition.includes = tuple(_include(item) for item in entries.items("includes"))
    for item in entries.items("components"):
        component = _object(
            MappingReader(item, "an entry of components", _OBJECT_KEYS), "component"
        )
        _add(definition.components, component.id, component)
    for key in ("spouts", "bolts"):
        for item in entries.items(key):
            vertex = _vertex(item, is_spout=key == "spouts")
            _add(definition.vertices, vertex.id, vertex)
    definition.streams = [_stream(item) for item in entries.items("streams")]
    source = entries.get("topologySource")
    definition.source = None if source is None else _source(source)
    if source is not None and (definition.vertices or definition.streams):
        raise source.position.wrong(
            "a topology has either a topologySource or spouts, bolts and streams, not both"
        )
    return definition


def _type(entries: MappingReader) -> str:
    name = entries.text("type") or _STORM
    if name not in _TYPES:
        raise entries.position_of("type").wrong(
            f"the topology has the type {name!r}; {choices('types', name, _TYPES)}"
        )
    return name


def _check_included(document: Located) -> None:
    for key, each in document.value.items():
        if key not in INCLUDED_KEYS:
            raise each.position.wrong(
                f"{key} of an included file is ignored (as by Flux): move the key to the "
                "including file"
            )


def _add(definitions: dict[str, Any], name: str, each: Any) -> None:
    if name in definitions:
        raise each.position.wrong(f"the id {name!r} is used already ({definitions[name].position})")
    definitions[name] = each


def _include(found: Located) -> IncludeDefinition:
    entries = MappingReader(found, "an entry of includes", _INCLUDE_KEYS)
    return IncludeDefinition(
        entries.position, entries.needed_text("file"), entries.flag("resource"),
        entries.flag("override"),
    )  # fmt: skip


def _object(entries: MappingReader, kind: str, name: str | None = None) -> ObjectDefinition:
    """An object with an id, or with the name `name` in place of an id."""
    name = name or entries.needed_text("id")
    entries.label = f"{kind} {name!r}" if kind else name
    return ObjectDefinition(
        entries.position,
        name,
        entries.needed_text("className"),
        *_making(entries),
        tuple(_property(item, entries.label) for item in entries.items("properties")),
        tuple(_method(item, entries.label) for item in entries.items("configMethods")),
    )


def _making(entries: MappingReader) -> tuple[tuple[Argument, ...], str | None]:
    """Arguments of an object's creation, and the factory in place of the constructor."""
    factory = entries.text("factory")
    made_by, other = ("factoryArgs", "constructorArgs") if factory else (
        "constructorArgs", "factoryArgs",
    )  # fmt: skip
    if other in entries:
        reason = "the object is made by its factory" if factory else "the object has no factory"
        raise entries.position_of(other).wrong(f"{entries.label} has {other}, but {reason}")
    return tuple(_argument(each) for each in entries.items(made_by)), factory


def _argument(found: Located) -> Argument:
    """A value; {ref: id} and {reflist: [ids]} are references, as in Flux only at the top."""
    keys = tuple(found.value) if isinstance(found.value, dict) else ()
    if keys == ("ref",):
        reference = MappingReader(found, "a reference", keys).needed_text("ref")
        return Argument(found.position, references=(reference,))
    if keys == ("reflist",):
        references = tuple(MappingReader(found, "a reflist", keys).texts("reflist"))
        return Argument(found.position, references=references, is_list=True)
    return Argument(found.position, found.plain())


def _property(located: Located, owner: str) -> Property:
    entries = MappingReader(located, f"a property of {owner}", ("name", "value", "ref"))
    name, reference = entries.needed_text("name"), entries.text("ref")
    if (reference is None) == ("value" not in located.value):
        raise entries.position.wrong(
            f"property {name!r} of {owner} must have a value or a ref, and not both"
        )
    if reference is not None:
        return Property(entries.position, name, Argument(entries.position, references=(reference,)))
    value = located.value["value"]
    return Property(entries.position, name, Argument(value.position, value.plain()))


def _method(located: Located, owner: str) -> ConfigMethod:
    entries = MappingReader(located, f"a configMethod of {owner}", ("name", "args"))
    arguments = tuple(_argument(each) for each in entries.items("args"))
    return ConfigMethod(entries.position, entries.needed_text("name"), arguments)


def _vertex(located: Located, is_spout: bool) -> VertexDefinition:
    kind = "spout" if is_spout else "bolt"
    entries = MappingReader(located, f"an entry of {kind}s", _VERTEX_KEYS)
    definition = _object(entries, kind)
    if definition.factory is not None:
        raise entries.position_of("factory").wrong(
            f"{entries.label} has a factory, but spouts and bolts are made by the engine: use"
            " constructorArgs, or a factory for an entry of components that it refers to"
        )
    return VertexDefinition(
        definition,
        is_spout,
        entries.whole_number("parallelism", 1) or 1,
        entries.whole_number("numTasks", 1),
        entries.number("cpuLoad"),
        entries.number("onHeapMemoryLoad"),
        entries.number("offHeapMemoryLoad"),
        plain_config(entries.mapping("config")),
    )


def _stream(located: Located) -> StreamDefinition:
    entries = MappingReader(located, "an entry of streams", _STREAM_KEYS)
    source, target = entries.needed_text("from"), entries.needed_text("to")
    label = f"stream {source} --> {target}"
    grouping = entries.get("grouping")
    if grouping is None:
        raise entries.position.wrong(f"{label} has no grouping, as in grouping: {{type: SHUFFLE}}")
    how = MappingReader(grouping, f"the grouping of {label}", _GROUPING_KEYS)
    kind = _kind(how)
    fields = tuple(how.texts("args"))
    if kind.is_keyed and not fields:
        raise how.position.wrong(f"{how.label} needs args, the fields: args: [word]")
    return StreamDefinition(
        entries.position, source, target, how.text("streamId") or DEFAULT_STREAM, kind, fields,
        _custom(how, kind),
    )  # fmt: skip


def _kind(entries: MappingReader) -> GroupingKind:
    name = entries.needed_text("type")
    kind = _KINDS.get(name.upper())
    if kind is None:
        raise entries.position_of("type").wrong(
            f"{entries.label} has the type {name!r}; {choices('types', name.upper(), _KINDS)}"
        )
    return kind


def _custom(entries: MappingReader, kind: GroupingKind) -> ObjectDefinition | None:
    located = entries.get("customClass")
    if (located is None) == (kind is GroupingKind.CUSTOM):
        raise entries.position.wrong(
            f"{entries.label} must have a customClass if its type is CUSTOM, and only then"
        )
    if located is None:
        return None
    return _object(
        MappingReader(located, f"customClass of {entries.label}", _OBJECT_KEYS),
        "",
        "a custom grouping",
    )


def _source(located: Located) -> SourceDefinition:
    entries = MappingReader(located, "topologySource", _SOURCE_KEYS)
    definition = _object(entries, "", "topologySource")
    return SourceDefinition(definition, entries.text("methodName") or "getTopology")


def plain_config(config: dict[str, Located]) -> dict[str, Any]:
    """Config values without their places; null says that a key is not set, as in Storm."""
    return {key: each.plain() for key, each in config.items() if each.value is not None}
