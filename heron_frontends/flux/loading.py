"""From the path of a Flux file to its topology."""

import os
from collections.abc import Mapping

from heron_core.errors import TopologyError, UsageError
from heron_core.records import replace
from heron_core.topology import TopologySpec
from heron_core.validation import choices
from heron_frontends.flux.build_topology import topology
from heron_frontends.flux.including import FluxReading, complete_definition
from heron_frontends.flux.substitution import Values
from heron_io.imports import put_on_search_path
from heronpy_compat import aliases

__all__ = ["load_flux"]

_CODE_FOLDERS = ("src", "topologies", "resources")
"""Where sparse's projects keep their code."""


def load_flux(
    path: str,
    name: str | None = None,
    properties: Mapping[str, str] | None = None,
    use_environment: bool = False,
) -> TopologySpec:
    """The topology that the Flux file `path` defines; meant for a fresh process.

    `name` must equal the file's name of the topology, or supplies a missing name. `properties` are
    the values of ${name}; with `use_environment`, ${ENV-NAME} is the environment variable NAME. The
    file's folder, and its subfolders src and topologies, are put on sys.path. UsageError for an
    unreadable file, TopologyError for a fault in the file; both are one line.
    """
    aliases.install()
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        what = "is a directory" if os.path.isdir(file) else "does not exist"
        raise UsageError(f"{path} {what}: name the YAML file with the topology")
    search_paths = _search_paths(os.path.dirname(file))
    put_on_search_path(search_paths)
    values = Values(properties or {}, os.environ if use_environment else None)
    definition = complete_definition(file, FluxReading(values, search_paths))
    spec = topology(definition, _name(path, name, definition.name))
    return replace(spec, search_paths=search_paths, main_file=file)


def _search_paths(folder: str) -> tuple[str, ...]:
    inside = (os.path.join(folder, each) for each in _CODE_FOLDERS)
    return (folder, *filter(os.path.isdir, inside))


def _name(path: str, wanted: str | None, own: str | None) -> str:
    if own is not None and wanted not in (None, own):
        hint = choices("topologies", str(wanted), [own])
        raise TopologyError(f"{path} has no topology {wanted!r}; {hint}")
    return own or wanted or os.path.splitext(os.path.basename(path))[0]
