"""Reads a Flux file and its includes as one definition.

As in Flux, `override: true` replaces existing definitions by the included file's; by default
existing definitions stay. Streams are added. Included files cannot include further files. Paths are
relative to the including file; a `resource` is also searched for on the search paths, and in the
parent folders up to the working directory.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heron_api.user_errors import display_path
from heron_core.errors import UsageError
from heron_frontends.flux.definitions import IncludeDefinition, TopologyDefinition
from heron_frontends.flux.documents import parse
from heron_frontends.flux.schema import topology_definition
from heron_frontends.flux.substitution import Values, substituted


@dataclass(frozen=True, slots=True)
class FluxReading:
    """What is needed to read files besides their paths."""

    values: Values
    search_paths: Sequence[str] = ()


def complete_definition(file: str, reading: FluxReading) -> TopologyDefinition:
    """Definitions of `file` and its includes; TopologyError or UsageError in one line."""
    found = _definition(file, reading, included=False)
    for include in found.includes:
        path = _path(include, reading)
        _merge(found, _definition(path, reading, included=True), include.override)
    return found


def _definition(file: str, reading: FluxReading, *, included: bool) -> TopologyDefinition:
    text, undefined = substituted(_text(file), reading.values)
    return topology_definition(parse(text, file, undefined), included=included)


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except OSError as error:
        raise UsageError(f"{display_path(file)} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{display_path(file)} is not text: save it as UTF-8") from None


def _path(include: IncludeDefinition, reading: FluxReading) -> str:
    folders = [os.path.dirname(include.position.file)]
    name = include.file
    if include.is_resource:
        folders.extend(reading.search_paths)
        folders.extend(_resource_roots(folders[0]))
        name = name.lstrip("/")
    for folder in folders:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path):
            return path
    searched = ", ".join(dict.fromkeys(display_path(folder) for folder in folders))
    raise include.position.wrong(
        f"included file {include.file} does not exist (looked in {searched})"
    )


def _resource_roots(folder: str) -> Iterator[str]:
    """Where a resource's path may begin, as Storm's begin at the root of the jar: the folders above
    the file, as far as the working directory, and `resources` in each."""
    here = os.getcwd()
    while os.path.commonpath([here, folder]) == here:
        yield folder
        yield os.path.join(folder, "resources")
        if folder == here:
            return
        folder = os.path.dirname(folder)


def _merge(including: TopologyDefinition, included: TopologyDefinition, override: bool) -> None:
    if included.name is not None and (including.name is None or override):
        including.name = included.name
    for name, setting in included.config.items():
        if override or name not in including.config:
            including.config[name] = setting
    for name, component in included.components.items():
        if override or name not in including.components:
            including.components[name] = component
    for name, vertex in included.vertices.items():
        if override or name not in including.vertices:
            including.vertices[name] = vertex
    including.streams.extend(included.streams)
