"""From a topology file's path to its module: under the module's own name, with its directories on
sys.path.

The name has to lead to the file in every process, because instances import it by that name.
"""

import importlib
import os
import sys
from collections.abc import Iterable
from types import ModuleType

from heron_api.user_errors import format_error
from heron_core.errors import TopologyError, UsageError

FLUX_ENDINGS = (".yaml", ".yml")
SQL_ENDING = ".sql"
JOB_ENDING = ".properties"
"""Of a job of Samza."""
_PYTHON_ENDING = ".py"
_PROJECT_FILE = "config.json"
_SOURCES = "src"
_TOPOLOGIES = "topologies"
_RESOURCES = "resources"


def checked(file: str) -> str:
    """The absolute path of a Python or Flux file; UsageError for anything else."""
    path = os.path.abspath(file)
    if os.path.isdir(path):
        raise UsageError(f"{file} is a directory: name the Python file with the topology")
    if not os.path.exists(path):
        how = "" if os.path.splitext(file)[1] else ": name a file (NAME.py), or a project's with -n"
        raise UsageError(f"{file} does not exist{how}")
    if not path.endswith((_PYTHON_ENDING, *FLUX_ENDINGS, SQL_ENDING, JOB_ENDING)):
        raise UsageError(
            f"{file} is not a Python file: its name must end with .py (or .yaml for a Flux "
            "file, .sql for a file of SQL, .properties for a job of Samza)"
        )
    return path


def stem(path: str) -> str:
    """The file's name without its ending."""
    return os.path.splitext(os.path.basename(path))[0]


def directories(path: str, search_paths: Iterable[str]) -> tuple[str, ...]:
    """What belongs on sys.path, the file's own root first.

    A streamparse project's root and its src are found by themselves: streamparse looks for modules
    in src, and some projects say `import src.bolts`.
    """
    root, _ = root_and_module_name(path)
    project = os.path.dirname(root)
    folders = [root, *(os.path.abspath(search_path) for search_path in search_paths)]
    if os.path.isfile(os.path.join(project, _PROJECT_FILE)):
        sources = os.path.join(project, _SOURCES)
        folders += [sources, project] if os.path.isdir(sources) else []
    return tuple(dict.fromkeys(folders))


def folder_of_code(main_file: str) -> str | None:
    """Working folder of a component in Storm: `resources` beside the topology's file, as in a Storm
    jar; `src` in a streamparse project. None without either folder.
    """
    folder = os.path.dirname(os.path.abspath(main_file))
    above = os.path.dirname(folder)
    candidates = [os.path.join(folder, _RESOURCES)]
    if os.path.basename(folder) == _TOPOLOGIES or os.path.isfile(
        os.path.join(above, _PROJECT_FILE)
    ):
        candidates += [os.path.join(above, _SOURCES), os.path.join(above, _RESOURCES)]
    return next(filter(os.path.isdir, candidates), None)


def folder_of_programs(main_file: str) -> str:
    """Where a program of another language runs and is looked for: Storm's folder, or else the
    topology file's own."""
    if not main_file:
        return os.getcwd()
    return folder_of_code(main_file) or os.path.dirname(os.path.abspath(main_file))


def root_and_module_name(path: str) -> tuple[str, str]:
    """Directory for sys.path, and the module's dotted name below the directory."""
    directory, names = os.path.dirname(path), [stem(path)]
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        directory, package = os.path.split(directory)
        names.insert(0, package)
    if names[-1] == "__init__":
        names.pop()
    return directory, ".".join(names)


def imported(file: str, path: str) -> ModuleType:
    """The file's module, imported again; UsageError for a name in use.

    TopologyError for what the file raises.
    """
    _, name = root_and_module_name(path)
    _check_module_name(file, path, name)
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise TopologyError(format_error(error)) from error
    if os.path.abspath(module.__file__ or "") != path:
        raise UsageError(f"{path} is hidden by {module.__file__}: rename one of them")
    return module


def _check_module_name(file: str, path: str, module_name: str) -> None:
    if "." in stem(path):
        raise UsageError(f"{file} cannot be imported: rename the file so that only .py has a dot")
    if module_name.partition(".")[0] in sys.stdlib_module_names:
        raise UsageError(f"{file} hides Python's own module {module_name!r}: rename the file")
    loaded = sys.modules.get(module_name)
    if loaded is not None and getattr(loaded, "__file__", None) != path:
        raise UsageError(f"{file} has the name of a module in use, {module_name}: rename the file")
