"""`heronpy visualize`: a topology as a picture."""

import os
import sys

import click

from heron_cli.configure import configured
from heron_cli.loading import load_in_child
from heron_cli.options.common import SparseCommand
from heron_cli.options.source import SourceOptions, with_source_options
from heron_cli.options.topology import TopologyOptions
from heron_cli.resolve_source import resolve
from heron_core.errors import HeronError, UsageError
from heron_core.records import replace
from heron_graph.render import FORMATS, render

STDOUT = "-"


@click.command("visualize", cls=SparseCommand)
@with_source_options
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(FORMATS, case_sensitive=False),
    help="Default: by the ending of FILE in -o, else svg.",
)
@click.option(
    "-o",
    "--output-file",
    metavar="FILE",
    type=click.Path(),
    help="Output file, - for stdout; by default NAME.FORMAT.",
)
def visualize_command(
    source_options: SourceOptions, form: str | None, output_file: str | None
) -> None:
    """Draw a topology: its components, and with which groupings their streams go where.

    Nothing else is needed for SVG and DOT; PNG needs two packages
    (pip install 'heronpy-topologies[png]').

    \b
    heronpy visualize topology.py
    heronpy visualize -n wordcount -f png
    heronpy visualize topology.py -f dot -o - | dot -Tpdf > topology.pdf
    """
    source = resolve(source_options)
    request = replace(source.request, is_to_draw=True)
    spec = configured(load_in_child(request).result(), source, TopologyOptions())
    form = form or _form_of(output_file)
    data = render(spec, form.lower())
    if output_file == STDOUT:
        sys.stdout.buffer.write(data)
        return
    path = _with_ending(output_file or spec.name, form.lower())
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise HeronError(f"{path} cannot be written: {error.strerror}") from None
    click.echo(path)


def _form_of(path: str | None) -> str:
    ending = os.path.splitext(path or "")[1].removeprefix(".").lower()
    if path in (None, STDOUT) or not ending:
        return FORMATS[0]
    if ending not in FORMATS:
        raise UsageError(
            f"no format {ending!r} (formats: {', '.join(FORMATS)}); choose one with -f"
        )
    return ending


def _with_ending(path: str, form: str) -> str:
    """As in sparse, a name may come without its ending."""
    return path if path.lower().endswith(f".{form}") else f"{path}.{form}"
