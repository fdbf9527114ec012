"""From a Python or Flux file to its topology.

`load_topology` runs in a fresh process. The file's root is put on sys.path and the file is imported
under its own name, so class paths in the topology have one meaning in every instance. A module that
builds its topology only under `if __name__ == "__main__"` has just the block run, in the imported
module and with the arguments of `python FILE NAME`.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from heron_api.class_loading import load_class, load_grouping
from heron_api.component.local_classes import LOCALS
from heron_api.submissions import capture_submissions
from heron_api.topology import Topology
from heron_core.errors import TopologyError
from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.validation import choices
from heron_frontends.components.java import for_drawing
from heron_frontends.loading.component_checks import check_components
from heron_frontends.loading.load_request import LoadRequest
from heron_frontends.loading.main_block import MAIN, program_arguments, run_main_block
from heron_frontends.loading.streamparse_topology import is_streamparse_topology, to_topology_spec
from heron_frontends.loading.topology_files import (
    FLUX_ENDINGS,
    JOB_ENDING,
    SQL_ENDING,
    checked,
    directories,
    folder_of_code,
    imported,
    stem,
)
from heron_io.imports import put_on_search_path
from heronpy_compat import aliases

__all__ = ["LoadRequest", "load", "load_class", "load_grouping", "load_topology"]


@dataclass(frozen=True, slots=True)
class _Found:
    """A topology of the file."""

    name: str
    source: TopologySpec | type
    """A submitted topology, or a class of streamparse; the class's spec is built only if chosen,
    because other classes may have parts that cannot run here.
    """
    other_name: str | None = None
    """Second name for a request: the class name, where the file gives the first."""
    is_default: bool = False
    """Whether it is meant when no name is given."""

    def answers_to(self, name: str) -> bool:
        return name in (self.name, self.other_name)

    def spec(self, environment: str | None) -> TopologySpec:
        if isinstance(self.source, TopologySpec):
            return self.source
        return to_topology_spec(self.source, self.name, environment)


def load_topology(
    file: str,
    name: str | None = None,
    *,
    search_paths: Sequence[str] = (),
    environment: str | None = None,
    arguments: Sequence[str] | None = None,
    properties: Mapping[str, str] | None = None,
    use_environment: bool = False,
) -> TopologySpec:
    """Load the topology defined by `file`, with its search paths and main file.

    `name` selects one of several topologies, and is the argument of the file's main block unless
    `arguments` are given. The remaining arguments are a LoadRequest's. UsageError for an unusable
    file, TopologyError for a fault inside the file; both are one line.
    """
    given = None if arguments is None else tuple(arguments)
    paths = tuple(search_paths)
    return load(LoadRequest(file, name, paths, environment, given, properties, use_environment))


def load(request: LoadRequest) -> TopologySpec:
    """As `load_topology`, of a request."""
    aliases.install()
    path = checked(request.file)
    paths = directories(path, request.search_paths)
    put_on_search_path(paths)
    make = _from_sql if path.endswith(SQL_ENDING) else _from_python
    make = _from_flux if path.endswith(FLUX_ENDINGS) else make
    make = _from_samza if path.endswith(JOB_ENDING) else make
    with for_drawing() if request.is_to_draw else nullcontext():
        topology = make(request, path)
    if request.is_to_run:
        settled = topology.with_config(request.options or {}, request.below, request.overrides)
        check_components(settled, request.runs_here)
        topology = _described(topology, path)
    paths = tuple(dict.fromkeys((*topology.search_paths, *paths)))
    return replace(topology, search_paths=paths, main_file=path)


def _described(topology: TopologySpec, path: str) -> TopologySpec:
    # A late import: only a run of the topology needs fingerprints.
    from heron_frontends.loading.fingerprints import described

    folder = folder_of_code(path) or ""
    components = tuple(described(each, folder) for each in topology.components)
    return replace(topology, components=components)


def _from_flux(request: LoadRequest, path: str) -> TopologySpec:
    from heron_frontends.flux import load_flux  # PyYAML costs 15 ms, and few files need it

    with capture_submissions():
        return load_flux(path, request.name, request.properties or {}, request.use_environment)


def _from_sql(request: LoadRequest, path: str) -> TopologySpec:
    # Late: few files need a parser of SQL.
    from heronpy_compat.sql.programs import sql_program
    from heronpy_compat.streamlet.config import Config
    from heronpy_compat.streamlet.runner import Runner

    with capture_submissions(request.options, request.below) as submitted:
        Runner().run(request.name or stem(path), Config(), sql_program(path))
    return submitted[0]


def _from_samza(request: LoadRequest, path: str) -> TopologySpec:
    # Late: few files are a job of Samza.
    from heronpy_compat.samza.jobs import samza_job

    with capture_submissions(request.options, request.below) as submitted:
        samza_job(path, request.name).build_and_submit()
    return submitted[0]


def _from_python(request: LoadRequest, path: str) -> TopologySpec:
    own_argument = (request.name or stem(path),)
    arguments = own_argument if request.arguments is None else request.arguments
    with (
        program_arguments([request.file, *arguments]),
        capture_submissions(request.options, request.below) as submitted,
    ):
        module = imported(request.file, path)
        importable = set(vars(module))
        candidates = _with_submitted(_topology_classes(module, path), submitted)
        if not candidates or (request.arguments is not None and not _has(candidates, request.name)):
            run_main_block(module, path)
            candidates = _with_submitted(candidates, submitted)
        if not candidates and callable(vars(module).get("main")):
            raise TopologyError(
                f"{request.file} has a function main() that is never called: append `if __name__ "
                f"== {MAIN!r}: main()`"
            )
        topology = _picked(request, candidates).spec(request.environment)
    components = tuple(
        _importable(component, module, importable) for component in topology.components
    )
    return replace(topology, components=components)


def _with_submitted(candidates: list[_Found], submitted: list[TopologySpec]) -> list[_Found]:
    """Defined topologies, then submitted ones; a class may have submitted itself."""
    known = [id(each.source) for each in candidates]
    return candidates + [_Found(each.name, each) for each in submitted if id(each) not in known]


def _has(candidates: list[_Found], name: str | None) -> bool:
    return name is None or any(each.answers_to(name) for each in candidates)


def _topology_classes(module: ModuleType, path: str) -> list[_Found]:
    """Topology classes defined by the module, or, without any, the imported classes."""
    kinds = [each for each in vars(module).values() if isinstance(each, type)]
    classes = [each for each in dict.fromkeys(kinds) if _is_topology(each)]
    own = [each for each in classes if each.__module__ == module.__name__] or classes
    heronpys: list[Any] = [each for each in own if not is_streamparse_topology(each)]
    candidates = [_Found(each._topology_spec.name, each._topology_spec) for each in heronpys]
    return candidates + _streamparse_topologies(own, stem(path))


def _streamparse_topologies(classes: list[type], file_name: str) -> list[_Found]:
    """streamparse takes the first class and names it after the file; further classes keep their
    names.
    """
    kinds = [kind for kind in classes if is_streamparse_topology(kind)]
    like_file = [kind for kind in kinds if kind.__name__ == file_name]
    default = next(iter(like_file or kinds), None)
    return [
        _Found(file_name, kind, kind.__name__, is_default=True)
        if kind is default
        else _Found(kind.__name__, kind)
        for kind in kinds
    ]


def _is_topology(kind: Any) -> bool:
    is_ours = issubclass(kind, Topology) and kind is not Topology
    return is_ours or is_streamparse_topology(kind)


def _picked(request: LoadRequest, candidates: list[_Found]) -> _Found:
    file, name = request.file, request.name
    names = [candidate.name for candidate in candidates]
    if not candidates:
        raise TopologyError(
            f"{file} has no topology: define a class derived from Topology,"
            " or call TopologyBuilder.build_and_submit()"
        )
    for title in names:
        if names.count(title) > 1:
            raise TopologyError(
                f"{file} has {names.count(title)} topologies called {title!r}: rename one"
            )
    if name is not None:
        wanted = [candidate for candidate in candidates if candidate.answers_to(name)]
        if not wanted:
            hint = choices("topologies", name, names)
            raise TopologyError(f"{file} has no topology {name!r}; {hint}")
        return wanted[0]
    likely = [candidate for candidate in candidates if candidate.name == request.likely_name]
    default = (
        candidates
        if len(candidates) == 1
        else [*likely, *(candidate for candidate in candidates if candidate.is_default)]
    )
    if not default:
        listed = f"{', '.join(names[:-1])} or {names[-1]}"
        raise TopologyError(f"{file} has {len(candidates)} topologies: choose one with -n {listed}")
    return default[0]


def _importable(component: ComponentSpec, module: ModuleType, names: set[str]) -> ComponentSpec:
    """The component with a class path that instances can import; `names` are the module's own."""
    path = component.class_path
    label = f"class {path.rpartition('.')[2]} of component {component.name!r}"
    if LOCALS in path:
        raise TopologyError(
            f"{label} is defined inside a function: move the class to the top level of its file, "
            "from which instances import it (a notebook or a prompt sends the class by value)"
        )
    if not path.startswith(f"{MAIN}."):
        return component
    inside = path.removeprefix(f"{MAIN}.")
    if inside.partition(".")[0] not in names:
        raise TopologyError(
            f'{label} is defined under `if __name__ == "__main__"`: move it above, because'
            " instances only import the file"
        )
    return replace(component, class_path=f"{module.__name__}.{inside}")
