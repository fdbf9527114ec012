"""`heronpy advise`: the parallelism a running topology needs, from its current load."""

import json
import os
import socket
import time
from collections.abc import Sequence
from typing import Any

import click

from heron_cli.component_table import plain_table
from heron_cli.options.find_topology import Target, target_options
from heron_cli.options.numbers import Seconds
from heron_cli.running_topology import RunningTopology
from heron_cli.stored_nodes import packing
from heron_cli.terminal import stdout_width
from heron_core.algorithms.autoscale.assessment import Assessment, assess
from heron_core.algorithms.autoscale.cores import within_cores
from heron_core.algorithms.autoscale.options import AutoscaleOptions
from heron_core.algorithms.autoscale.readings import Readings, ReadingsWindow, readings_of
from heron_core.errors import HeronError
from heron_core.number_text import short
from heron_core.records import replace
from heron_core.state_tree import topology_path
from heron_core.stats import EVERY_COMPONENT
from heron_core.topology import TopologySpec, topology_from_json
from heron_core.typed_json import to_json
from heron_engine.scheduler.autoscaling import pending_limits
from heron_io.process_usage import idle_core_secs

LOCAL = "local"
"""Kind of the scheduler whose containers all run on its own machine."""
POLL_SECS = 1.0
"""Interval of instances' metrics reports."""


@click.command("advise")
@target_options()
@click.option(
    "-t",
    "--time",
    "seconds",
    type=Seconds(min=2),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Duration of the measurement, in seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
def advise_command(target: Target, seconds: float, as_json: bool) -> None:
    """Print the number of instances that each bolt of the running topology NAME needs.

    The number is computed from the work of an instance for each tuple, and from the rate at which
    the spouts would emit without back-pressure. The command changes nothing. For a topology on this
    machine, the advice is limited by idle cores (a bolt that waits for a server needs next to no
    core). The topology's limits (topology.autoscale.*) are kept; with topology.autoscale.mode: on
    the topology scales by itself.

    \b
    heronpy advise wordcount
    heronpy advise wordcount --time 60 --json
    """
    name = target.name_or_only()
    with target.running(name) as topology:
        assessments = _assessed(topology, seconds)
    if as_json:
        click.echo(json.dumps({"topology": name, "components": to_json(assessments)}, indent=1))
        return
    click.echo(advice_table(assessments, stdout_width()))
    click.echo(summary(name, assessments))


def _assessed(topology: RunningTopology, seconds: float) -> tuple[Assessment, ...]:
    stored = topology.store.get(topology_path(topology.name))
    if stored is None:
        raise HeronError(f"{topology.name} has just ended")
    spec = packing(topology.store, topology.name).topology_of(topology_from_json(stored))
    window = ReadingsWindow(seconds)
    click.echo(f"looking at {topology.name} for {seconds:g} s", err=True)
    readings = _measured(topology, spec, window, seconds)
    loads = window.loads()
    if not loads or not window.is_full:
        why = readings.unsteady or "an instance was replaced, or the plan has changed"
        raise HeronError(f"not enough measurements of {topology.name} for advice: {why}; try again")
    assessed = assess(spec, loads, readings, AutoscaleOptions.of(spec))
    return within_cores(assessed, window.idle_share, readings.cores)


def _measured(
    topology: RunningTopology, spec: TopologySpec, window: ReadingsWindow, seconds: float
) -> Readings:
    """Fill the window; returns the last readings."""
    limits, began = pending_limits(spec), time.monotonic()
    while True:
        stats = topology.client.stats(EVERY_COMPONENT)
        now = time.monotonic()
        readings = replace(readings_of(stats, limits), **_cores_of(topology))
        window.add(readings, now)
        if window.is_full or now - began > seconds + POLL_SECS:
            return readings
        time.sleep(POLL_SECS)


def _cores_of(topology: RunningTopology) -> dict[str, Any]:
    """Idle and present cores, if this machine is the only one of the topology; otherwise empty."""
    scheduler = topology.scheduler or {}
    is_here = scheduler.get("kind") == LOCAL and scheduler.get("host") == socket.gethostname()
    return {"idle_secs": idle_core_secs(), "cores": os.cpu_count()} if is_here else {}


def advice_table(assessments: Sequence[Assessment], width: int | None = None) -> str:
    """A row for each bolt."""
    rows = [
        (
            assessment.component,
            str(assessment.instances),
            str(assessment.wanted),
            f"{assessment.utilization:.0%}",
            short(assessment.input_per_sec),
            "" if assessment.rate is None else short(assessment.rate),
            assessment.because,
        )
        for assessment in assessments
    ]
    headings = ("bolt", "instances", "advised", "busy", "input/s", "one does/s", "because")
    return plain_table(headings, rows, width)


def summary(name: str, assessments: Sequence[Assessment]) -> str:
    """The advised command in one line."""
    changes = [each for each in assessments if each.wanted != each.instances]
    if not changes:
        return "every component has the parallelism it needs"
    words = (f"--component-parallelism {each.component}:{each.wanted}" for each in changes)
    return f"heronpy update {name} {' '.join(words)}"
