"""From the command line's options to the file with the topology: FILE, or one of a project."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_cli.environment import NamedEnvironment, environment_of
from heron_cli.options.common import note_ignored
from heron_cli.options.source import SourceOptions
from heron_cli.project import CONFIG_FILE, Project, project_here, project_of_file, required
from heron_core.errors import UsageError
from heron_core.java_properties import parse_properties
from heron_core.records import replace
from heron_frontends.loading.load_request import LoadRequest

ARCHIVE_ENDINGS = (".tar.gz", ".tgz")


@dataclass(frozen=True, slots=True)
class TopologySource:
    """A topology to load, and the environment whose options lie below its own."""

    request: LoadRequest
    name: str | None
    """Name of the topology derived from its file (streamparse); None for the topology's own
    name."""
    project: Project | None
    environment: NamedEnvironment

    def request_to_run(
        self, arguments: tuple[str, ...] | None, options: Mapping[str, Any], runs_here: bool
    ) -> LoadRequest:
        """The load request of a start command, from `options` of the command line."""
        return replace(
            self.request,
            arguments=arguments,
            options=options,
            below=self.environment.options,
            is_to_run=True,
            runs_here=runs_here,
        )


def resolve(options: SourceOptions) -> TopologySource:
    """Location of the topology; UsageError if ambiguous."""
    if options.file is not None and options.file.endswith(ARCHIVE_ENDINGS):
        source = _in_archive(options.file, options)
    elif options.file is not None:
        source = _in_file(options.file, options)
    else:
        project = required(project_here(options.config_file), "without FILE this command")
        source = _in_project(project, options)
    properties = _properties(options)
    if properties or options.use_environment:
        request = replace(
            source.request, properties=properties, use_environment=options.use_environment
        )
        source = replace(source, request=request)
    note_ignored(source.environment.ignored)
    return source


def _in_file(file: str, options: SourceOptions) -> TopologySource:
    """FILE, and the project around it; -n is a topology in the file."""
    named = options.config_file is not None
    project = project_here(options.config_file) if named else project_of_file(file)
    if options.environment is not None:
        project = required(project, f"-e {options.environment}")
    environment = _environment(project, options)
    paths = project.search_paths if project is not None else ()
    request = LoadRequest(file, options.name, paths, environment.name)
    return TopologySource(request, None, project, environment)


def _in_project(project: Project, options: SourceOptions) -> TopologySource:
    """topologies/NAME.py; in a project with one such file, NAME may also be a topology in the
    file."""
    files = project.topology_files()
    inside = options.name if len(files) == 1 and options.name not in files else None
    name, path = project.topology_file(None if inside else options.name)
    environment = _environment(project, options)
    request = LoadRequest(path, inside, project.search_paths, environment.name)
    return TopologySource(request, inside or name, project, environment)


def _in_archive(file: str, options: SourceOptions) -> TopologySource:
    """An archive of `heronpy package`: unpacked once, then used like any project."""
    from heron_engine.scheduler.packaging.archive import unpacked
    from heron_engine.scheduler.user_folder import Home

    archive = unpacked(file, Home.of_user().archives)
    entry = archive.topology(options.name)
    config = options.config_file or os.path.join(archive.folder, CONFIG_FILE)
    project = None
    if os.path.exists(config):
        project = replace(required(project_here(config), config), root=archive.folder)
    if options.environment is not None:
        project = required(project, f"-e {options.environment}")
    environment = _environment(project, options)
    paths = project.search_paths if project is not None else ()
    path = os.path.join(archive.folder, entry.file)
    request = LoadRequest(path, entry.inside, (*paths, *archive.packages), environment.name)
    return TopologySource(
        request, entry.name if project is not None else None, project, environment
    )


def _environment(project: Project | None, options: SourceOptions) -> NamedEnvironment:
    return NamedEnvironment() if project is None else environment_of(project, options.environment)


def _properties(options: SourceOptions) -> dict[str, str]:
    """The values of ${name} in a Flux file: --property over --filter."""
    found = _properties_in(options.properties_file) if options.properties_file is not None else {}
    for word in options.properties:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--property {word!r} is not NAME=VALUE")
        found[name.strip()] = value
    return found


def _properties_in(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return parse_properties(file)
    except OSError as error:
        raise UsageError(f"--filter {path} cannot be read: {error.strerror}") from None
