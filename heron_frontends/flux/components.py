"""From the definition of a spout or bolt to the component of a topology."""

from collections.abc import Mapping, Sequence
from typing import Any

from heron_api.component.base_component import BaseComponent
from heron_api.stream import Stream
from heron_core.config.names import FLUX_RECIPE, SHELL_COMMAND
from heron_core.errors import TopologyError
from heron_core.records import replace
from heron_core.topology import DEFAULT_STREAM, ComponentSpec, StreamSpec
from heron_frontends.components import java
from heron_frontends.flux import (
    object_definitions,
    shell_components,
    signature_check,
    window_methods,
)
from heron_frontends.flux.definitions import ObjectDefinition, VertexDefinition
from heron_frontends.jvm import frontend

_DECLARES = "declare_output_fields"
_HOOK = {True: "next_tuple", False: "process"}
"""Whether the component is a spout -> method that every class of the kind defines"""


def component(
    vertex: VertexDefinition,
    components: object_definitions.Components,
    java_components: object_definitions.Components,
    topology_config: Mapping[str, Any],
) -> ComponentSpec:
    """A component without its inputs, with the class loaded and checked; TopologyError on failure.

    A JVM component is checked, and receives its outputs, once all components are known
    (jvm.frontend); `java_components` are its referenced components, by Java names.
    """
    definition = vertex.object
    outputs: list[StreamSpec] | None
    config: dict[str, Any]
    if java.is_only_drawn(definition.class_name):
        class_path, config, outputs = definition.class_name, {}, []
    elif java.is_shell(definition.class_name):
        class_path, config, outputs = _shell(vertex)
    elif java.is_known(definition.class_name):
        class_path, config, outputs = _equivalent(vertex)
        plain = replace(definition, class_name=class_path, arguments=())
        config |= _python(vertex, plain, components)
    elif frontend.runs_in_jvm(definition.class_name, {**topology_config, **vertex.config}):
        recipe = object_definitions.recipe(definition, definition.class_name, java_components)
        class_path, config = frontend.of_recipe(recipe, vertex.is_spout)
        outputs = []
    else:
        class_path, outputs = definition.class_name, None
        config = _python(vertex, definition, components)
    if outputs is None:
        outputs = declared_outputs(
            definition, signature_check.python_class(_called(definition, class_path))
        )
    return ComponentSpec(
        vertex.id,
        vertex.is_spout,
        class_path,
        vertex.task_count or vertex.parallelism,
        tuple(outputs),
        config={**config, **vertex.config},
    )


def value_object(definition: ObjectDefinition) -> ObjectDefinition:
    """An entry of `components` whose class is loaded and checked, under its Python name."""
    name = java.value_class(definition.class_name)
    definition = replace(definition, class_name=name or definition.class_name)
    signature_check.check_object(definition, signature_check.loaded_class(definition))
    return definition


def _python(
    vertex: VertexDefinition,
    definition: ObjectDefinition,
    components: object_definitions.Components,
) -> dict[str, Any]:
    """Config of a component with a Python class; `definition` has its name."""
    loaded = signature_check.loaded_class(definition)
    if not callable(getattr(loaded, _HOOK[vertex.is_spout], None)):
        kind, other = ("spout", "bolts") if vertex.is_spout else ("bolt", "spouts")
        raise definition.position.wrong(
            f"{definition.id!r}: {definition.class_name} is not a {kind}: the class has no "
            f"method {_HOOK[vertex.is_spout]}; move the entry to {other}?"
        )
    definition, windows = window_methods.as_config(definition, loaded, components)
    signature_check.check_component(definition, loaded)
    own = getattr(loaded, "config", None)
    # streamparse's classes bring config of their own, of which ticks are the usual part.
    config = dict(own) if isinstance(own, dict) and not issubclass(loaded, BaseComponent) else {}
    config |= windows
    if object_definitions.needs_recipe(definition):
        config[FLUX_RECIPE] = object_definitions.recipe(
            definition, definition.class_name, components
        )
    return config


def _equivalent(
    vertex: VertexDefinition,
) -> tuple[str, dict[str, Any], list[StreamSpec] | None]:
    definition = vertex.object
    args = [argument.value for argument in definition.arguments]
    for argument in definition.arguments:
        if argument.references:
            raise argument.position.wrong(
                f"{definition.id!r}: {definition.class_name} takes no references here"
            )
    try:
        return java.resolve(definition.class_name, args, vertex.is_spout, vertex.id)
    except TopologyError as error:
        raise definition.position.wrong(str(error)) from None


def _shell(vertex: VertexDefinition) -> tuple[str, dict[str, Any], list[StreamSpec]]:
    class_path, config, outputs = _equivalent(vertex)
    streams, more = shell_components.configured(vertex.object, outputs or [])
    runs = shell_components.python_class_path(config[SHELL_COMMAND])
    if runs is None:
        return class_path, {**config, **more}, streams
    definition = replace(_called(vertex.object, runs), arguments=(), methods=())
    config = _python(vertex, definition, {})
    own = declared_outputs(definition, signature_check.python_class(definition))
    return runs, {**config, **more}, shell_components.with_direct(streams, own)


def _called(definition: ObjectDefinition, class_path: str) -> ObjectDefinition:
    return replace(definition, class_name=class_path)


def declared_outputs(definition: ObjectDefinition, loaded: type) -> list[StreamSpec]:
    """Output streams declared by a class: `outputs`, or the result of declare_output_fields().

    Either is a list of field names (of the default stream) and Streams, of any API; the method,
    which must not need an instance, may return {stream: fields} as well.
    """
    declared = getattr(loaded, "outputs", None)
    if declared is None and callable(getattr(loaded, _DECLARES, None)):
        declared = _declared(definition, loaded)
    if isinstance(declared, dict) and all(isinstance(stream, str) for stream in declared.values()):
        declared = [Stream(declared)]  # {field: type}
    if isinstance(declared, dict):
        return [StreamSpec(str(name), tuple(fields)) for name, fields in declared.items()]
    if not isinstance(declared, (list, tuple, type(None))):
        raise definition.position.wrong(
            f"{definition.id!r}: outputs of {definition.class_name} must be a list of field names"
            f" and Streams, not {declared!r}"
        )
    return _streams(definition, declared or ())


def _declared(definition: ObjectDefinition, found: type) -> Any:
    try:
        return getattr(found, _DECLARES)()
    except Exception as error:
        raise definition.position.wrong(
            f"{definition.id!r}: {definition.class_name}.{_DECLARES}() raises"
            f" {type(error).__name__}: {error}; it must be a class method without arguments"
        ) from error


def _streams(definition: ObjectDefinition, declared: Sequence[Any]) -> list[StreamSpec]:
    streams: dict[str, StreamSpec] = {}
    for stream in declared:
        fields = [stream] if isinstance(stream, str) else getattr(stream, "fields", None)
        if fields is None:
            raise definition.position.wrong(
                f"{definition.id!r}: outputs of {definition.class_name} must be field names and"
                f" Streams, not {stream!r}"
            )
        name = DEFAULT_STREAM if isinstance(stream, str) else _stream_name(stream)
        known = streams.get(name, StreamSpec(name, ()))
        direct = known.direct or bool(getattr(stream, "direct", False))
        types = (*known.types, *getattr(stream, "types", ()))
        streams[name] = StreamSpec(name, (*known.fields, *fields), direct, types)
    return list(streams.values())


def _stream_name(stream: Any) -> str:
    """heronpy's Stream has a stream_id, streamparse's a name."""
    return str(getattr(stream, "stream_id", None) or getattr(stream, "name", DEFAULT_STREAM))
