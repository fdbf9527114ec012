"""`heronpy update`: more or fewer instances, or containers, of a topology that runs."""

import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from heron_cli.commands.control import LOOK_SECS, self_running, until
from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError, UsageError
from heron_core.plans import (
    PackingPlan,
    packing_from_json,
    packing_to_json,
    physical_from_json,
)
from heron_core.state_tree import packing_path, physical_path, topology_path
from heron_core.topology import TopologySpec, topology_from_json
from heron_io.master_client import NoAnswer
from scheduler.backends.registry import LOCAL
from scheduler.packing import algorithm_name, repack
from scheduler.packing.render import render_update

STATS_SECS = 1.0
SILENT_SECS = 60.0
"""A master that was killed is replaced within seconds, on a cluster within a minute."""
STORED_SECS = 5.0
"""Until what the master has done stands in the state store."""
STEPS = {
    "containers": "waiting for added containers",
    "drain": "waiting until what is in flight is processed",
    "instances": "waiting for instances",
}
NAMED_MAX = 5


@click.command("update")
@target_options()
@click.option(
    "--component-parallelism",
    "parallelisms",
    multiple=True,
    metavar="COMPONENT:N",
    help="So many instances of the component from now on; may be repeated.",
)
@click.option(
    "--container-number",
    "containers",
    type=click.IntRange(min=1),
    metavar="N",
    help="So many containers from now on; the instances are spread evenly over them.",
)
@click.option(
    "--runtime-config",
    multiple=True,
    metavar="[COMPONENT:]KEY:VALUE",
    help="Not supported: submit the topology again with the setting.",
)
@click.option("--dry-run", is_flag=True, help="Print what would change and change nothing.")
def update_command(
    target: Target,
    parallelisms: Sequence[str],
    containers: int | None,
    runtime_config: Sequence[str],
    dry_run: bool,
) -> None:
    """Scale the running topology NAME: other numbers of instances or containers.

    What stays where it is runs on with its state; the spouts pause while the plan is switched.

    \b
    heronpy update wordcount --component-parallelism count:4
    heronpy update wordcount --container-number 2 --dry-run
    """
    wanted = _parallelism(parallelisms)
    _check(wanted, containers, runtime_config)
    name = target.name()
    with target.running(name) as topology:
        spec, current = _known(topology)
        plan = repack(spec, current, wanted, containers)
        if dry_run:
            click.echo(render_update(current, plan, algorithm_name(spec.config)))
            return
        _update(topology, current, plan, target.store_options.config_path)
    click.echo(f"{name} is updated: {_summary(current, plan)}")


