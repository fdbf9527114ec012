"""`heronpy package`: a project and its packages in one file for `run` and `submit`."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from heron_cli.commands.update_virtualenv import requirement_files
from heron_cli.options.common import (
    SparseCommand,
    environment_options,
    ignored,
    note_ignored,
    stacked,
)
from heron_cli.options.source import file_argument, name_option
from heron_cli.project import Project, project_here, project_of_file, required
from heron_cli.resolve_source import ARCHIVE_ENDINGS
from heron_core.errors import HeronError, UsageError

if TYPE_CHECKING:
    from heron_engine.scheduler.packaging.archive import Entry

REQUIREMENTS_FILE = "requirements.txt"

package_options = stacked(
    file_argument,
    name_option,
    click.option(
        "-o",
        "--output-file",
        metavar="FILE",
        type=click.Path(),
        help="Name of the archive, ending in .tar.gz; by default the project's name.",
    ),
    click.option(
        "-r",
        "--requirements",
        multiple=True,
        metavar="FILE...",
        type=click.Path(),
        help="Use these requirements files instead of requirements.txt and virtualenvs/NAME.txt.",
    ),
    click.option("--no-requirements", is_flag=True, help="Leave packages out of the archive."),
    environment_options,
    ignored("-s", "--simple-jar"),
)


@click.command("package", cls=SparseCommand)
@package_options
def package_command(
    file: str | None,
    name: str | None,
    output_file: str | None,
    requirements: tuple[str, ...],
    no_requirements: bool,
    environment: str | None,
    config_file: str | None,
) -> None:
    """Put the project of the current folder, and the packages it requires, into one archive.

    `heronpy run` and `heronpy submit` take the archive as FILE, also on another machine. It has
    the whole project without hidden files, caches, logs and ssh passwords, and every package of
    requirements.txt and virtualenvs/NAME.txt as a wheel; streamparse, pystorm and heronpy are left
    out, because heronpy replaces them. With FILE, the archive has only the topology of FILE, and
    only the folder of FILE outside of a project. Equal contents give equal bytes.

    \b
    heronpy package
    heronpy package -n wordcount -o wordcount.tar.gz
    heronpy run wordcount.tar.gz
    """
    note_ignored()
    _package(_chosen(file, name, config_file), output_file, requirements, no_requirements)


@click.command("jar", cls=SparseCommand)
@package_options
@click.pass_context
def jar_command(context: click.Context, /, **given: object) -> None:
    """A command of sparse: runs `heronpy package`, as heronpy has no jars.

    \b
    heronpy jar
    """
    click.echo("note: heronpy has no jars; running `heronpy package`", err=True)
    context.invoke(package_command, **given)


@contextmanager
def _wheels(files: list[str], root: str) -> Iterator[tuple[str | None, list[str]]]:
    """A folder of wheels for requirements files, None without requirements; and the requirement
    lines."""
    from heron_engine.scheduler.packaging.archive import run_pip
    from heron_engine.scheduler.packaging.requirements import for_pip, wants_packages

    lines: list[str] = []
    for requirements in files:
        try:
            with open(requirements, encoding="utf-8") as file:
                lines += for_pip(file, os.path.dirname(os.path.abspath(requirements)))
        except OSError as error:
            raise UsageError(f"{requirements} cannot be read: {error.strerror}") from None
    if not wants_packages(lines):
        yield None, []
        return
    with tempfile.TemporaryDirectory(prefix="heronpy-wheels-") as folder:
        wanted, wheels = os.path.join(folder, "requirements.txt"), os.path.join(folder, "wheels")
        with open(wanted, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        click.echo(f"collecting packages: {', '.join(map(os.path.relpath, files))}", err=True)
        problem = run_pip("wheel", "--wheel-dir", wheels, "--requirement", wanted, folder=root)
        if problem is not None:
            raise HeronError(
                f"the packages cannot be fetched: {problem} (--no-requirements: without)"
            )
        yield wheels, lines


@dataclass(frozen=True, slots=True)
class Chosen:
    """Content of the archive: a folder and its topologies."""

    root: str
    entries: tuple["Entry", ...]
    project: Project | None

    def requirements(self) -> list[str]:
        """The existing requirements files."""
        common = os.path.join(self.root, REQUIREMENTS_FILE)
        files = [common] if os.path.exists(common) else []
        if self.project is not None:
            for each in self.entries:
                stem = os.path.splitext(os.path.basename(each.file))[0]
                files += requirement_files(self.project.virtualenv_folder, stem)
        return files


def _chosen(file: str | None, name: str | None, config_file: str | None) -> Chosen:
    from heron_engine.scheduler.packaging.archive import Entry

    if file is None:
        project = required(project_here(config_file), "without FILE this command")
        files = project.topology_files()
        if name is not None or not files:
            files = dict([project.topology_file(name)])
        entries = (Entry(each, os.path.relpath(path, project.root)) for each, path in files.items())
        return Chosen(project.root, tuple(entries), project)
    if not os.path.isfile(file):
        raise UsageError(f"{file} does not exist")
    path = os.path.abspath(file)
    own_project = project_here(config_file) if config_file is not None else project_of_file(file)
    root = os.path.dirname(path) if own_project is None else own_project.root
    stem = os.path.splitext(os.path.basename(path))[0]
    return Chosen(root, (Entry(name or stem, os.path.relpath(path, root), name),), own_project)


def _package(
    chosen: Chosen, output_file: str | None, requirements: tuple[str, ...], without: bool
) -> None:
    from importlib.metadata import version

    from heron_engine.scheduler.packaging.archive import Manifest, this_python, write_archive

    project = os.path.basename(chosen.root) or "project"
    named_after = project if chosen.project is not None else chosen.entries[0].name
    output = output_file or f"{named_after}.tar.gz"
    if not output.endswith(ARCHIVE_ENDINGS):
        raise UsageError(
            f"--output-file {output}: its name must end in .tar.gz, so that run knows it"
        )
    files = [] if without else list(requirements) or chosen.requirements()
    with _wheels(files, chosen.root) as (wheels, lines):
        manifest = Manifest(
            project,
            chosen.entries,
            tuple(line for line in lines if not line.startswith("-")),
            this_python(),
            version("heronpy-topologies"),
        )
        try:
            number = write_archive(output, manifest, chosen.root, wheels)
        except OSError as error:
            raise HeronError(f"{output} cannot be written: {error.strerror or error}") from None
        packages = len(os.listdir(wheels)) if wheels else 0
    names = ", ".join(entry.name for entry in chosen.entries)
    click.echo(f"{output}: {number - packages} files, {packages} packages; topologies: {names}")
