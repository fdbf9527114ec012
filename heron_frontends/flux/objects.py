"""Creates the objects of a Flux file in the process of their use.

A recipe is plain data, so a component's config can carry the recipe: constructor arguments,
properties and calls, and, in order, the recipes of referenced entries of `components`. An instance
creates each referenced entry once, however many references exist.

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
    """Constructor arguments of a component with this config, and the function that configures the
    new object.

    Without a recipe there are neither arguments nor a configuration. ComponentError names the line
    of the Flux file if an object cannot be created.
    """
    if config.get(FLUX_RECIPE) is None:
        return (), lambda _: None
    # A recipe with values outside of JSON, such as dates, travels pickled.
    recipe = opened({FLUX_RECIPE: config[FLUX_RECIPE]})[FLUX_RECIPE]
    objects = _objects(recipe)
    own = recipe["object"]

    def configure(component: Any) -> None:
        _configure(component, own, objects)

    return tuple(_argument(argument, objects) for argument in own["args"]), configure


def make_object(recipe: Recipe) -> Any:
    """Create the object of a recipe that is not a component, without the engine."""
    return _make(recipe["object"], _objects(recipe))


class BuiltGrouping(ICustomGrouping):
    """A custom grouping with arguments or properties, created in the process of its use."""

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
    """Name of the method in `owner`: `name`, or else its snake_case form."""
    for each in (name, snake_case(name)):
        if callable(getattr(owner, each, None)):
            return each
    return None


def setter_name(owner: Any, name: str) -> str | None:
    """Name of the setter of property `name`: setName or set_name; None without a setter."""
    return method_name(owner, f"set{name[:1].upper()}{name[1:]}")


def attribute_name(owner: Any, name: str) -> str:
    """Name of the attribute: `name`, or its snake_case form if only the latter exists."""
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
