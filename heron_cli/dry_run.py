"""What `--dry-run` shows."""

from typing import TYPE_CHECKING

import click

from heron_cli.configure import dry_run_text
from heron_spark.options import ENGINE

if TYPE_CHECKING:
    from scheduler.backends.protocol import Backend
    from scheduler.submission import Submission


def show_plan(launch: "Submission", backend: "Backend", form: str) -> None:
    """Print the packing plan, and what its back end would start besides; of a query, which has no
    containers, only the latter. JSON stays JSON: then the preview goes to stderr."""
    if form == "json" or backend.kind != ENGINE:
        click.echo(dry_run_text(launch.topology, launch.packing, form))
    if preview := backend.preview(launch):
        click.echo(preview, err=form == "json")
