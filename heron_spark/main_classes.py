"""Classes of a program's own main module, as in a notebook: they travel by value.

Nobody can import `__main__` of another process. What functions of PySpark do, components do, too:
the class itself is pickled, and a host finds it in a module that it makes for it.
"""

import base64
import pickle
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import cloudpickle

from heron_core.errors import TopologyError
from heron_core.topology import TopologySpec
from heronpy_compat.user_errors import format_error

MAIN = "__main__."
MODULE = "heronpy_main"


def pickled_classes(topology: TopologySpec) -> str:
    """The main module's classes that components have, as text; empty without any.

    TopologyError naming one that cannot be pickled.
    """
    main, found = sys.modules["__main__"], {}
    for each in topology.components:
        if each.class_path.startswith(MAIN):
            name = each.class_path.removeprefix(MAIN).partition(".")[0]
            found[name] = getattr(main, name)
            _check(each.name, found[name])
    return base64.b64encode(cloudpickle.dumps(found)).decode("ascii") if found else ""


def _check(component: str, kind: Any) -> None:
    try:
        cloudpickle.dumps(kind)
    except Exception as error:
        raise TopologyError(
            f"{component!r}: its class {kind.__name__} cannot be sent to the workers: "
            f"{format_error(error)}; define it in a module of its own"
        ) from None


def by_value(topology: TopologySpec) -> TopologySpec:
    """The topology with those classes in the module that `install` makes."""
    components = tuple(
        replace(each, class_path=f"{MODULE}.{each.class_path.removeprefix(MAIN)}")
        if each.class_path.startswith(MAIN)
        else each
        for each in topology.components
    )
    return replace(topology, components=components)


def install(classes: str) -> None:
    """Make the module, of what `pickled_classes` returned."""
    if classes:
        module = ModuleType(MODULE)
        vars(module).update(pickle.loads(base64.b64decode(classes)))
        sys.modules[MODULE] = module
