"""`heronpy record`: incidents of a running topology's flight recorders, now."""

import time
from typing import Any

import click

from heron_cli.options.find_topology import Target, target_options
from heron_core.config import FLIGHT_RECORDER
from heron_core.errors import HeronError
from heron_core.typed_json import to_json
from heron_engine.scheduler.operations import requester
from heron_io.master_client import MasterClient
from heron_io.polling import POLL_SECS

SECS, SECS_MAX = 10, 600
"""An incident is written between two tuples: a busy call of user code delays the file."""


@click.command("record")
@target_options()
@click.option(
    "-c",
    "--component",
    default="",
    metavar="COMPONENT",
    help="Only this component's instances.",
)
@click.option(
    "-t",
    "--time",
    "seconds",
    type=click.IntRange(1, SECS_MAX),
    default=SECS,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for the files, in seconds.",
)
def record_command(target: Target, component: str, seconds: int) -> None:
    """Have the instances of the running topology NAME write their newest input and state as
    incidents, for `heronpy replay`.

    The topology runs with `topology.flight.recorder` on-demand or failure. Each line has an
    instance and its file on the machine of its container. Data flows on; each file is an event. The
    exit code is 1 if an instance has not written a file.

    \b
    heronpy record orders
    heronpy record orders --component total
    """
    with target.running(target.name()) as topology:
        outcome = _recorded(topology.client, component, seconds)
    answers = outcome["answers"]
    for answer in answers:
        click.echo(f"{answer['instance']}: {answer['text']}", err=not answer["written"])
    for instance in outcome["missing"]:
        click.echo(f"{instance}: has not answered within {seconds} s", err=True)
    asked = len(answers) + len(outcome["missing"])
    written = sum(answer["written"] for answer in answers)
    if written < asked:
        raise HeronError(
            f"no incident of {asked - written} of {asked} instances: run the topology with"
            f" {FLIGHT_RECORDER}=on-demand (docs/REPLAY.md)"
        )


def _recorded(client: MasterClient, component: str, seconds: int) -> dict[str, Any]:
    """The answers of all instances, or of those in time."""
    arguments = {"component": component, "requester": to_json(requester())}
    number = client.ask("record", arguments)["record"]
    deadline = time.monotonic() + seconds
    while True:
        found = client.ask("recorded", {"record": number})
        if not found["missing"] or time.monotonic() >= deadline:
            return found
        time.sleep(POLL_SECS)
