"""From the command line's words to the file with the topology: FILE, or a project's by its name."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import click

from heron_cli.completers import complete_project_topology
from heron_cli.environment import Environment, environment_of
from heron_cli.options.common import Decorator, Function, environment_options, stacked, tell_ignored
from heron_cli.project import CONFIG_FILE, Project, project_here, project_of_file, required
from heron_core.errors import UsageError
from heronpy_compat.loading.load_request import LoadRequest

ARCHIVE_ENDINGS = (".tar.gz", ".tgz")


@dataclass(frozen=True, slots=True)
class SourceWords:
    """What the command line says about where the topology is."""

    file: str | None
    name: str | None
    environment: str | None
    config_file: str | None
    properties_file: str | None = None
    properties: tuple[str, ...] = ()
    use_environment: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A topology to load, and the environment whose options lie below its own."""

    request: LoadRequest
    name: str | None
    """What the topology is called after its file (streamparse); None for its own name."""
    project: Project | None
    environment: Environment


def located(words: SourceWords) -> Source:
    """Where the topology is; UsageError if that cannot be told."""
    if words.file is not None and words.file.endswith(ARCHIVE_ENDINGS):
        source = _in_archive(words.file, words)
    elif words.file is not None:
        source = _in_file(words.file, words)
    else:
        project = required(project_here(words.config_file), "without FILE this command")
        source = _in_project(project, words)
    properties = _properties(words)
    if properties or words.use_environment:
        request = replace(
            source.request, properties=properties, use_environment=words.use_environment
        )
        source = replace(source, request=request)
    tell_ignored(source.environment.ignored)
    return source


def _in_file(file: str, words: SourceWords) -> Source:
    """FILE, and the project around it; -n is a topology in the file."""
    named = words.config_file is not None
    project = project_here(words.config_file) if named else project_of_file(file)
    if words.environment is not None:
        project = required(project, f"-e {words.environment}")
    environment = _environment(project, words)
    paths = project.search_paths if project is not None else ()
    request = LoadRequest(file, words.name, paths, environment.name)
    return Source(request, None, project, environment)


def _in_project(project: Project, words: SourceWords) -> Source:
    """topologies/NAME.py; in a project with one such file, NAME may be a topology in it as well."""
    files = project.topology_files()
    inside = words.name if len(files) == 1 and words.name not in files else None
    name, path = project.topology_file(None if inside else words.name)
    environment = _environment(project, words)
    request = LoadRequest(path, inside, project.search_paths, environment.name)
    return Source(request, inside or name, project, environment)


def _in_archive(file: str, words: SourceWords) -> Source:
    """What `heronpy package` made: unpacked once, then a project like any other."""
    from scheduler.packaging.archive import unpacked
    from scheduler.user_folder import Home

    archive = unpacked(file, Home.of_user().archives)
    entry = archive.topology(words.name)
    config = words.config_file or os.path.join(archive.folder, CONFIG_FILE)
    project = None
    if os.path.exists(config):
        project = replace(required(project_here(config), config), root=archive.folder)
    if words.environment is not None:
        project = required(project, f"-e {words.environment}")
    environment = _environment(project, words)
    paths = project.search_paths if project is not None else ()
    path = os.path.join(archive.folder, entry.file)
    request = LoadRequest(path, entry.inside, (*paths, *archive.packages), environment.name)
    return Source(request, entry.name if project is not None else None, project, environment)


def _environment(project: Project | None, words: SourceWords) -> Environment:
    return Environment() if project is None else environment_of(project, words.environment)


def _properties(words: SourceWords) -> dict[str, str]:
    """The values of ${name} in a Flux file: --property over --filter."""
    found = _properties_in(words.properties_file) if words.properties_file is not None else {}
    for word in words.properties:
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


def parse_properties(lines: Iterable[str]) -> dict[str, str]:
    """A Java properties file: `name = value` or `name: value`; # and ! begin a comment."""
    found: dict[str, str] = {}
    for line in map(str.strip, lines):
        if not line or line[0] in "#!":
            continue
        at = min((line.find(each) for each in "=:" if each in line), default=len(line))
        found[line[:at].strip()] = line[at + 1 :].strip()
    return found


file_argument = click.argument("file", required=False, type=click.Path())


name_option = click.option(
    "-n",
    "--name",
    metavar="NAME",
    shell_complete=complete_project_topology,
    help="Which topology: of FILE, or of the project, whose file is topologies/NAME.py. Not "
    "needed when there is only one.",
)
flux_options = stacked(
    click.option(
        "--filter",
        "properties_file",
        metavar="FILE",
        type=click.Path(),
        help="Of a Flux file: a properties file with the values of its ${NAME}.",
    ),
    click.option(
        "--property",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        help="Of a Flux file: the value of ${NAME}. Repeatable.",
    ),
    click.option(
        "--env-filter",
        "use_environment",
        is_flag=True,
        help="Of a Flux file: ${ENV-NAME} is the environment variable NAME.",
    ),
)


def source_options(function: Function) -> Function:
    """The options that say where the topology is; the function gets them as `words`."""
    import functools

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        names = SourceWords.__dataclass_fields__
        words = SourceWords(**{name: given.pop(name) for name in names})
        return function(words=words, **given)

    decorate: Decorator = stacked(file_argument, name_option, environment_options, flux_options)
    return decorate(command)
