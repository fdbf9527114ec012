"""`heronpy restore`: a topology is restored from a checkpoint that is not its newest."""

import click

from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import tell_action
from heron_core.errors import HeronError
from heron_io.master_client import MasterClient
from heron_io.polling import wait_until

POLL_SECS = 0.1
PATIENCE_SECS = 60.0
"""A state of gigabytes takes so long; whoever waits longer looks at `heronpy stats`."""


@click.command("restore")
@target_options()
@click.option(
    "--checkpoint",
    "number",
    type=click.IntRange(min=1),
    required=True,
    metavar="NUMBER",
    help="Number of a retained checkpoint.",
)
def restore_command(target: Target, number: int) -> None:
    """Restore the topology NAME from an older checkpoint than its newest.

    A topology never does so by itself: what sinks have committed since then is committed again.

    \b
    heronpy restore wordcount --checkpoint 41
    """
    name = target.name()
    with target.running(name) as topology:
        topology.client.ask("restore", {"checkpoint": number})
        tell_action(topology, f"restore of checkpoint {number}")
        click.echo(
            f"{name} is being restored from checkpoint {number}: its sinks will repeat the "
            "output that they committed after the checkpoint",
            err=True,
        )
        failure = wait_until(lambda: _outcome(topology.client, number), PATIENCE_SECS, POLL_SECS)
    if failure is None:
        raise HeronError(f"{name} has not restored checkpoint {number} yet: `heronpy stats {name}`")
    if failure is not True:
        raise HeronError(f"checkpoint {number} cannot be restored: {failure}")
    click.echo(f"{name} was restored from checkpoint {number} and runs")


def _outcome(client: MasterClient, number: int) -> str | bool | None:
    """True when it is restored; why it is not, after some tries; None as long as it may be."""
    stats = client.try_stats()
    checkpoints = stats.checkpoints if stats is not None else None
    if checkpoints is None or checkpoints.restored != number:
        return None
    return checkpoints.released or checkpoints.restore_failure or None
