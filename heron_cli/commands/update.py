"""`heronpy update`: parallelism, code or engine of a running topology."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click

from heron_cli.cluster_operations import (
    cancel_on_cluster,
    take_up_update,
    update_on_cluster,
    upgrade_on_cluster,
)
from heron_cli.code_update import CodeOptions, wanted_code
from heron_cli.engine_update import EngineChange, engine_change, image_change
from heron_cli.operations import ask, ask_to_wait, self_running
from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import RunningTopology
from heron_cli.start_time import start_time
from heron_core.errors import HeronError, UsageError
from heron_core.number_text import counted
from heron_core.operations import AT, OperationKind
from heron_core.plans import PackingPlan, packing_from_json, packing_to_json
from heron_core.state.backup import check_containers
from heron_core.state_tree import packing_path, topology_path
from heron_core.topology import TopologySpec, topology_from_json
from heron_core.typed_json import to_json
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.backends.registry import LOCAL
from heron_engine.scheduler.container.engines import InstalledEngine
from heron_engine.scheduler.later_updates import code_change, numbers_wanted, wanted_plan
from heron_engine.scheduler.machine_limits import check_this_machine
from heron_engine.scheduler.operation_kinds import ENGINE, PACKING, WANTED, shown_time
from heron_engine.scheduler.packaging.stored_code import put_code
from heron_engine.scheduler.packing import algorithm_name, repack
from heron_engine.scheduler.packing.render import render_update


@click.command("update")
@target_options()
@click.option(
    "--component-parallelism",
    "parallelisms",
    multiple=True,
    metavar="COMPONENT:N",
    help="Set the parallelism of a component. Repeatable.",
)
@click.option(
    "--container-number",
    "containers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Set the number of containers; the instances are spread evenly over them.",
)
@click.option(
    "--code",
    metavar="FILE",
    type=click.Path(),
    help="New code: replace the components that FILE changes; any FILE of `submit` is valid.",
)
@click.option(
    "--allow-non-restored",
    is_flag=True,
    help="With --code: drop the state of removed components.",
)
@click.option(
    "--engine",
    is_flag=True,
    help="Replace the engine, container by container, by the heronpy of this command.",
)
@click.option(
    "--python",
    metavar="PATH",
    help="With --engine: use the heronpy of this Python, for example another environment's.",
)
@click.option(
    "--at",
    metavar="TIME",
    help="Schedule the update: 2026-12-01T03:00 or +1h30m. The command returns at once.",
)
@click.option(
    "--cancel",
    is_flag=True,
    help="Cancel the scheduled update, or the running update while a rollback is possible.",
)
@click.option(
    "--runtime-config",
    multiple=True,
    metavar="[COMPONENT:]KEY:VALUE",
    help="Not supported: submit the topology again with the setting.",
)
@click.option("--dry-run", is_flag=True, help="Print the changes without making them.")
def update_command(
    target: Target,
    parallelisms: Sequence[str],
    containers: int | None,
    code: str | None,
    allow_non_restored: bool,
    engine: bool,
    python: str | None,
    at: str | None,
    cancel: bool,
    runtime_config: Sequence[str],
    dry_run: bool,
) -> None:
    """Change the running topology NAME: other numbers of instances or containers, new code, or
    another version of heronpy.

    Instances that are not moved keep running and keep their state. Spouts pause during the switch.
    In EFFECTIVELY_ONCE the state of a key moves with the key, exactly.

    \b
    heronpy update wordcount --component-parallelism count:4
    heronpy update wordcount --container-number 2 --dry-run
    heronpy update wordcount --code word_count_2.py --at 2026-12-01T03:00
    heronpy update wordcount --engine
    """
    wanted = _parallelism(parallelisms)
    new_code = CodeOptions(code, allow_non_restored)
    given = {
        "--component-parallelism": wanted,
        "--container-number": containers,
        "--runtime-config": runtime_config,
        "--code": code,
        "--engine": engine,
        "--cancel": cancel,
    }
    _check(given, new_code, python, at, dry_run)
    time = None if at is None else start_time(at, datetime.now().astimezone())
    name = target.name()
    with target.running(name) as topology:
        if cancel:
            _cancel(topology, target.store_options.config_path)
            click.echo(f"{name}: the update is cancelled")
            return
        cluster = None if dry_run else self_running(topology, target.store_options.config_path)
        if cluster is not None:
            take_up_update(topology, cluster)
        spec, current = _known(topology)
        how = How(time, dry_run, target.store_options.config_path)
        if engine:
            on_cluster = self_running(topology, target.store_options.config_path)
            if on_cluster is not None and on_cluster.engine is not None:
                _change_image(topology, on_cluster, on_cluster.engine, current, python, how)
            else:
                _change_engine(topology, engine_change(topology, spec, current, python), how)
        elif code is not None:
            _change_code(topology, spec, current, new_code, how)
        else:
            _change_numbers(topology, spec, current, WantedNumbers(wanted, containers), how)


@dataclass(frozen=True, slots=True)
class How:
    """Options of a change."""

    time: float | None
    """Start time, in seconds since 1970; None: now."""
    dry_run: bool
    config_path: str | None


@dataclass(frozen=True, slots=True)
class WantedNumbers:
    """Requested numbers of instances and containers."""

    instances: Mapping[str, int]
    containers: int | None


def _change_numbers(
    topology: RunningTopology,
    spec: TopologySpec,
    current: PackingPlan,
    want: WantedNumbers,
    how: How,
) -> None:
    name = topology.name
    # Containers are local processes here, with the capacity of the machine.
    grow = (topology.scheduler or {}).get("kind") == LOCAL
    plan = repack(spec, current, want.instances, want.containers, grow)
    check_containers(spec, plan)
    if grow:
        check_this_machine(plan)
    if plan == current:
        click.echo(f"nothing to update: {name} has {_numbers(current, want.instances)} already")
        return
    if how.dry_run:
        click.echo(render_update(current, plan, algorithm_name(spec.config)))
        return
    summary = _summary(current, plan)
    cluster = self_running(topology, how.config_path)
    if how.time is not None:
        wanted = numbers_wanted(want.instances, want.containers, grow)
        _ask_later(
            topology, OperationKind.UPDATE, {WANTED: wanted}, how.time, summary, cluster is None
        )
        return
    _update(topology, plan, cluster)
    click.echo(f"{name} is updated: {summary}")


def _change_code(
    topology: RunningTopology,
    spec: TopologySpec,
    current: PackingPlan,
    options: CodeOptions,
    how: How,
) -> None:
    cluster = self_running(topology, how.config_path)
    in_folder = None if cluster is None else cluster.code_folder
    wanted, archives = wanted_code(topology, spec, options, in_folder)
    change = code_change(wanted, spec, current)
    for note in change.notes:
        click.echo(note, err=True)
    if change.is_nothing:
        click.echo(f"nothing to update: {topology.name} runs this code already")
        return
    plan = wanted_plan(wanted, spec, current)
    if how.dry_run:
        click.echo(f"{change}\n\n{render_update(current, plan, algorithm_name(spec.config))}")
        return
    if how.time is None or cluster is None:
        put_code(topology.store, topology.name, archives, in_folder)
    if how.time is not None:
        arguments = {WANTED: wanted}
        _ask_later(
            topology, OperationKind.UPDATE, arguments, how.time, str(change), cluster is None
        )
        return
    _update(topology, plan, cluster)
    click.echo(f"{topology.name} is updated: {change}")


def _change_engine(topology: RunningTopology, change: EngineChange, how: How) -> None:
    arguments = {ENGINE: to_json(change.engine)}
    if how.dry_run:
        click.echo(str(change))
    elif how.time is not None:
        _ask_later(topology, OperationKind.UPGRADE, arguments, how.time, str(change))
    else:
        ask(topology, OperationKind.UPGRADE, arguments)
        click.echo(f"{topology.name} runs heronpy {change.engine.version} in all containers")


def _change_image(
    topology: RunningTopology,
    cluster: SelfRunning,
    engine: InstalledEngine,
    current: PackingPlan,
    python: str | None,
    how: How,
) -> None:
    """The image of the cluster's file for all containers, one after the other."""
    if python is not None:
        raise UsageError("--python names the engine of local topologies; the image has its own")
    if how.dry_run:
        click.echo(str(image_change(topology, engine, current)))
        return
    if how.time is not None:
        _ask_later(topology, OperationKind.UPGRADE, {}, how.time, str(engine), has_scheduler=False)
    upgrade_on_cluster(topology, cluster, engine)
    click.echo(f"{topology.name} runs {engine} in all containers")


