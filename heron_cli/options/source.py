"""The options that say where a topology is: FILE, NAME, and the values of a Flux file."""

import functools
from dataclasses import dataclass
from typing import Any

import click

from heron_cli.completers import complete_project_topology
from heron_cli.options.common import Decorator, Function, environment_options, stacked


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the command line says about where the topology is."""

    file: str | None
    name: str | None
    environment: str | None
    config_file: str | None
    properties_file: str | None = None
    properties: tuple[str, ...] = ()
    use_environment: bool = False


file_argument = click.argument("file", required=False, type=click.Path())


name_option = click.option(
    "-n",
    "--name",
    metavar="NAME",
    shell_complete=complete_project_topology,
    help="Topology of FILE, or of the project (topologies/NAME.py). Optional if there is only one.",
)
flux_options = stacked(
    click.option(
        "--filter",
        "properties_file",
        metavar="FILE",
        type=click.Path(),
        help="Flux file: properties file with the values of ${NAME}.",
    ),
    click.option(
        "--property",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        help="Flux file: value of ${NAME}. Repeatable.",
    ),
    click.option(
        "--env-filter",
        "use_environment",
        is_flag=True,
        help="Flux file: replace ${ENV-NAME} by the environment variable NAME.",
    ),
)


def with_source_options(function: Function) -> Function:
    """The options that say where the topology is; the function gets them as `source_options`."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        names = SourceOptions.__dataclass_fields__
        options = SourceOptions(**{name: given.pop(name) for name in names})
        return function(source_options=options, **given)

    decorate: Decorator = stacked(file_argument, name_option, environment_options, flux_options)
    return decorate(command)
