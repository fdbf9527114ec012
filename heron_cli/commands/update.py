"""`heronpy update`: more or fewer instances, or containers, of a topology that runs."""

from collections.abc import Mapping, Sequence

import click

from heron_cli.code_update import CodeOptions, code_change, plan_of
from heron_cli.number_text import counted
from heron_cli.operations import ClusterContainers, ask, follow, self_running
from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import RunningTopology
from heron_core.code_change import CodeChange
from heron_core.errors import HeronError, UsageError
from heron_core.operations import Kind
from heron_core.plans import PackingPlan, packing_from_json, packing_to_json
from heron_core.state_tree import packing_path, topology_path
from heron_core.topology import TopologySpec, topology_from_json
from scheduler.backends.registry import LOCAL
from scheduler.operation_steps import OperationSteps
from scheduler.packaging.stored_code import put_code
from scheduler.packing import algorithm_name, repack
from scheduler.packing.render import render_update


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
    "--code",
    metavar="FILE",
    type=click.Path(),
    help="New code: what has changed in FILE, which is all that `submit` takes, is replaced.",
)
@click.option(
    "--allow-non-restored",
    is_flag=True,
    help="With --code: drop the state of components that are no more.",
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
    code: str | None,
    allow_non_restored: bool,
    runtime_config: Sequence[str],
    dry_run: bool,
) -> None:
    """Change the running topology NAME: other numbers of instances or containers, or new code.

    What stays where it is runs on with its state; the spouts pause while the plan is switched. In
    EFFECTIVELY_ONCE keys take their state along to other instances, exactly.

    \b
    heronpy update wordcount --component-parallelism count:4
    heronpy update wordcount --container-number 2 --dry-run
    heronpy update wordcount --code word_count_2.py
    """
    wanted = _parallelism(parallelisms)
    new_code = CodeOptions(code, allow_non_restored)
    new_code.check(
        {
            "--component-parallelism": wanted,
            "--container-number": containers,
            "--runtime-config": runtime_config,
        }
    )
    if code is None:
        _check(wanted, containers, runtime_config)
    name = target.name()
    with target.running(name) as topology:
        spec, current = _known(topology)
        if code is not None:
            change = _change_code(topology, spec, current, new_code, dry_run)
            if change is not None:
                _update(topology, plan_of(current, change), target.store_options.config_path)
                click.echo(f"{name} is updated: {change}")
            return
        # Here containers are processes, which have as much room as this machine.
        grow = (topology.scheduler or {}).get("kind") == LOCAL
        plan = repack(spec, current, wanted, containers, grow)
        if plan == current:
            click.echo(f"nothing changes: {name} has {_numbers(current, wanted)} already")
            return
        if dry_run:
            click.echo(render_update(current, plan, algorithm_name(spec.config)))
            return
        _update(topology, plan, target.store_options.config_path)
    click.echo(f"{name} is updated: {_summary(current, plan)}")


def _change_code(
    topology: RunningTopology,
    spec: TopologySpec,
    current: PackingPlan,
    options: CodeOptions,
    dry_run: bool,
) -> CodeChange | None:
    """The change, with its code where the containers find it; None if nothing is to be done."""
    change, archives = code_change(topology, spec, current, options)
    for note in change.notes:
        click.echo(note, err=True)
    if change.is_nothing:
        click.echo(f"nothing changes: {topology.name} runs by this code already")
        return None
    if dry_run:
        plan = plan_of(current, change)
        click.echo(f"{change}\n\n{render_update(current, plan, algorithm_name(spec.config))}")
        return None
    put_code(topology.store, topology.name, archives)
    return change


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
            "nothing to update: give --component-parallelism COMPONENT:N, --container-number N or "
            "--code FILE"
        )


def _known(topology: RunningTopology) -> tuple[TopologySpec, PackingPlan]:
    spec, packing = (
        topology.store.get(path(topology.name)) for path in (topology_path, packing_path)
    )
    if spec is None or packing is None:
        raise HeronError(f"{topology.name} is still starting, or has just ended")
    current = packing_from_json(packing)
    return current.topology_of(topology_from_json(spec)), current


def _update(topology: RunningTopology, plan: PackingPlan, config_path: str | None) -> None:
    """Have it done, and wait until it is; HeronError if it is given up."""
    cluster = self_running(topology, config_path)
    if cluster is None:
        ask(topology, Kind.UPDATE, {"packing": packing_to_json(plan)})
        return
    containers = ClusterContainers(cluster, topology.name, topology.store)
    follow(OperationSteps(topology.store, topology.name, topology.client, containers).update(plan))


def _numbers(plan: PackingPlan, wanted: Mapping[str, int]) -> str:
    """What was asked for, as it is."""
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
