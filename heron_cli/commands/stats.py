"""`heronpy stats`: the numbers of one topology, or a line for each that runs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from heron_cli.commands.list_topologies import NOTHING_RUNS, summaries, summaries_text
from heron_cli.options.find_topology import Target, target_options
from heron_cli.stats_text import (
    components_text,
    dropped_lines,
    error_lines,
    pause_lines,
    size,
    text_table,
    whole,
)
from heron_core.errors import UsageError
from heron_core.stats import InstanceStats, TopologyStats
from heron_core.typed_json import to_json

Instances = Mapping[str, Sequence[InstanceStats]]
"""component -> its instances."""


@click.command("stats")
@target_options()
@click.option("-c", "--component", metavar="COMPONENT", help="The instances of one component too.")
@click.option("--all", "every", is_flag=True, help="The instances of every component too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
def stats_command(target: Target, component: str | None, every: bool, as_json: bool) -> None:
    """Show the numbers of the topology NAME, as its master has them now.

    Without NAME, of the only one that runs; when several run, one line for each.

    \b
    heronpy stats wordcount
    heronpy stats wordcount -c count_bolt
    heronpy stats --all --json
    """
    name = target.given or target.only_running()
    if name is None and component is None and not every:
        _overview(target, as_json)
        return
    name = name or target.name()
    stats, instances, waiting = _ask(target, name, component, every)
    if as_json:
        shown = stats.to_json()
        if instances:
            shown["instances"] = to_json(instances if every else instances[component or ""])
        click.echo(json.dumps(shown, indent=1))
    else:
        _print(stats, instances)
        if waiting:
            click.echo(waiting)


def _ask(
    target: Target, name: str, component: str | None, every: bool
) -> tuple[TopologyStats, Instances, str]:
    """The topology's numbers, component -> its instances' for those that were asked for, and what
    its scheduler says that it waits for."""
    with target.running(name) as topology:
        waiting = str((topology.scheduler or {}).get("waiting", ""))
        stats = topology.client.stats(component)
        known = list(stats.components)
        if component is not None and component not in known:
            listed = ", ".join(known)
            raise UsageError(f"{name} has no component {component!r} (its components: {listed})")
        instances = {} if component is None else {component: stats.instances or ()}
        for name_of_component in known if every else ():
            answer = topology.client.stats(name_of_component)
            instances[name_of_component] = answer.instances or ()
    return stats, instances, waiting


def _overview(target: Target, as_json: bool) -> None:
    """What `sparse stats` shows without a name: the whole, then each topology."""
    with target.store_options.store() as store:
        found = summaries(store)
    if as_json:
        click.echo(json.dumps(found, indent=1))
    elif not found:
        click.echo(NOTHING_RUNS)
    else:
        total = {key: sum(each[key] for each in found) for key in ("containers", "instances")}
        click.echo("# Cluster summary")
        row = (str(len(found)), *map(str, total.values()))
        click.echo(text_table(("topologies", *total), [row]))
        click.echo("\n# Topology summary")
        click.echo(summaries_text(found))


def _print(stats: TopologyStats, instances: Instances) -> None:
    click.echo(f"{stats.topology}  {stats.state}  epoch {stats.epoch}")
    click.echo(components_text(stats))
    for component, rows in instances.items():
        click.echo(f"\n# Instances of {component}")
        click.echo(_instances_text(stats, rows))
        metrics = stats.components[component].user
        if metrics:
            click.echo(f"\n# Metrics of {component}, over all its instances")
            click.echo(metrics_text(metrics))
    for line in (*error_lines(stats), *pause_lines(stats), *dropped_lines(stats)):
        click.echo(line)


def metrics_text(metrics: Mapping[str, Any]) -> str:
    """What user code registered: a row for each metric, or each key of one with several."""
    rows = [
        (name, str(key), str(value))
        for name, each in metrics.items()
        for key, value in (each.items() if isinstance(each, dict) else [("", each)])
    ]
    return text_table(("metric", "key", "value"), rows)


def _instances_text(stats: TopologyStats, instances: Sequence[InstanceStats]) -> str:
    headings = ("task", "container", "pid", "restarts", "emitted/s", "executed/s", "executed",
                "acked", "failed", "pending", "queue", "capacity", "cpu", "memory",
                "paused")  # fmt: skip
    paused = stats.paused
    rows = [
        (
            str(each.task),
            str(each.container),
            str(each.pid or ""),
            str(each.restarts),
            whole(each.emitted_per_sec),
            whole(each.executed_per_sec),
            whole(each.executed),
            whole(each.acked),
            whole(each.failed),
            whole(each.pending),
            size(each.queue_bytes),
            f"{each.capacity:.0%}",
            f"{each.cpu_share:.0%}",
            size(each.memory_bytes),
            f"{paused[each.task].share:.0%}" if each.task in paused else "",
        )
        for each in instances
    ]
    return text_table(headings, rows)
