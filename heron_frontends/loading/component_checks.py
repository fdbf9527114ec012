"""Checks of a topology's classes at the load, instead of failures after six restarts.

Each problem is one line with the place in the user's own file. The checks never create a component.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from heron_api.class_loading import load_class
from heron_api.component.base_component import BaseComponent
from heron_api.java_names import java_name_problems
from heron_api.method_shapes import location_of
from heron_api.user_errors import display_path, install_hint, is_users
from heron_core.config.effects import component_config
from heron_core.config.names import FLUX_RECIPE
from heron_core.errors import ComponentError, TopologyError
from heron_core.library import LIBRARIES
from heron_core.optional_packages import missing
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.validation import did_you_mean
from heron_core.wire.pickled import Pickled
from heron_frontends.loading.shape_checks import (
    CALLED,
    helper_problems,
    line_of,
    only_raises,
    shape_problems,
)

HOOKS = ("next_tuple", "process", "processWindow", "process_batch")
"""Methods that a user's class has to define if the inherited method only raises."""
CALLED_OF_COMPONENTS = CALLED - {"emit", "emit_batch"}
"""Without methods that user code calls: a helper `emitBatch` is the user's own."""
_ADAPTERS = ("heron_frontends.adapters.", "heron_frontends.jvm.")
"""Shell components and Java's: their class is ours, and importing it costs time."""
"""Config key of an object created by a Flux file; the loader of the file checks its constructor."""


def check_components(topology: TopologySpec, runs_here: bool) -> None:
    """TopologyError for the first problem; `runs_here` includes packages and files that the machine
    lacks.

    The topology's config must be the effective config of the run.
    """
    for problem in helper_problems(topology):
        raise TopologyError(problem)
    for component in topology.components:
        if component.class_path.startswith(_ADAPTERS):
            continue
        for problem in _problems(component, topology, runs_here):
            raise TopologyError(problem)


def _problems(spec: ComponentSpec, topology: TopologySpec, runs_here: bool) -> Iterator[str]:
    label = spec.label
    try:
        kind = load_class(spec.class_path)
    except ComponentError as error:
        if runs_here:  # the hosts of a cluster may have what this one lacks
            yield f"{label}: {error}"
        return
    if FLUX_RECIPE not in spec.config:
        yield from _constructor_problems(label, kind)
    yield from _hook_problems(label, kind, "next_tuple" if spec.is_spout else "process")
    yield from shape_problems(label, kind, spec.is_spout)
    for method, problem in java_name_problems(kind, CALLED_OF_COMPONENTS.__contains__):
        yield f"{location_of(method)}{label}: {problem}"
    config = {
        key: value
        for key, value in component_config(topology.config, spec.config).items()
        if not isinstance(value, Pickled)
    }
    own_check = getattr(kind, "load_problem", None)
    if own_check is not None and (problem := own_check(config, runs_here)):
        yield f"{label}: {problem}"
    outputs_check = getattr(kind, "outputs_problem", None)
    streams = [output.name for output in spec.outputs]
    if outputs_check is not None and (problem := outputs_check(config, streams)):
        yield f"{label}: {problem}"
    if runs_here:
        yield from _package_problems(label, kind)
        yield from _import_problems(label, kind)


def _package_problems(label: str, kind: Any) -> Iterator[str]:
    """Missing package of a connector: the class names the package and its purpose."""
    needed = getattr(kind, "needed_package", None)
    if needed is not None and (problem := missing(*needed)):
        yield f"{label}: {problem}"


def _constructor_problems(label: str, kind: type) -> Iterator[str]:
    """The engine makes a component of heronpy's API with the keyword `delegate`."""
    made_by = next(base for base in kind.__mro__ if "__init__" in vars(base))
    if not issubclass(kind, BaseComponent) or made_by.__module__.startswith(LIBRARIES):
        return
    try:
        inspect.signature(kind).bind(delegate=None)
    except TypeError:
        yield (
            f"{line_of(vars(made_by)['__init__'], made_by)}{label}: class {made_by.__name__}"
            " overrides __init__, but the engine makes its objects: put this into"
            " initialize(self, config, context)"
        )


def _hook_problems(label: str, kind: type, needed: str) -> Iterator[str]:
    if not callable(getattr(kind, needed, None)):
        yield f"{line_of(kind, kind)}{label}: {_undefined(kind, needed)}"
        return
    for name in HOOKS:
        owner = next((each for each in kind.__mro__ if name in vars(each)), None)
        if owner is None or not owner.__module__.startswith(LIBRARIES):
            continue
        if only_raises(vars(owner)[name]) and not _may_set(kind, name):
            yield f"{line_of(kind, kind)}{label}: {_undefined(kind, name)}"


def _undefined(kind: type, name: str) -> str:
    own = [
        method
        for base in kind.__mro__
        if not base.__module__.startswith(LIBRARIES)
        for method, value in vars(base).items()
        if callable(value) and not method.startswith("__")
    ]
    close = did_you_mean(name, own)
    hint = f"; is {close!r} a misspelling of the name?" if close else ""
    return f"class {kind.__name__} defines no {name}{hint}"


def _may_set(kind: type, name: str) -> bool:
    """Whether the class's own code mentions the name, and so may set the attribute on the
    object.
    """
    for base in kind.__mro__:
        if base.__module__.startswith(LIBRARIES) or base is object:
            continue
        for member in vars(base).values():
            code = getattr(member, "__code__", None)
            if code is not None and {name, "setattr", "__dict__"} & set(code.co_names):
                return True
        if {"__getattribute__", "_run", "run", "read_tuple"} & set(vars(base)):
            return True
    return False


def _import_problems(label: str, kind: type) -> Iterator[str]:
    """Packages that the class imports at its start, and that are not installed."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is None or not is_users(file):
        return
    for name in ("__init__", "initialize"):
        method = vars(kind).get(name)
        if inspect.isfunction(method):
            for line, package in _imports(method):
                if not _is_there(package):
                    yield (
                        f"{display_path(file)}:{line}: {label} needs the package {package}, which"
                        f" is not installed{install_hint(package)}"
                    )


def _imports(method: Any) -> Iterator[tuple[int, str]]:
    """(line, top-level package) of each import statement that no `try` or `if` stands around."""
    if not {"IMPORT_NAME"} & {instruction.opname for instruction in _instructions(method)}:
        return
    try:
        lines, first = inspect.getsourcelines(method)
        tree = ast.parse(inspect.cleandoc("\n" + "".join(lines)))
    except (OSError, SyntaxError):
        return
    body = tree.body[0].body if isinstance(tree.body[0], ast.FunctionDef) else []
    for node in body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        yield from ((first + node.lineno - 1, name.partition(".")[0]) for name in names)


def _instructions(method: Any) -> Iterator[Any]:
    import dis  # 5 ms, and only classes of the user's own with an initialize get here

    return dis.get_instructions(method)


def _is_there(package: str) -> bool:
    try:
        return package in sys.modules or find_spec(package) is not None
    except (ImportError, ValueError):
        return False
