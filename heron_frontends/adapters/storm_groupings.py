"""Storm's custom groupings: an object of a named class, made with the arguments that are given."""

from collections.abc import Sequence
from typing import Any

from heron_api.class_loading import load_class
from heron_api.serializer import default_serializer
from heron_api.user_errors import format_error
from heron_core.errors import ComponentError, TopologyError
from heron_core.topology import GroupingKind, GroupingSpec
from heron_frontends.components.java import (
    PARTIAL_KEY_GROUPING,
    canonical_name,
    grouping_class,
    resembles_java,
)

_METHODS = ("prepare", "choose_tasks")


def custom_grouping(
    class_name: str, args: Sequence[Any], fields: Sequence[str], label: str
) -> GroupingSpec:
    """The grouping by an object of `class_name`; `fields` are those of the stream.

    Storm's PartialKeyGrouping is built in; without arguments it goes by the first field. Any other
    has to be a Python class in the manner of ICustomGrouping. TopologyError beginning with `label`.
    """
    if canonical_name(class_name) == PARTIAL_KEY_GROUPING:
        return GroupingSpec(GroupingKind.PARTIAL_KEY, _key(args, fields, label))
    class_name = grouping_class(class_name)
    try:
        kind = load_class(class_name)
    except ComponentError as error:
        raise TopologyError(f"{label}: {_unusable(class_name, error)}") from None
    if missing := [method for method in _METHODS if not hasattr(kind, method)]:
        raise TopologyError(
            f"{label}: {class_name} is not a custom grouping, it has no {' and no '.join(missing)}:"
            " derive it from ICustomGrouping"
        )
    try:
        grouping = kind(*args)
    except Exception as error:
        raise TopologyError(
            f"{label}: {class_name} cannot be made with {list(args)!r}: {format_error(error)}"
        ) from error
    return GroupingSpec(GroupingKind.CUSTOM, custom=default_serializer.serialize(grouping))


def _key(args: Sequence[Any], fields: Sequence[str], label: str) -> tuple[str, ...]:
    names = tuple(args) or tuple(fields[:1])
    if not all(isinstance(each, str) for each in names):
        raise TopologyError(
            f"{label}: PartialKeyGrouping takes names of fields here, not {list(args)!r}"
        )
    return names


def _unusable(class_name: str, error: ComponentError) -> str:
    if resembles_java(class_name):
        return (
            f"a grouping in Java, {class_name}, cannot run here: write a Python class derived from"
            " ICustomGrouping and name it MODULE.CLASS"
        )
    return f"custom grouping {class_name!r}: {error}"
