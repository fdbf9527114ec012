"""From definitions to recipes: references are followed, in an order in which all can be made."""

from collections.abc import Mapping
from typing import Any

from heron_core.validation import choices
from heron_frontends.flux.definitions import Argument, ObjectDefinition

Components = Mapping[str, ObjectDefinition]


def recipe(definition: ObjectDefinition, class_path: str, components: Components) -> dict[str, Any]:
    """How to make this object (see heron_frontends.flux.objects).

    TopologyError for a reference to a missing or later declaration, or a circular reference.
    """
    return {
        "objects": [_object(each, each.class_name) for each in needed_by(definition, components)],
        "object": _object(definition, class_path),
    }


def needs_recipe(definition: ObjectDefinition) -> bool:
    """Whether more is needed than a constructor call without arguments."""
    return bool(
        definition.arguments
        or definition.properties
        or definition.methods
        or definition.factory is not None
    )


def needed_by(definition: ObjectDefinition, components: Components) -> list[ObjectDefinition]:
    """Components that `definition` refers to, directly and indirectly, in dependency order."""
    found: dict[str, ObjectDefinition] = {}
    _follow(definition, components, [], found)
    return list(found.values())


def check_references(components: Components) -> None:
    """TopologyError unless every component can be made, from top to bottom."""
    for name, definition in components.items():
        _follow(definition, components, [name], {})


def _follow(
    definition: ObjectDefinition,
    components: Components,
    path: list[str],
    followed: dict[str, ObjectDefinition],
) -> None:
    """Add the dependencies of `definition` to `found`; `path` is the chain of components from the
    start to `definition`.
    """
    for argument in definition.all_arguments():
        for reference in argument.references:
            component = _component(argument, reference, components)
            if reference in path:
                loop = " -> ".join([*path[path.index(reference) :], reference])
                raise argument.position.wrong(f"components refer to each other in a cycle: {loop}")
            if reference not in followed:
                _follow(component, components, [*path, reference], followed)
                followed[reference] = component
            if path:
                _check_order(argument, component, path[-1])


def _component(argument: Argument, name: str, components: Components) -> ObjectDefinition:
    if name not in components:
        hint = choices("components", name, components)
        raise argument.position.wrong(f"reference to unknown component {name!r}; {hint}")
    return components[name]


def _check_order(argument: Argument, component: ObjectDefinition, user: str) -> None:
    """Flux makes components from top to bottom, and takes null for what does not exist yet."""
    same_file = component.position.file == argument.position.file
    if same_file and component.position.line > argument.position.line:
        raise argument.position.wrong(
            f"{user!r} refers to {component.id!r}, which is only declared in {component.position}:"
            f" move {component.id!r} above {user!r}"
        )


def _object(definition: ObjectDefinition, class_path: str) -> dict[str, Any]:
    return {
        "id": definition.id,
        "place": str(definition.position),
        "class": class_path,
        "args": [argument.recipe() for argument in definition.arguments],
        "factory": definition.factory,
        "properties": [[each.name, each.argument.recipe()] for each in definition.properties],
        "methods": [
            [method.name, [argument.recipe() for argument in method.arguments]]
            for method in definition.methods
        ],
    }
