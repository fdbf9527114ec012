"""Makes the objects of a Flux file in the process that uses them.

A recipe is plain data, so it travels in a component's config: what the constructor gets, what is
set and called afterwards, and how the entries of `components` are made that it refers to, in order.
Each of those is made once for one instance, however often it is referred to.

    {"objects": [{"id": "top", "place": "t.yaml:7", "class": "m.Top", "args": [ARGUMENT, …],
                  "factory": null, "properties": [[NAME, ARGUMENT], …],
                  "methods": [[NAME, [ARGUMENT, …]], …]}, …],
     "object": {the same, of the component itself}}

ARGUMENT is {"value": …}, {"ref": ID} or {"reflist": [ID, …]}.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heron_api.class_loading import load_class
from heron_api.custom_grouping import ICustomGrouping
from heron_api.user_errors import format_error
from heron_core.config.names import FLUX_RECIPE
from heron_core.errors import ComponentError
from heron_core.wire.pickled import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heron_api.topology_context import TopologyContext

"""Key of a component's config."""

Recipe = Mapping[str, Any]

_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def construction(config: Mapping[str, Any]) -> tuple[tuple[Any, ...], Callable[[Any], None]]:
    """The constructor's arguments of a component with this config, and what to do with it then.

    Without a recipe there are no arguments and nothing to do. ComponentError names the line of the
    Flux file when one of the objects cannot be made.
    """
    if config.get(FLUX_RECIPE) is None:
        return (), lambda _: None
    # Values that JSON cannot say, dates for instance, have it travel pickled.
    recipe = opened({FLUX_RECIPE: config[FLUX_RECIPE]})[FLUX_RECIPE]
    objects = _objects(recipe)
    own = recipe["object"]

    def configure(component: Any) -> None:
        _configure(component, own, objects)

    return tuple(_argument(argument, objects) for argument in own["args"]), configure


def make_object(recipe: Recipe) -> Any:
    """The object of a recipe that is no component: the engine has no part in its making."""
    return _make(recipe["object"], _objects(recipe))


class BuiltGrouping(ICustomGrouping):
    """A custom grouping with arguments or properties; it is made where it is used."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._grouping: Any = None

    def prepare(
        self, context: "TopologyContext", component: str, stream: str, target_tasks: list[int]
    ) -> None:
        """Make the user's object and prepare it."""
        self._grouping = make_object(self._recipe)
        self._grouping.prepare(context, component, stream, target_tasks)

    def choose_tasks(self, values: list[Any]) -> list[int]:
        """What the user's object chooses."""
        chosen: list[int] = self._grouping.choose_tasks(values)
        return chosen


def snake_case(name: str) -> str:
    """`withFooBar` as `with_foo_bar`."""
    return _WORD_STARTS.sub("_", name).lower()


def method_name(owner: Any, name: str) -> str | None:
    """What the method is called in `owner`: `name`, or its snake_case if there is only that."""
    for each in (name, snake_case(name)):
        if callable(getattr(owner, each, None)):
            return each
    return None


def setter_name(owner: Any, name: str) -> str | None:
    """The method that sets the property `name`: setName, set_name; None if there is none."""
    return method_name(owner, f"set{name[:1].upper()}{name[1:]}")


def attribute_name(owner: Any, name: str) -> str:
    """What the attribute is called: `name`, or its snake_case if there is only that."""
    snake = snake_case(name)
    return snake if hasattr(owner, snake) and not hasattr(owner, name) else name


def _objects(recipe: Recipe) -> dict[str, Any]:
    objects: dict[str, Any] = {}
    for each in recipe["objects"]:
        objects[each["id"]] = _make(each, objects)
    return objects


def _make(recipe: Recipe, objects: Mapping[str, Any]) -> Any:
    with _blamed(recipe, "cannot be made"):
        made_by: Any = load_class(recipe["class"])
        if recipe["factory"] is not None:
            made_by = getattr(made_by, method_name(made_by, recipe["factory"]) or "")
        made_object = made_by(*(_argument(each, objects) for each in recipe["args"]))
    _configure(made_object, recipe, objects)
    return made_object


def _configure(owner: Any, recipe: Recipe, objects: Mapping[str, Any]) -> None:
    """Set the properties, then call the methods: Flux's order."""
    for name, argument in recipe["properties"]:
        with _blamed(recipe, f"property {name!r}"):
            _set(owner, name, _argument(argument, objects))
    for name, arguments in recipe["methods"]:
        with _blamed(recipe, f"configMethod {name!r}"):
            method = getattr(owner, method_name(owner, name) or name)
            method(*(_argument(each, objects) for each in arguments))


def _set(owner: Any, name: str, value: Any) -> None:
    setter = setter_name(owner, name)
    if setter is not None:
        getattr(owner, setter)(value)
    else:
        setattr(owner, attribute_name(owner, name), value)


def _argument(argument: Mapping[str, Any], objects: Mapping[str, Any]) -> Any:
    if "ref" in argument:
        return objects[argument["ref"]]
    if "reflist" in argument:
        return [objects[each] for each in argument["reflist"]]
    return argument["value"]


@contextmanager
def _blamed(recipe: Recipe, what: str) -> "Iterator[None]":
    try:
        yield
    except Exception as error:
        raise ComponentError(
            f"{recipe['place']}: {recipe['id']!r} ({recipe['class']}): {what}: "
            f"{format_error(error)}"
        ) from error
