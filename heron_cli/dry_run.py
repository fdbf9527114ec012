"""What `--dry-run` shows."""

from typing import TYPE_CHECKING

import click

from heron_spark.options import ENGINE

if TYPE_CHECKING:
    from heron_engine.scheduler.backends.protocol import Backend
    from heron_engine.scheduler.submission import Submission


def show_plan(submission: "Submission", backend: "Backend", form: str) -> None:
    """Print the packing plan, and what its back end would start besides; of a query, which has no
    containers, only the latter. JSON stays JSON: then the preview goes to stderr."""
    if form == "json" or backend.kind != ENGINE:
        click.echo(_packing_text(submission, form))
    if preview := backend.preview(submission):
        click.echo(preview, err=form == "json")


def _packing_text(submission: "Submission", form: str) -> str:
    from heron_engine.scheduler.packing import algorithm_name
    from heron_engine.scheduler.packing.render import render

    return render(submission.packing, algorithm_name(submission.topology.config), form)
