"""`heronpy run-on-all`: a shell command beside each container of a running topology."""

import time
from collections.abc import Iterator

import click

from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError
from heron_core.typed_json import from_json, to_json
from heron_core.wire.messages import ShellRan
from heron_engine.scheduler.operations import requester
from heron_io.polling import POLL_SECS
from heron_spark.options import ENGINE

SECS, SECS_MAX = 30, 3600
OUTPUT_BYTES, OUTPUT_BYTES_MAX = 64 * 1024, 1024 * 1024
"""As in heron_engine.topology_master.shell_runs."""
ANSWER_SECS = 10.0
"""Beyond the command's own time: a stream manager answers within a tenth of a second."""
TIMED_OUT, DID_NOT_RUN = 124, 125
"""Exit codes, as those of timeout(1)."""


@click.command("run-on-all")
@target_options()
@click.argument("command", metavar="COMMAND")
@click.option(
    "-t",
    "--timeout",
    "seconds",
    type=click.IntRange(1, SECS_MAX),
    default=SECS,
    show_default=True,
    metavar="SECONDS",
    help="Time of the command on each host; then all its processes are killed.",
)
@click.option(
    "--output-limit",
    "output_bytes",
    type=click.IntRange(1, OUTPUT_BYTES_MAX),
    default=OUTPUT_BYTES,
    show_default=True,
    metavar="BYTES",
    help="Output of each container; the rest is counted.",
)
@click.pass_context
def run_on_all_command(
    context: click.Context, target: Target, command: str, seconds: int, output_bytes: int
) -> None:
    """Run the shell command COMMAND beside each container of the running topology NAME: on its
    host, in its folder, as its user, with its environment, and HERONPY_CONTAINER, HERONPY_TOPOLOGY
    and HERONPY_LOGS (the folder of its logs).

    Each line of output follows `container N on HOST:`, in the order in which the containers end;
    container 0 is the topology master's. The command has an empty stdin; processes in the
    background are killed at its end. The exit code is the highest of all: 124 where the time was
    over, 125 where the command did not run. The command is an event of the topology;
    `topology.run.on.all: off` forbids it.

    \b
    heronpy run_on_all wordcount hostname
    heronpy run_on_all wordcount 'df -h . && tail -n 2 $HERONPY_LOGS/*.log' --timeout 10
    """
    name = target.name()
    with target.running(name) as topology:
        if (topology.scheduler or {}).get("kind") == ENGINE:
            raise HeronError(f"{name} is a Spark query, which has no containers")
        results = _results(topology, command, seconds, output_bytes)
        codes = [_shown(each, seconds) for each in results]
    context.exit(max(codes, default=DID_NOT_RUN))


def _results(
    topology: RunningTopology, command: str, seconds: int, output_bytes: int
) -> Iterator[ShellRan]:
    """Results in the order of their arrival."""
    arguments = {"command": command, "secs": seconds, "bytes_max": output_bytes}
    begun = topology.client.ask("run", {**arguments, "requester": to_json(requester())})
    late_at = time.monotonic() + seconds + ANSWER_SECS
    known = 0
    try:
        while True:
            answer = topology.client.ask("ran", {"run": begun["run"], "known": known})
            known += len(answer["results"])
            yield from (from_json(ShellRan, each, "a result") for each in answer["results"])
            waiting = [int(each) for each in answer["waiting"]]
            if not waiting:
                return
            if time.monotonic() > late_at:
                yield from _silent(waiting, int(begun["run"]), seconds)
                return
            time.sleep(POLL_SECS)
    except KeyboardInterrupt:
        click.echo(f"\nthe command runs on, for at most {seconds} s", err=True)
        raise


def _silent(waiting: list[int], run: int, seconds: int) -> Iterator[ShellRan]:
    error = f"no answer {ANSWER_SECS:g} s after the {seconds} s of the command"
    return (ShellRan(container, run, "?", error=error) for container in waiting)


def _shown(result: ShellRan, seconds: int) -> int:
    """Print a result; returns its exit code."""
    location = f"container {result.container} on {result.host}"
    for line in result.output.splitlines():
        click.echo(f"{location}: {line}")
    if result.dropped_bytes:
        click.echo(
            f"{location}: {result.dropped_bytes:,} further bytes of output are left out "
            "(--output-limit)",
            err=True,
        )
    if result.error:
        click.echo(f"container {result.container}: {result.error}", err=True)
        return DID_NOT_RUN
    if result.is_late:
        click.echo(f"{location}: killed after {seconds} s (--timeout)", err=True)
        return TIMED_OUT
    if result.code:
        click.echo(f"{location}: exit code {result.code}", err=True)
    return result.code
