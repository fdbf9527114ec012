"""`heronpy update_virtualenv`: of sparse; says what takes its place."""

import os

import click

from heron_cli.options.common import (
    SparseCommand,
    environment_options,
    ignored,
    note_ignored,
    stacked,
)
from heron_cli.options.source import name_option
from heron_cli.project import project_here


@click.command("update_virtualenv", cls=SparseCommand)
@name_option
@environment_options
@stacked(
    ignored("-N", "--override-name", metavar="NAME"),
    ignored("-o", "--option", metavar="KEY=VALUE", multiple=True),
    ignored("-r", "--requirements", metavar="FILE...", multiple=True),
    ignored("--overwrite-virtualenv"),
    ignored("--pool-size", metavar="N"),
    ignored("--user", metavar="USER"),
)
def update_virtualenv_command(
    name: str | None, environment: str | None, config_file: str | None
) -> None:
    """Of sparse. There is no virtualenv on workers here: this says how packages get to a topology.

    \b
    heronpy update_virtualenv -n wordcount
    """
    note_ignored()
    project = project_here(config_file)
    files = [] if project is None else requirement_files(project.virtualenv_folder, name)
    install = " ".join(f"-r {os.path.relpath(file)}" for file in files) or "PACKAGE"
    click.echo("Nothing to update: topologies use the Python environment of heronpy.")
    click.echo(f"To install their packages there: python -m pip install {install}")
    click.echo("To ship them in an archive: heronpy package")


def requirement_files(folder: str, name: str | None) -> list[str]:
    """NAME.txt of the folder of requirements files, or all of them; those that there are."""
    try:
        files = sorted(os.listdir(folder))
    except OSError:
        return []
    wanted = [each for each in files if each.endswith(".txt") and name in (None, each[:-4])]
    return [os.path.join(folder, each) for each in wanted]
