"""`heronpy quickstart`: a new project that runs at once and has a test."""

import importlib.util
import os
import shlex
from collections.abc import Iterator

import click

from heron_core.errors import HeronError

TEMPLATES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "templates")
ENDING = ".template"
"""An ending of templates, unknown to tools for Python code."""
HIDDEN = "dot-"
PLACEHOLDER = "PROJECT_NAME"
COMMON = "common"
"""Folder of files for every template, behind a template's own files of the same path."""
CHOICES = {
    "word-count": "endless words, counted",
    "log-sessions": "an access log: sessions of its visitors, exactly once",
    "kafka-to-delta": "a topic of Kafka: rows of a Delta table, exactly once",
}
"""Name of a template -> its topology; the first one is the default."""


@click.command("quickstart")
@click.argument("name", metavar="NAME", type=click.Path())
@click.option(
    "--template",
    type=click.Choice(list(CHOICES)),
    default=next(iter(CHOICES)),
    show_default=True,
    help="; ".join(f"{choice}: {what}" for choice, what in CHOICES.items()) + ".",
)
def quickstart_command(name: str, template: str) -> None:
    """Make a project in the new folder NAME: a topology and its test.

    The layout is that of `sparse quickstart`, and the project runs at once (with Kafka, beside a
    broker). The default topology counts words.

    \b
    heronpy quickstart demo
    heronpy quickstart visitors --template log-sessions
    cd demo; heronpy run
    """
    if os.path.lexists(name):
        raise HeronError(f'error: folder "{name}" already exists')
    project = os.path.basename(os.path.abspath(name))
    click.echo(f"\nCreating your {project} heronpy project...")
    try:
        for path, text in created(name, template):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(PLACEHOLDER, project))
            click.echo(f"    {'create':<10} {path}")
    except OSError as error:
        raise HeronError(f"{error.filename or name} cannot be written: {error.strerror}") from None
    click.echo("Done.\n\nTry running your topology locally with:\n")
    click.echo(f"\tcd {shlex.quote(name)}\n\theronpy run")
    click.echo("\nand test it with:\n")
    if importlib.util.find_spec("pytest") is None:
        click.echo("\tpython -m pip install pytest")
    click.echo("\tpython -m pytest")


def created(name: str, template: str) -> Iterator[tuple[str, str]]:
    """(path, text) of each file of the project `name`."""
    files = _files_of(COMMON) | _files_of(template)
    for path in sorted(files, key=lambda path: (os.sep in path, path.lstrip("."))):
        with open(files[path], encoding="utf-8") as file:
            yield os.path.join(name, path), file.read()


def _files_of(template: str) -> dict[str, str]:
    """Path in the project -> the template's file."""
    root = os.path.join(TEMPLATES, template)
    files = {}
    for folder, _, names in os.walk(root):
        for file in (file for file in names if file.endswith(ENDING)):
            target = file.removesuffix(ENDING)
            if target.startswith(HIDDEN):
                target = f".{target.removeprefix(HIDDEN)}"
            below = os.path.relpath(os.path.join(folder, target), root)
            files[below] = os.path.join(folder, file)
    return files
