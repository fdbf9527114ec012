"""`heronpy quickstart`: a new project that runs at once and has a test."""

import importlib.util
import os
from collections.abc import Iterator

import click

from heron_core.errors import HeronError

TEMPLATES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "templates")
ENDING = ".template"
"""So that no tool takes a template for code of ours."""
HIDDEN = "dot-"
PLACEHOLDER = "PROJECT_NAME"


@click.command("quickstart")
@click.argument("name", metavar="NAME", type=click.Path())
def quickstart_command(name: str) -> None:
    """Make a project in the new folder NAME: a topology that counts words, and its test.

    It is laid out as `sparse quickstart` does it, and runs at once.

    \b
    heronpy quickstart demo
    cd demo; heronpy run
    """
    if os.path.lexists(name):
        raise HeronError(f'error: folder "{name}" already exists')
    project = os.path.basename(os.path.abspath(name))
    click.echo(f"\nCreating your {project} heronpy project...")
    try:
        for path, text in created(name):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(PLACEHOLDER, project))
            click.echo(f"    {'create':<10} {path}")
    except OSError as error:
        raise HeronError(f"{error.filename or name} cannot be written: {error.strerror}") from None
    click.echo(f"Done.\n\nTry running your topology locally with:\n\n\tcd {name}\n\theronpy run")
    click.echo("\nand test it with:\n")
    if importlib.util.find_spec("pytest") is None:
        click.echo("\tpython -m pip install pytest")
    click.echo("\tpython -m pytest")


def created(name: str) -> Iterator[tuple[str, str]]:
    """(path, text) of each file of the project `name`."""
    for folder, folders, files in os.walk(TEMPLATES):
        folders.sort()
        below = os.path.relpath(folder, TEMPLATES)
        for template in sorted(file for file in files if file.endswith(ENDING)):
            target = template.removesuffix(ENDING)
            if target.startswith(HIDDEN):
                target = f".{target.removeprefix(HIDDEN)}"
            with open(os.path.join(folder, template), encoding="utf-8") as file:
                yield os.path.normpath(os.path.join(name, below, target)), file.read()
