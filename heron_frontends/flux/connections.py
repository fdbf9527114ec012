"""From the streams of a Flux file to the inputs of its bolts."""

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from heron_core.records import replace
from heron_core.topology import GroupingKind, GroupingSpec, InputSpec, StreamSpec
from heron_core.validation import choices
from heron_frontends.components import java
from heron_frontends.flux import object_definitions, signature_check
from heron_frontends.flux.definitions import (
    Argument,
    ObjectDefinition,
    StreamDefinition,
    VertexDefinition,
)
from heron_frontends.flux.objects import BuiltGrouping

Outputs = Callable[[str], tuple[StreamSpec, ...]]
"""The output streams of a component."""
_GROUPING_METHODS = ("prepare", "choose_tasks")


def check_ends(stream: StreamDefinition, vertices: Mapping[str, VertexDefinition]) -> None:
    """TopologyError unless the stream leads from a component to a bolt."""
    for key, name in (("from", stream.source), ("to", stream.target)):
        if name not in vertices:
            known = [
                vertex.id for vertex in vertices.values() if key == "from" or not vertex.is_spout
            ]
            kinds = "components" if key == "from" else "bolts"
            raise stream.position.wrong(
                f"stream {key} {name!r}, which is not a component; {choices(kinds, name, known)}"
            )
    if vertices[stream.target].is_spout:
        raise stream.position.wrong(
            f"stream to {stream.target!r}, a spout: only bolts read streams"
        )


def input_spec(
    stream: StreamDefinition, components: object_definitions.Components, outputs: Outputs
) -> InputSpec:
    """The input that this stream is to its bolt; `outputs` is only asked for PartialKeyGrouping."""
    custom = stream.custom
    if custom is not None:
        custom = replace(custom, class_name=java.grouping_class(custom.class_name))
    if custom is None:
        grouping = GroupingSpec(stream.kind, stream.fields if stream.kind.is_keyed else ())
    elif java.canonical_name(custom.class_name) == java.PARTIAL_KEY_GROUPING:
        fields = _named_fields(custom, components) or stream.fields or _first(stream, outputs)
        grouping = GroupingSpec(GroupingKind.PARTIAL_KEY, fields)
    else:
        grouping = GroupingSpec(GroupingKind.CUSTOM, custom=_custom(custom, components))
    return InputSpec(stream.source, stream.stream, grouping)


def _custom(definition: ObjectDefinition, components: object_definitions.Components) -> bytes:
    loaded = signature_check.loaded_class(definition)
    signature_check.check_object(definition, loaded)
    for name in _GROUPING_METHODS:
        if not callable(getattr(loaded, name, None)):
            raise definition.position.wrong(
                f"{definition.class_name} is not a custom grouping: it has no method {name}"
            )
    if not object_definitions.needs_recipe(definition):
        return pickle.dumps(definition.class_name)
    recipe = object_definitions.recipe(definition, definition.class_name, components)
    return pickle.dumps(BuiltGrouping(recipe))


def _named_fields(
    definition: ObjectDefinition, components: object_definitions.Components
) -> tuple[str, ...]:
    """The fields that PartialKeyGrouping gets, as texts, lists, or references to Fields."""
    object_definitions.needed_by(definition, components)
    names: list[str] = []
    for argument in _flat(definition.arguments, components):
        values: Any = argument.value if isinstance(argument.value, list) else [argument.value]
        for value in values:
            if not isinstance(value, str):
                raise argument.position.wrong(f"PartialKeyGrouping takes fields, not {value!r}")
            names.append(value)
    return tuple(names)


def _flat(
    arguments: tuple[Argument, ...], components: object_definitions.Components
) -> list[Argument]:
    flat_arguments: list[Argument] = []
    for each in arguments:
        if not each.references:
            flat_arguments.append(each)
        for reference in each.references:
            flat_arguments.extend(_flat(components[reference].arguments, components))
    return flat_arguments


def _first(stream: StreamDefinition, outputs: Outputs) -> tuple[str, ...]:
    """Without fields, PartialKeyGrouping groups by the first one."""
    for each in outputs(stream.source):
        if each.name == stream.stream:
            return each.fields[:1]
    return ()
