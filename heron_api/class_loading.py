"""Loading of a class by dotted path, in the process that runs the class."""

import importlib
import pickle
from types import ModuleType
from typing import Any, cast

from heron_api.component.local_classes import LOCALS, local_class
from heron_api.custom_grouping import ICustomGrouping
from heron_api.method_shapes import refuse_methods
from heron_api.submissions import capture_submissions
from heron_api.user_errors import format_error
from heron_core.errors import ComponentError
from heron_core.validation import did_you_mean


def load_class(class_path: str) -> type:
    """The class called MODULE.CLASS; nested classes are MODULE.OUTER.CLASS.

    ComponentError when the module or the class is missing, or when importing the module raises.
    """
    if LOCALS in class_path:
        local = local_class(class_path)
        if local is not None:
            return local
        raise ComponentError(
            f"class {class_path} is defined inside a function: move it to the top of its module"
        )
    names = class_path.split(".")
    if len(names) < 2 or not all(names):
        raise ComponentError(f"class path {class_path!r} must be MODULE.CLASS")
    module, inside = _module_and_rest(names)
    target: Any = module
    for index, name in enumerate(inside):
        if not hasattr(target, name):
            raise ComponentError(_missing(module, target, inside, index))
        target = getattr(target, name)
    if not isinstance(target, type):
        raise ComponentError(f"{class_path} is not a class, but {target!r}")
    return target


def load_grouping(custom: bytes) -> ICustomGrouping:
    """The object in a GroupingSpec's `custom`; a class path in it is loaded and instantiated.

    Only duck typing is assumed of the class. ComponentError as for `load_class`.
    """
    with capture_submissions():  # as in _module
        grouping = pickle.loads(custom)
    if isinstance(grouping, str):
        grouping = load_class(grouping)()
    refuse_methods(f"grouping {type(grouping).__name__}", grouping, ("prepare", "choose_tasks"))
    return cast(ICustomGrouping, grouping)


def _module_and_rest(names: list[str]) -> tuple[ModuleType, list[str]]:
    """The module of the longest importable prefix, and the remaining names for the class."""
    for count in range(len(names) - 1, 0, -1):
        module = _module(".".join(names[:count]))
        if module is not None:
            return module, names[count:]
    raise ComponentError(f"module {'.'.join(names[:-1])} not found (for class {names[-1]})")


def _module(name: str) -> ModuleType | None:
    """The module, or None if not found; ComponentError if the import raises."""
    try:
        # A file without a main block submits its topology on every import.
        with capture_submissions():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Only the module itself or a package above may be missing; a different name is a failed
        # import inside the module.
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise ComponentError(f"module {name} cannot be imported: {format_error(error)}") from error
    except (Exception, SystemExit) as error:
        raise ComponentError(f"module {name} cannot be imported: {format_error(error)}") from error


def _missing(module: ModuleType, found: Any, inside: list[str], index: int) -> str:
    if index == 0 and len(inside) > 1 and hasattr(module, "__path__"):
        missing = ".".join([module.__name__, *inside[:-1]])
        return f"module {missing} not found (for class {inside[-1]})"
    owner = ".".join([module.__name__, *inside[:index]])
    classes = [name for name, value in vars(found).items() if isinstance(value, type)]
    close = did_you_mean(inside[index], classes)
    hint = f"; did you mean {close!r}?" if close else ""
    kind = "class" if index else "module"
    return f"{kind} {owner} has no class {inside[index]!r}{hint}"
