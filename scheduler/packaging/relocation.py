"""Where a topology's folders are on another machine. Pure."""

import os
from collections.abc import Iterable

from heron_core.records import replace
from heron_core.topology import TopologySpec

Relocated = tuple[tuple[str, str], ...]
"""(folder where the topology was submitted or updated, the same here)"""
FOLDER = "/heronpy-code"
"""Code that came to a running topology by way of the state store is in folders below this one."""


def relocated(topology: TopologySpec, folders: Iterable[tuple[str, str]]) -> TopologySpec:
    """The topology with its paths as they are on this machine: what lay below the first folder of a
    pair lies below the second; other paths stay."""
    every = tuple(folders)
    return replace(
        topology,
        search_paths=tuple(_relocated(search_path, every) for search_path in topology.search_paths),
        main_file=_relocated(topology.main_file, every),
        components=tuple(
            replace(component, folder=_relocated(component.folder, every))
            for component in topology.components
        ),
    )


def has_stored_code(topology: TopologySpec) -> bool:
    """Whether it has code that came by way of the state store."""
    return any(each.startswith(f"{FOLDER}/") for each in topology.search_paths)


def _relocated(path: str, folders: Relocated) -> str:
    for old, new in folders:
        if path == old:
            return new
        if path.startswith(old.rstrip(os.sep) + os.sep):
            return os.path.join(new, os.path.relpath(path, old))
    return path
