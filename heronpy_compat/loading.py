"""From a Python file to its topology, and from a dotted path to its class.

`load_topology` is meant for a fresh process: it puts the file's root on sys.path and imports the
file under its own name, so that the class paths in the topology mean the same in every instance.
A module whose topology is only built under `if __name__ == "__main__"` has just that block run,
in the imported module and with the arguments that `python FILE NAME` would give; importing it a
second time as `__main__` would repeat whatever its top level does.
"""

import ast
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, ModuleType

from heron_core.errors import TopologyError, UsageError
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.validation import choices
from heronpy_compat import aliases
from heronpy_compat.api.topology import Topology
from heronpy_compat.classes import load_class, load_grouping
from heronpy_compat.failures import told
from heronpy_compat.submissions import captured

__all__ = ["load_class", "load_grouping", "load_topology"]

_MAIN = "__main__"


def load_topology(file: str, name: str | None = None) -> TopologySpec:
    """The topology that `file` defines, with its search path and main file.

    `name` picks one when there are several, and is the argument of the file's main block.
    UsageError for a file that cannot be used, TopologyError for what is wrong inside it; both are
    one line.
    """
    aliases.install()
    path = _checked(file)
    root, module_name = _root_and_module_name(path)
    _check_module_name(file, path, module_name)
    if root in sys.path:
        sys.path.remove(root)
    sys.path.insert(0, root)
    with _arguments([file, name or _stem(path)]), captured() as submitted:
        module = _imported(module_name, path)
        importable = set(vars(module))
        found = [*_class_topologies(module), *submitted]
        if not found:
            _run_main_block(module, path)
            found = submitted
    topology = _picked(file, name, found)
    components = tuple(_importable(each, module, importable) for each in topology.components)
    return replace(topology, components=components, search_paths=(root,), main_file=path)


def _checked(file: str) -> str:
    path = os.path.abspath(file)
    if os.path.isdir(path):
        raise UsageError(f"{file} is a directory: name the Python file with the topology")
    if not os.path.exists(path):
        raise UsageError(f"{file} does not exist")
    if not path.endswith(".py"):
        raise UsageError(f"{file} is no Python file: its name must end with .py")
    return path


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".py")


def _root_and_module_name(path: str) -> tuple[str, str]:
    """The directory that belongs on sys.path, and the module's dotted name below it."""
    directory, names = os.path.dirname(path), [_stem(path)]
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        directory, package = os.path.split(directory)
        names.insert(0, package)
    if names[-1] == "__init__":
        names.pop()
    return directory, ".".join(names)


def _check_module_name(file: str, path: str, module_name: str) -> None:
    """An instance imports the file by its name, so the name must lead to it everywhere."""
    if "." in _stem(path):
        raise UsageError(f"{file} cannot be imported: rename it so that only .py has a dot")
    if module_name.partition(".")[0] in sys.stdlib_module_names:
        raise UsageError(f"{file} hides Python's own module {module_name!r}: rename it")
    loaded = sys.modules.get(module_name)
    if loaded is not None and getattr(loaded, "__file__", None) != path:
        raise UsageError(
            f"{file} has the name of a module that is in use, {module_name}: rename it"
        )


def _imported(module_name: str, path: str) -> ModuleType:
    sys.modules.pop(module_name, None)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise TopologyError(told(error)) from error
    if os.path.abspath(module.__file__ or "") != path:
        raise UsageError(f"{path} is hidden by {module.__file__}: rename one of them")
    return module


@contextmanager
def _arguments(arguments: list[str]) -> Iterator[None]:
    before = sys.argv
    sys.argv = arguments
    try:
        yield
    finally:
        sys.argv = before


def _run_main_block(module: ModuleType, path: str) -> None:
    """Run the module's `if __name__ == "__main__"`, with the `__name__` that it asks for."""
    variables = vars(module)
    imported_as = variables["__name__"]
    variables["__name__"] = _MAIN
    try:
        for code in _main_blocks(path):
            exec(code, variables)
    except (Exception, SystemExit) as error:
        # sys.exit() and sys.exit(0) are how a program ends that has done its work.
        if not (isinstance(error, SystemExit) and error.code in (None, 0)):
            raise TopologyError(told(error)) from error
    finally:
        variables["__name__"] = imported_as


def _main_blocks(path: str) -> list[CodeType]:
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), path)
    return [
        compile(ast.Module([statement], []), path, "exec", dont_inherit=True)
        for statement in tree.body
        if isinstance(statement, ast.If) and _asks_for_main(statement.test)
    ]


def _asks_for_main(test: ast.expr) -> bool:
    nodes = list(ast.walk(test))
    return any(isinstance(each, ast.Name) and each.id == "__name__" for each in nodes) and any(
        isinstance(each, ast.Constant) and each.value == _MAIN for each in nodes
    )


def _class_topologies(module: ModuleType) -> list[TopologySpec]:
    """Topology classes that the module defines; if there are none, those that it imports."""
    classes: list[type[Topology]] = []
    for each in vars(module).values():
        known = each is Topology or each in classes
        if isinstance(each, type) and issubclass(each, Topology) and not known:
            classes.append(each)
    own = [each for each in classes if each.__module__ == module.__name__]
    return [each._topology_spec for each in own or classes]


def _picked(file: str, name: str | None, found: list[TopologySpec]) -> TopologySpec:
    names = [each.name for each in found]
    if not found:
        raise TopologyError(
            f"{file} has no topology: define a class derived from Topology,"
            " or call TopologyBuilder.build_and_submit()"
        )
    for each in names:
        if names.count(each) > 1:
            raise TopologyError(
                f"{file} has {names.count(each)} topologies called {each!r}: rename one"
            )
    if name is None and len(found) > 1:
        listed = f"{', '.join(names[:-1])} or {names[-1]}"
        raise TopologyError(
            f"{file} has {len(found)} topologies: choose one with --topology {listed}"
        )
    if name is not None and name not in names:
        hint = choices("topologies", name, names)
        raise TopologyError(f"{file} has no topology {name!r}; {hint}")
    return found[0 if name is None else names.index(name)]


def _importable(component: ComponentSpec, module: ModuleType, names: set[str]) -> ComponentSpec:
    """The component with a class path that instances can import; `names` are the module's own."""
    path = component.class_path
    label = f"class {path.rpartition('.')[2]} of component {component.name!r}"
    if "<locals>" in path:
        raise TopologyError(f"{label} is defined inside a function: move it to the top of its file")
    if not path.startswith(f"{_MAIN}."):
        return component
    inside = path.removeprefix(f"{_MAIN}.")
    if inside.partition(".")[0] not in names:
        raise TopologyError(
            f'{label} is defined under `if __name__ == "__main__"`: move it above, because'
            " instances only import the file"
        )
    return replace(component, class_path=f"{module.__name__}.{inside}")
