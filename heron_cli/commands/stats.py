"""`heronpy stats`: the numbers of one topology, or a line for each running topology."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from heron_cli.commands.list_topologies import NOTHING_RUNS, summaries, summaries_text
from heron_cli.component_table import component_table, instance_table, plain_table
from heron_cli.operations import gone
from heron_cli.options.find_topology import Target, target_options
from heron_cli.run_result import shortfall_line
from heron_cli.running_topology import RunningTopology
from heron_cli.stats_text import (
    checkpoint_line,
    clock_lines,
    dropped_lines,
    error_lines,
    event_lines,
    hot_key_lines,
    log_level_lines,
    minimum_clock_lines,
    pause_lines,
    query_lines,
    start_error_lines,
    stuck_lines,
)
from heron_cli.terminal import stdout_width
from heron_core.ending_text import end_lines
from heron_core.errors import HeronError, UsageError
from heron_core.operations import Operation, OperationKind
from heron_core.records import replace
from heron_core.stats import EVERY_COMPONENT, InstanceStats, TopologyStats
from heron_core.typed_json import to_json
from heron_engine.scheduler.carriers import carrier_of
from heron_engine.scheduler.operations import TopologyRequests
from heron_engine.scheduler.outcomes import last_numbers_of, outcome_of
from heron_engine.scheduler.registration import is_alive
from heron_engine.scheduler.stored_outcomes import ended_text
from heron_engine.scheduler.user_folder import Home
from heron_io.master_client import NoAnswer
from heron_tracker.model.problems import summary

EVENTS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class TopologyNumbers:
    """Statistics of a topology."""

    stats: TopologyStats | None
    """None if the topology ended before the first report of its master."""
    instances: Mapping[str, Sequence[InstanceStats]]
    """component -> instances, for the requested components."""
    waiting: str = ""
    """Pending work of the scheduler, and open requests: a line each."""
    summary: str = ""
    """Current bottlenecks of a running topology."""


@click.command("stats")
@target_options()
@click.option(
    "-c", "--component", metavar="COMPONENT", help=("Also show the instances of this component.")
)
@click.option("--all", "every", is_flag=True, help="Also show the instances of every component.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
def stats_command(target: Target, component: str | None, every: bool, as_json: bool) -> None:
    """Show the metrics of the topology NAME, or its last ones if it has ended.

    Without NAME, those of the only running topology; if several run, one line for each.

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
    numbers, outcome = found_numbers(target, name, component, every)
    if as_json:
        click.echo(json.dumps(_json(numbers, outcome, component, every), indent=1))
    else:
        _print(numbers, outcome, name)
        if numbers.waiting:
            click.echo(numbers.waiting)


def _json(
    numbers: TopologyNumbers, outcome: Mapping[str, Any], component: str | None, every: bool
) -> dict[str, Any]:
    shown = {} if numbers.stats is None else numbers.stats.to_json()
    if numbers.instances:
        instances = numbers.instances if every else numbers.instances[component or ""]
        shown["instances"] = to_json(instances)
    return {**shown, "outcome": dict(outcome)} if outcome else shown


def found_numbers(
    target: Target, name: str, component: str | None, every: bool
) -> tuple[TopologyNumbers, dict[str, Any]]:
    """A topology's statistics, and its end if over; HeronError for an unknown topology."""
    home = Home.of_user()
    try:
        return _ask(target, name, component, every), {}
    except HeronError:
        outcome = outcome_of(home, name)
        if not outcome:
            raise
    last = last_numbers_of(home, name)
    if last is None:
        return TopologyNumbers(None, {}), outcome
    _check_component(last.stats, name, component)
    wanted = set(last.instances) if every else {component}
    chosen = {each: rows for each, rows in last.instances.items() if each in wanted}
    return TopologyNumbers(last.stats, chosen), outcome


def _ask(target: Target, name: str, component: str | None, every: bool) -> TopologyNumbers:
    """The topology's statistics, and component -> instance statistics for the requested
    components."""
    with target.running(name) as topology:
        waiting = "\n".join(_waiting(topology))
        stats = _stats(topology)
    _check_component(stats, name, component)
    rows = stats.instances or ()
    wanted = stats.components if every else () if component is None else (component,)
    instances = {component: [x for x in rows if x.component == component] for component in wanted}
    asked = None if component is None else tuple(instances[component])
    return TopologyNumbers(
        replace(stats, instances=asked), instances, waiting, summary(stats, time.time())
    )


def _waiting(topology: RunningTopology) -> Iterator[str]:
    if text := (topology.scheduler or {}).get("waiting"):
        yield str(text)
    for each in TopologyRequests(topology.store, topology.name).all().values():
        if not each.is_over:
            what = f"{each.kind} asked by {each.requester}: {each.progress or each.state}"
            yield what + _remedy(topology, each)