def _ask_later(
    topology: RunningTopology,
    kind: OperationKind,
    arguments: Mapping[str, Any],
    time: float,
    what: str,
    has_scheduler: bool = True,
) -> None:
    """Store a scheduled request; HeronError without a scheduler to carry out the request."""
    if not has_scheduler:
        raise UsageError(
            f"{topology.name} runs on a cluster without a scheduler of ours, where --at is not "
            "supported: schedule this command with cron or at"
        )
    ask_to_wait(topology, kind, {**arguments, AT: time})
    click.echo(f"{topology.name} will be updated at {shown_time(time)}: {what}")
    click.echo(f"to cancel the update: heronpy update {topology.name} --cancel", err=True)


def _parallelism(words: Sequence[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for word in words:
        component, _, number = word.rpartition(":")
        try:
            numbers[component] = int(number)
        except ValueError:
            component = ""
        if not component:
            raise UsageError(
                f"--component-parallelism {word!r}: use COMPONENT:N, for example count:4"
            )
    return numbers


def _check(
    given: Mapping[str, Any],
    new_code: CodeOptions,
    python: str | None,
    at: str | None,
    dry_run: bool,
) -> None:
    """UsageError for options, by their names, that make no sense together."""
    names = [name for name, value in given.items() if value]
    config = given["--runtime-config"]
    if config and len(names) > 1:
        raise UsageError(
            "--runtime-config excludes --component-parallelism and --container-number: run two "
            "updates"
        )
    if config:
        raise UsageError(
            "--runtime-config is not supported: kill the topology and submit it again with "
            f"-o {config[0].rpartition(':')[0] or 'KEY'}=VALUE"
        )
    new_code.check()
    for name in ("--code", "--engine", "--cancel"):
        others = [each for each in names if each != name]
        if name in names and others:
            raise UsageError(f"{name} and {others[0]} exclude each other: run two updates")
    if python is not None and not given["--engine"]:
        raise UsageError("--python requires --engine")
    if given["--cancel"] and (at is not None or dry_run):
        raise UsageError("--cancel is done at once: leave --at and --dry-run out")
    if not names:
        raise UsageError(
            "nothing to update: give --component-parallelism COMPONENT:N, --container-number N, "
            "--code FILE or --engine"
        )


def _known(topology: RunningTopology) -> tuple[TopologySpec, PackingPlan]:
    spec, packing = (
        topology.store.get(path(topology.name)) for path in (topology_path, packing_path)
    )
    if spec is None or packing is None:
        raise HeronError(
            f"{topology.name} is still starting, or has just ended: try again in a few seconds"
        )
    current = packing_from_json(packing)
    return current.topology_of(topology_from_json(spec)), current


def _cancel(topology: RunningTopology, config_path: str | None) -> None:
    """Cancel the scheduled or running update; HeronError if none exists, or too late."""
    cluster = self_running(topology, config_path)
    if cluster is None:
        ask(topology, OperationKind.CANCEL, {})
    else:
        cancel_on_cluster(topology, cluster)


def _update(topology: RunningTopology, plan: PackingPlan, cluster: SelfRunning | None) -> None:
    """Request the update and wait for the end; HeronError if aborted."""
    if cluster is None:
        ask(topology, OperationKind.UPDATE, {PACKING: packing_to_json(plan)})
    else:
        update_on_cluster(topology, cluster, plan)


def _numbers(plan: PackingPlan, wanted: Mapping[str, int]) -> str:
    """The request, in words."""
    numbers = [f"{component} {number}" for component, number in wanted.items()]
    return ", ".join((*numbers, counted(len(plan.containers), "container")))


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
