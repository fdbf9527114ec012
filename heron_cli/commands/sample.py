"""`heronpy sample`: the next tuples that a component of a running topology sends on a stream."""

import json

import click

from heron_cli.options.find_topology import Target, target_options
from heron_core.topology import DEFAULT_STREAM
from heron_io.stream_sample import COUNT, COUNT_MAX, SECS, SECS_MAX, WantedSample, sampled


@click.command("sample")
@target_options()
@click.argument("component")
@click.option(
    "-s",
    "--stream",
    default=DEFAULT_STREAM,
    show_default=True,
    metavar="STREAM",
    help="Stream to sample.",
)
@click.option(
    "-c",
    "--count",
    type=click.IntRange(1, COUNT_MAX),
    default=COUNT,
    show_default=True,
    metavar="COUNT",
    help="Number of tuples.",
)
@click.option(
    "-t",
    "--time",
    "seconds",
    type=click.IntRange(1, SECS_MAX),
    default=SECS,
    show_default=True,
    metavar="SECONDS",
    help="Timeout for the tuples, in seconds.",
)
def sample_command(target: Target, component: str, stream: str, count: int, seconds: int) -> None:
    """Print the next tuples that COMPONENT of the running topology NAME sends on a stream.

    Each is a line of JSON with the instance that has sent it; long values are cut. What nobody
    reads is not sent. Nothing is slower for it while no sample is asked for.

    \b
    heronpy sample wordcount split
    heronpy sample wordcount lines --stream errors --count 3
    """
    with target.running(target.name()) as topology:
        samples = sampled(topology.client.ask, WantedSample(component, stream, count, seconds))
    for sample in samples:
        click.echo(json.dumps(sample, ensure_ascii=False))
    if len(samples) < count:
        click.echo(
            f"{component} has sent {len(samples)} tuples on {stream} in {seconds} s", err=True
        )
