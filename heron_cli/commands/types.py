"""`heronpy types`: the fields of a topology's streams as classes, for editors and type checkers."""

from pathlib import Path

import click

from heron_api.row_classes import row_module
from heron_cli.configure import configured
from heron_cli.loading import load_in_child
from heron_cli.options.common import SparseCommand
from heron_cli.options.source import SourceOptions, with_source_options
from heron_cli.options.topology import TopologyOptions
from heron_cli.resolve_source import resolve
from heron_core.errors import HeronError, UsageError


@click.command("types", cls=SparseCommand)
@with_source_options
@click.option(
    "-o", "--output-file", metavar="FILE", type=click.Path(), help="Output file; by default stdout."
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit with 1 if FILE in -o differs from the topology (for CI).",
)
def types_command(source_options: SourceOptions, output_file: str | None, check: bool) -> None:
    """Write a Python module with a class for each stream: its fields and their types.

    An editor then completes `tup["word"]` and `tup.word` in a `Bolt[Words]`, and a type checker
    rejects a misspelt field. Nothing changes at run time.

    \b
    heronpy types topology.py
    heronpy types -n wordcount -o rows.py
    heronpy types -n wordcount -o rows.py --check
    """
    if check and output_file is None:
        raise UsageError("--check compares a file: name it with -o")
    source = resolve(source_options)
    spec = configured(load_in_child(source.request).result(), source, TopologyOptions())
    text = row_module(spec)
    if output_file is None:
        click.echo(text, nl=False)
    elif check:
        _compare(Path(output_file), text, spec.name)
    else:
        _write(Path(output_file), text)
        click.echo(output_file)


def _compare(path: Path, text: str, topology: str) -> None:
    """HeronError unless the file has the text; line endings do not count."""
    try:
        written = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HeronError(f"{path} cannot be read: {_reason(error)}") from None
    if written != text:
        raise HeronError(
            f"{path} differs from the outputs of {topology}: write it again by heronpy types"
            f" with -o {path}, without --check"
        )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise HeronError(f"{path} cannot be written: {_reason(error)}") from None


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return str(error.strerror if isinstance(error, OSError) else error)