def _parallelism(words: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        component, _, number = word.rpartition(":")
        try:
            found[component] = int(number)
        except ValueError:
            component = ""
        if not component:
            raise UsageError(f"--component-parallelism {word!r}: use COMPONENT:N, such as count:4")
    return found


def _check(wanted: dict[str, int], containers: int | None, config: Sequence[str]) -> None:
    if config and (wanted or containers):
        raise UsageError(
            "--runtime-config cannot be given together with --component-parallelism or "
            "--container-number"
        )
    if config:
        raise UsageError(
            "--runtime-config is not supported: kill the topology and submit it again with "
            f"-o {config[0].rpartition(':')[0] or 'KEY'}=VALUE"
        )
    if not wanted and containers is None:
        raise UsageError(
            "nothing to update: give --component-parallelism COMPONENT:N or --container-number N"
        )


def _known(topology: RunningTopology) -> tuple[TopologySpec, PackingPlan]:
    spec, packing = (
        topology.store.get(path(topology.name)) for path in (topology_path, packing_path)
    )
    if spec is None or packing is None:
        raise HeronError(f"{topology.name} is still starting, or has just ended")
    return topology_from_json(spec), packing_from_json(packing)


def _update(
    topology: RunningTopology, current: PackingPlan, plan: PackingPlan, config_path: str | None
) -> None:
    """Have it done, and wait until it is; HeronError if it is given up."""
    cluster = self_running(topology, config_path)
    before = {each.id for each in current.containers}
    after = {each.id for each in plan.containers}
    if (topology.scheduler or {}).get("kind") != LOCAL:
        _tell_of_growth(current, plan)
    added, removed = sorted(after - before), sorted(before - after)
    number = _begin(topology, plan)
    if cluster is not None and added:
        try:
            cluster.scale(topology.name, added, [])
        except HeronError as error:
            topology.client.try_ask("cancel", {"reason": str(error)})
            raise
    try:
        _wait(topology, plan, number)
    except GivenUp:
        if cluster is not None and added:
            cluster.scale(topology.name, [], added)
        raise
    if cluster is not None and removed:
        cluster.scale(topology.name, [], removed)


def _begin(topology: RunningTopology, plan: PackingPlan) -> int | None:
    """Tell the master, which numbers its updates. One that died with its answer may have stored the
    plan before: then its successor goes on with it, under a number that is not known."""
    try:
        answer = topology.client.ask("update", {"packing": packing_to_json(plan)})
    except NoAnswer:
        if _known(topology)[1] != plan:
            raise
        return None
    return int(answer["number"])


def _tell_of_growth(current: PackingPlan, plan: PackingPlan) -> None:
    """On a cluster a container that runs keeps what it was given."""
    had = {each.id: each.resource for each in current.containers}
    grown = [
        str(each.id)
        for each in plan.containers
        if each.id in had and each.resource.ram_bytes > had[each.id].ram_bytes
    ]
    if grown:
        click.echo(
            f"by plan containers need more memory now than the cluster gave them: "
            f"{', '.join(grown)}",
            err=True,
        )


class GivenUp(HeronError):
    """The master has given the update up: all is as it was."""


def _wait(topology: RunningTopology, plan: PackingPlan, number: int | None) -> None:
    """Show what it waits for until it is done. GivenUp with the reason if it is given up."""
    told, heard = "", time.monotonic()
    while True:
        stats = topology.client.try_ask("stats", wait_secs=STATS_SECS)
        if stats is not None:
            heard = time.monotonic()
            if not stats["update"]["under_way"]:
                break
            told = _tell(stats["update"], told)
        elif time.monotonic() - heard > SILENT_SECS:
            raise HeronError(
                f"the topology master of {topology.name} does not answer any more; its successor "
                f"goes on with the update: look at `heronpy stats {topology.name}`"
            )
        time.sleep(LOOK_SECS)
    _clear(told)
    last = stats["update"]
    is_given_up = last["reason"] and last["number"] == number
    # A master that took over may not know of our update; what counts is the plan that it runs.
    if is_given_up or not until(lambda: _runs_by(topology, plan), STORED_SECS):
        reason = last["reason"] or "another one came between"
        raise GivenUp(f"{topology.name} is not updated: {reason}")


def _runs_by(topology: RunningTopology, plan: PackingPlan) -> bool:
    found = topology.store.get(physical_path(topology.name))
    return found is not None and physical_from_json(found).packing == plan


def _tell(update: dict[str, Any], told: str) -> str:
    """Say what is waited for, if that is new: on a terminal in one line that changes, else in a
    line for each step. Returns what is told now."""
    text = STEPS[update["step"]]
    if not sys.stderr.isatty():
        if text != told:
            click.echo(text, err=True)
        return text
    names = update["waiting_for"]
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    text += f": {', '.join(names[:NAMED_MAX])}{more}" if names else ""
    click.echo(f"\r\x1b[K{text}", nl=False, err=True)
    return text


def _clear(told: str) -> None:
    if told and sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)


def _summary(before: PackingPlan, after: PackingPlan) -> str:
    changes = [
        f"{component} {len(before.tasks_of[component])} -> {len(tasks)}"
        for component, tasks in after.tasks_of.items()
        if len(tasks) != len(before.tasks_of[component])
    ]
    old, new = len(before.containers), len(after.containers)
    if old != new:
        changes.append(f"containers {old} -> {new}")
    return ", ".join(changes)
