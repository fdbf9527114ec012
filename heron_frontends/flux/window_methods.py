"""configMethods of a windowed bolt (withWindow, withLag, …), converted to configuration.

In Storm and Heron, methods of BaseWindowedBolt set the window; here a WindowedBolt reads Storm's
keys, so the window is known, checked and shown at the load of the topology.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_core.records import replace
from heron_frontends.components.java import LIBRARY
from heron_frontends.flux import object_definitions
from heron_frontends.flux.definitions import Argument, ConfigMethod, ObjectDefinition
from heron_frontends.flux.objects import make_object, method_name, snake_case

Config = dict[str, Any]
_EXTENT = "a BaseWindowedBolt$Count or a duration"
_DURATION = "a duration"
_TEXT = "a text"


def _window(length: Any, slide: Any = None) -> Config:
    return {**_extent(length, *_LENGTH), **({} if slide is None else _extent(slide, *_SLIDE))}


def _tumbling(length: Any) -> Config:
    return _window(length, length)


_LENGTH = (keys.WINDOW_LENGTH_COUNT, keys.WINDOW_LENGTH_MS)
_SLIDE = (keys.WINDOW_SLIDE_COUNT, keys.WINDOW_SLIDE_MS)
_METHODS: Mapping[str, tuple[Callable[..., Config], tuple[str, ...], int]] = {
    "with_window": (_window, (_EXTENT, _EXTENT), 1),
    "with_tumbling_window": (_tumbling, (_EXTENT,), 1),
    "with_timestamp_field": (lambda name: {keys.TIMESTAMP_FIELD: name}, (_TEXT,), 1),
    "with_lag": (lambda lag: _duration(lag, keys.TIMESTAMP_LAG_MS), (_DURATION,), 1),
    "with_watermark_interval": (
        lambda interval: _duration(interval, keys.WATERMARK_INTERVAL_MS), (_DURATION,), 1
    ),
    "with_late_tuple_stream": (lambda name: {keys.LATE_STREAM: name}, (_TEXT,), 1),
}  # fmt: skip
"""Method -> maker of its configuration, argument types, minimum of arguments."""
_EXTRACTOR = "with_timestamp_extractor"


def as_config(
    definition: ObjectDefinition, loaded: type, components: object_definitions.Components
) -> tuple[ObjectDefinition, Config]:
    """The definition of a component without window methods, and their configuration; TopologyError
    with the line for wrong arguments.
    """
    config: Config = {}
    others = []
    if definition.methods:  # a reference to nothing is refused first
        object_definitions.needed_by(definition, components)
    for method in definition.methods:
        if not _is_ours(method, loaded):
            others.append(method)
        elif snake_case(method.name) == _EXTRACTOR:
            raise method.position.wrong(
                f"{definition.id!r}: {method.name} is Java's: give {definition.class_name} a method"
                " timestamp(self, tup) that returns milliseconds since 1970"
            )
        else:
            config |= _config_of(definition, method, components)
    return replace(definition, methods=tuple(others)), config


def _is_ours(method: ConfigMethod, found: type) -> bool:
    name = snake_case(method.name)
    if name not in _METHODS and name != _EXTRACTOR:
        return False
    # Late: most files have no window.
    from heron_api.windows.windowed_bolt import WindowedBolt

    return issubclass(found, WindowedBolt) and method_name(found, method.name) is None


def _config_of(
    definition: ObjectDefinition, method: ConfigMethod, components: object_definitions.Components
) -> Config:
    make, kinds, least = _METHODS[snake_case(method.name)]
    values = [_value(argument, components) for argument in method.arguments]
    fits = least <= len(values) <= len(kinds)
    if not fits or not all(map(_is_a, values, kinds)):
        wanted = " and ".join(kinds) if len(kinds) == least else f"{kinds[0]}, or two of them"
        raise method.position.wrong(
            f"{definition.id!r}: {method.name} takes {wanted} (an entry of components), not"
            f" {_shown(values)}"
        )
    return make(*values)


def _value(argument: Argument, components: object_definitions.Components) -> Any:
    """The plain value; for a reference to an object of the library, the object; otherwise the
    argument.
    """
    if not argument.references:
        return argument.value
    referred = components[argument.references[0]]
    if argument.is_list or not referred.class_name.startswith(LIBRARY):
        return argument
    try:
        return make_object(object_definitions.recipe(referred, referred.class_name, components))
    except ComponentError as error:
        raise argument.position.wrong(str(error)) from None


def _is_a(value: Any, kind: str) -> bool:
    from heron_frontends.components.windows import WindowCount, milliseconds_of

    if kind == _TEXT:
        return isinstance(value, str)
    if milliseconds_of(value) is not None:
        return True
    return kind == _EXTENT and isinstance(value, WindowCount)


def _extent(value: Any, count: str, duration_ms: str) -> Config:
    from heron_frontends.components.windows import milliseconds_of

    milliseconds = milliseconds_of(value)
    return {count: value.value} if milliseconds is None else {duration_ms: milliseconds}


def _duration(value: Any, key: str) -> Config:
    return _extent(value, key, key)


def _shown(values: Sequence[Any]) -> str:
    return (
        ", ".join(
            "a reference" if isinstance(each, Argument) else f"{each!r:.80}" for each in values
        )
        or "nothing"
    )