def _remedy(topology: RunningTopology, request: Operation) -> str:
    """Command that cancels a waiting request, or resumes a request whose command has ended."""
    if request.waits:
        return f"; cancel with `heronpy update {topology.name} --cancel`"
    if "pid" in (topology.scheduler or {"pid": 0}):
        return ""
    if carrier_of(topology.store, topology.name, request.kind) is not None:
        return ""
    ended, command = "; its command has ended: the next", f"`heronpy {request.kind} {topology.name}"
    if request.kind is OperationKind.UPDATE:
        return f"{ended} update resumes the request, {command} --cancel` cancels the request"
    return f"{ended} {command}` resumes the request"


def _stats(topology: RunningTopology) -> TopologyStats:
    """The master's answer with all instances; HeronError with a remedy without an answer."""
    try:
        return topology.client.stats(EVERY_COMPONENT)
    except NoAnswer:
        if not is_alive(topology.scheduler):
            raise gone(topology.name) from None
        raise


def _check_component(stats: TopologyStats, name: str, component: str | None) -> None:
    if component is not None and component not in stats.components:
        listed = ", ".join(stats.components)
        raise UsageError(f"{name} has no component {component!r}; its components: {listed}")


def _overview(target: Target, as_json: bool) -> None:
    """Output of `sparse stats` without a name: the totals, then each topology."""
    with target.store_options.store() as store:
        topologies = summaries(store)
    if as_json:
        click.echo(json.dumps(topologies, indent=1))
    elif not topologies:
        click.echo(NOTHING_RUNS)
    else:
        total = {
            key: sum(topology[key] for topology in topologies)
            for key in ("containers", "instances")
        }
        click.echo("# Cluster summary")
        row = (str(len(topologies)), *map(str, total.values()))
        click.echo(plain_table(("topologies", *total), [row]))
        click.echo("\n# Topology summary")
        click.echo(summaries_text(topologies, stdout_width()))


def _print(numbers: TopologyNumbers, outcome: Mapping[str, Any], name: str) -> None:
    stats, width = numbers.stats, stdout_width()
    if outcome:
        click.echo(f"{name} has ended: {ended_text(outcome)}")
    if stats is None:
        click.echo(f"The final statistics are lost. Events: `heronpy tail {name}`")
        return
    if not outcome:
        click.echo(f"{stats.topology}  {stats.state}  epoch {stats.epoch}{_engines(stats)}")
        click.echo(numbers.summary)
    if stats.checkpoints is not None:
        click.echo(checkpoint_line(stats.checkpoints))
    for line in (*clock_lines(stats), *minimum_clock_lines(stats)):
        click.echo(line)
    click.echo(component_table(stats, width, rates=not outcome))
    for component, rows in numbers.instances.items():
        click.echo(f"\n# Instances of {component}")
        click.echo(instance_table(stats, rows, width))
        metrics = stats.components[component].user
        if metrics:
            click.echo(f"\n# Metrics of {component}, summed over its instances")
            click.echo(metrics_text(metrics, stats.components[component].user_totals))
    ends = () if numbers.summary in end_lines(stats) else end_lines(stats)
    lines = (
        *ends, *stuck_lines(stats), *start_error_lines(stats), *error_lines(stats),
        *pause_lines(stats), *dropped_lines(stats), *hot_key_lines(stats),
        *query_lines(stats), *log_level_lines(stats),
        *event_lines(stats.events, EVENTS_SHOWN),
    )  # fmt: skip
    for line in lines:
        click.echo(line)
    if outcome and (incomplete := shortfall_line(stats)):
        click.secho(incomplete, fg="red", bold=True)


def _engines(stats: TopologyStats) -> str:
    """The running versions; several during an upgrade or after an aborted upgrade."""
    versions = {stats.version, *(each.version for each in stats.registered.values())}
    return f"  heronpy {', '.join(sorted(versions - {''}))}" if versions - {""} else ""


def metrics_text(metrics: Mapping[str, Any], totals: Mapping[str, Any]) -> str:
    """Metrics registered by user code: a row per metric, or per key of a multi-key metric."""
    rows = []
    for name, metric in metrics.items():
        total = totals.get(name, "")
        if isinstance(metric, dict):
            of = total if isinstance(total, dict) else {}
            rows += [(name, str(key), str(x), str(of.get(key, ""))) for key, x in metric.items()]
        else:
            rows.append((name, "", str(metric), str(total)))
    return plain_table(("metric", "key", "last bucket", "total"), rows)
