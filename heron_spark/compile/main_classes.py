"""Classes of a program's own main module, or inside of a function: they travel by value.

Another process cannot import `__main__`, nor a class created inside a function. Components follow
the functions of PySpark: the class itself is pickled, and a host finds the class in a module
created for the purpose.
"""

import base64
import pickle
import sys
from types import ModuleType
from typing import Any

import cloudpickle

from heron_api.class_loading import load_class
from heron_api.component.local_classes import name_by_value
from heron_api.user_errors import format_error
from heron_core.errors import TopologyError
from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec

MODULE = "heronpy_main"


def pickled_classes(topology: TopologySpec) -> str:
    """The classes that components have from the main module and from inside functions, as text;
    empty without any.

    TopologyError names a class that cannot be pickled.
    """
    classes: dict[str, Any] = {}
    for component in topology.components:
        name = name_by_value(component.class_path)
        if name is not None:
            classes[name] = load_class(component.class_path)
            _check(component.name, classes[name])
    return base64.b64encode(cloudpickle.dumps(classes)).decode("ascii") if classes else ""


def _check(component: str, kind: Any) -> None:
    try:
        cloudpickle.dumps(kind)
    except Exception as error:
        raise TopologyError(
            f"{component!r}: its class {kind.__name__} cannot be sent to the workers: "
            f"{format_error(error)}; define the class in its own module"
        ) from None


def by_value(topology: TopologySpec) -> TopologySpec:
    """The topology with such classes in the module that `install` creates."""
    components = tuple(
        each if (name := name_by_value(each.class_path)) is None else _moved(each, name)
        for each in topology.components
    )
    return replace(topology, components=components)


def _moved(component: ComponentSpec, name: str) -> ComponentSpec:
    return replace(component, class_path=f"{MODULE}.{name}")


def install(classes: str) -> None:
    """Make the module, of what `pickled_classes` returned."""
    if classes:
        module = ModuleType(MODULE)
        vars(module).update(pickle.loads(base64.b64decode(classes)))
        sys.modules[MODULE] = module
