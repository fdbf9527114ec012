"""From a Java class named by a topology to a component, for Flux and streamparse."""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from heron_core.config.names import JAVA_CLASS_PATH, JAVA_RECIPE
from heron_core.errors import ComponentError, HeronError, TopologyError
from heron_core.records import replace
from heron_core.topology import ComponentSpec
from heron_frontends.components import java

SPOUT = "heron_frontends.jvm.spout.JvmSpout"
BOLT = "heron_frontends.jvm.bolt.JvmBolt"
STATEFUL_BOLT = "heron_frontends.jvm.bolt.JvmStatefulBolt"

Wrong = Callable[[str, str], HeronError]
"""wrong(component, problem): the error that says where the component is defined."""


def runs_in_jvm(class_name: str, config: Mapping[str, Any]) -> bool:
    """Whether a class is searched for on the Java class path: the topology has a class path, the
    list of equivalents lacks the class, and Python has no module of the name. A Python module that
    fails to import is reported as such.
    """
    if config.get(JAVA_CLASS_PATH) is None or java.is_known(class_name):
        return False
    module = class_name.rpartition(".")[0]
    try:
        return not module or find_spec(module) is None
    except ModuleNotFoundError:
        return True
    except Exception:  # a package that raises while it is imported
        return False


def plain_recipe(class_name: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """The recipe of a class and its constructor's arguments."""
    return {
        "objects": [],
        "object": {
            "id": class_name,
            "class": class_name,
            "args": [{"value": argument} for argument in arguments],
            "factory": None,
            "properties": [],
            "methods": [],
        },
    }


def of_recipe(recipe: Mapping[str, Any], is_spout: bool) -> tuple[str, dict[str, Any]]:
    """Class path and config of a component that `described` completes."""
    return SPOUT if is_spout else BOLT, {JAVA_RECIPE: recipe}


def is_java(component: ComponentSpec) -> bool:
    """Whether a JVM runs it."""
    return JAVA_RECIPE in component.config


def described(
    components: Sequence[ComponentSpec], config: Mapping[str, Any], main_file: str, wrong: Wrong
) -> list[ComponentSpec]:
    """The components, with output streams (where none are given) and configuration of the Java
    classes. One JVM answers for all classes.
    """
    asked = [component for component in components if is_java(component)]
    if not asked:
        return list(components)
    from heron_frontends.jvm.describing import describe  # only topologies with Java classes

    recipes = [(component.config[JAVA_RECIPE], component.is_spout) for component in asked]
    merged = {**config, **asked[0].config}
    try:
        answers = describe(recipes, merged, os.path.dirname(os.path.abspath(main_file)))
    except ComponentError as error:
        raise TopologyError(str(error)) from None
    complete = {}
    for component, answer in zip(asked, answers, strict=True):
        if answer.problem:
            raise wrong(component.name, answer.problem)
        complete[component.name] = replace(
            component,
            class_path=STATEFUL_BOLT if answer.keeps_state else component.class_path,
            outputs=component.outputs or answer.streams,
            config={**answer.config, **component.config},
        )
    return [complete.get(component.name, component) for component in components]
