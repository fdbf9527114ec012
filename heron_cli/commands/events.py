"""`heronpy events`: crashes, pauses, updates and actions of a topology."""

import json
import os
from collections.abc import Sequence

import click

from heron_cli.commands.stats import found_numbers
from heron_cli.options.find_topology import Target, target_options
from heron_core.errors import HeronError
from heron_core.stats import TopologyStats
from heron_core.topology_events import EVENTS_MAX, EventKind, TopologyEvent, log_line
from heron_core.typed_json import to_json
from heron_engine.scheduler.outcomes import last_numbers_in
from heron_engine.scheduler.user_folder import Home


@click.command("events")
@target_options()
@click.option(
    "-l", "--num-lines", "most", type=click.IntRange(min=1), default=EVENTS_MAX, show_default=True,
    metavar="N", help="The newest N events that fit.",
)  # fmt: skip
@click.option(
    "--kind", "kinds", type=click.Choice([each.value for each in EventKind]), multiple=True,
    help="Only events of this kind. Repeatable.",
)  # fmt: skip
@click.option(
    "-p", "--previous", is_flag=True, help="The events of the previous run on this machine."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
def events_command(
    target: Target, most: int, kinds: tuple[str, ...], previous: bool, as_json: bool
) -> None:
    """Show the events of the topology NAME, the newest last: crashes, pauses, updates, actions.

    An `action` is a request of a user: submit, kill, activate, deactivate, update, restart,
    checkpoint, restore, chaos. The event has the user, the host, the client's address, and the way
    of the request: a command, REST, a page, Storm's Thrift interface, or the autoscaler.

    The topology master keeps the newest 100 events; `heronpy tail NAME --pattern events` shows
    older events. Without NAME, the events of the only running topology.

    \b
    heronpy events wordcount
    heronpy events wordcount --kind action
    heronpy events wordcount --previous
    heronpy events wordcount --json
    """
    name = target.name_or_only()
    stats = _previous(name) if previous else found_numbers(target, name, None, every=False)[0].stats
    if stats is None:
        option = "--previous " if previous else ""
        raise HeronError(
            f"the events of {name} were not kept at its end: look at `heronpy tail {name} {option}"
            "--pattern events`"
        )
    shown = _chosen(stats.events, kinds, most)
    if as_json:
        click.echo(json.dumps(to_json(shown), indent=1))
        return
    for event in shown:
        click.echo(log_line(event))


def _previous(name: str) -> TopologyStats | None:
    """Last statistics of the run before the present one, or the last; HeronError without it."""
    folder = Home.of_user().previous_logs(name)
    if not os.path.isdir(folder):
        raise HeronError(f"{name} had no previous run on this machine")
    last = last_numbers_in(folder)
    return None if last is None else last.stats


def _chosen(
    events: Sequence[TopologyEvent], kinds: Sequence[str], most: int
) -> list[TopologyEvent]:
    return [each for each in events if not kinds or each.kind in kinds][-most:]
