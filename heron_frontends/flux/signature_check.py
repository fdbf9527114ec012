"""Whether an object's definition fits its class: found while the file is loaded, not in a process.

The check refuses faults that are visible without creating the object; values are left to the
constructor, at creation.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from heron_api.class_loading import load_class
from heron_api.component.base_component import BaseComponent
from heron_core.errors import ComponentError, TopologyError
from heron_core.library import LIBRARIES
from heron_core.validation import did_you_mean
from heron_frontends.components import java
from heron_frontends.flux.definitions import ObjectDefinition
from heron_frontends.flux.documents import FilePosition
from heron_frontends.flux.objects import method_name, setter_name, snake_case

_ENGINES = {"delegate", "input_stream", "output_stream", "rdb_signal", "serializer"}
"""Parameters of heronpy's and pystorm's constructors, which the engine fills."""
_ANY_KEYWORD = inspect.Parameter.VAR_KEYWORD
# A class whose code mentions one of these names may have any attribute.
_DYNAMIC = {"setattr", "__dict__", "vars", "__setattr__", "__getattr__"}


def python_class(definition: ObjectDefinition) -> type:
    """The class of `definition`; TopologyError with the line if the class cannot be loaded."""
    try:
        return load_class(definition.class_name)
    except ComponentError as error:
        raise definition.position.wrong(f"{definition.id!r}: {error}") from None


def loaded_class(definition: ObjectDefinition) -> type:
    """Like `python_class`; an unknown Java name is answered with advice about the Java class."""
    try:
        return python_class(definition)
    except TopologyError:
        if java.resembles_java(definition.class_name):
            message = f"{definition.id!r}: {java.unknown(definition.class_name)}"
            raise definition.position.wrong(message) from None
        raise


def check_object(definition: ObjectDefinition, found: type) -> None:
    """TopologyError if this class cannot be made and configured as `definition` says."""
    if definition.factory is None:
        _check_call(definition, found, "the constructor", len(definition.arguments))
    else:
        _check_factory(definition, found, definition.factory)
    _check_properties(definition, found)
    _check_methods(definition, found)


def check_component(definition: ObjectDefinition, loaded: type) -> None:
    """As `check_object`, for a spout or bolt: the engine adds keyword arguments of its own."""
    count = len(definition.arguments)
    parameters = _parameters(loaded)
    if parameters is not None and not _fits_component(loaded, parameters, count):
        raise definition.position.wrong(
            f"{definition.id!r}: the constructor of {definition.class_name} does not take"
            f" {_arguments(count)} and the engine's keywords: define it as"
            " __init__(self, ..., **engine) and call super().__init__(**engine)"
        )
    _check_properties(definition, loaded)
    _check_methods(definition, loaded)


def _fits_component(loaded: type, parameters: inspect.Signature, count: int) -> bool:
    """Whether adapters.construct can create an instance with `count` arguments of the file."""
    names = list(parameters.parameters)
    made_by = next(each for each in loaded.__mro__ if "__init__" in vars(each))
    if count and (_ENGINES & set(names[:count]) or made_by.__module__.startswith(LIBRARIES)):
        return False
    kinds = {each.kind for each in parameters.parameters.values()}
    if issubclass(loaded, BaseComponent) or "delegate" in names or _ANY_KEYWORD in kinds:
        return _fits(parameters, count, {"delegate": None})
    return _fits(parameters, count, {name: None for name in names if name in _ENGINES})


def _check_factory(definition: ObjectDefinition, found: type, factory: str) -> None:
    name = method_name(found, factory)
    if name is None:
        raise _missing(definition, definition.position, "factory", factory, _callables(found))
    _check_call(definition, getattr(found, name), f"factory {factory!r}", len(definition.arguments))


def _check_methods(definition: ObjectDefinition, loaded: type) -> None:
    for method in definition.methods:
        name = method_name(loaded, method.name)
        if name is None:
            raise _missing(
                definition, method.position, "configMethod", method.name, _callables(loaded)
            )
        # A method looked up in the class expects `self`, except for class and static methods.
        bound = inspect.getattr_static(loaded, name)
        extra = 0 if isinstance(bound, (classmethod, staticmethod)) else 1
        count = len(method.arguments)
        parameters = _parameters(getattr(loaded, name))
        if parameters is not None and not _fits(parameters, count + extra, {}):
            raise method.position.wrong(
                f"{definition.id!r}: configMethod {method.name!r} of {definition.class_name} does "
                f"not take {_arguments(count)}: it is {name}{parameters}"
            )


def _check_properties(definition: ObjectDefinition, loaded: type) -> None:
    for each in definition.properties:
        if setter_name(loaded, each.name) is not None:
            continue
        known = _attributes(loaded)
        if not known & {each.name, snake_case(each.name), *_DYNAMIC}:
            raise _missing(definition, each.position, "property", each.name, known)


def _check_call(
    definition: ObjectDefinition, target: Callable[..., Any], what: str, count: int
) -> None:
    parameters = _parameters(target)
    if parameters is not None and not _fits(parameters, count, {}):
        raise definition.position.wrong(
            f"{definition.id!r}: {what} of {definition.class_name} does not take"
            f" {_arguments(count)}: it is {definition.class_name.rpartition('.')[2]}{parameters}"
        )


def _missing(
    definition: ObjectDefinition, position: FilePosition, kind: str, name: str, known: Iterable[str]
) -> TopologyError:
    close = did_you_mean(name, sorted(each for each in known if not each.startswith("_")))
    hint = f"; did you mean {close!r}?" if close else ""
    return position.wrong(
        f"{definition.id!r}: class {definition.class_name} has no {kind} {name!r}{hint}"
    )


def _parameters(target: Callable[..., Any]) -> inspect.Signature | None:
    """Call signature of `target`; None where Python lacks one, as for some built-in types."""
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):
        return None


def _fits(parameters: inspect.Signature, count: int, keywords: dict[str, Any]) -> bool:
    try:
        parameters.bind(*[None] * count, **keywords)
    except TypeError:
        return False
    return True


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _callables(found: type) -> list[str]:
    return [name for name in dir(found) if callable(getattr(found, name, None))]


def _attributes(loaded: type) -> set[str]:
    """Names of attributes that the class has, declares, or mentions in its methods' code."""
    names: set[str] = set()
    for each in loaded.__mro__[:-1]:
        names |= set(vars(each)) - {"__dict__"}
        names |= set(vars(each).get("__annotations__", ()))
        for member in vars(each).values():
            code = getattr(getattr(member, "__func__", member), "__code__", None)
            names |= set(code.co_names) if code is not None else set()
    return names
