"""`heronpy chaos`: kill, stop and slow down processes of a running topology, and see it recover."""

import json
import signal

import click

from heron_cli.chaos.faults import ACTIONS, KINDS, chosen_actions, chosen_kinds
from heron_cli.options.find_topology import Target, target_options
from heron_cli.options.numbers import Seconds
from heron_cli.running_topology import tell_action
from heron_core.config import with_defaults
from heron_core.config.settings import restart_limit
from heron_core.state_tree import topology_path
from heron_io.state_store.protocol import StateStore


@click.command("chaos")
@target_options()
@click.option("-t", "--time", "secs", type=Seconds(min=1), default=60.0, show_default=True,
              metavar="SECONDS", help="For how long faults are caused.")  # fmt: skip
@click.option("--every", "mean_gap_secs", type=Seconds(min=0.5), default=3.0, show_default=True,
              metavar="SECONDS", help="Mean time between two faults.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), metavar="N",
              help="Draw the same faults as a run before; else any.")  # fmt: skip
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True,
              help="Harm only these processes. Repeatable; all kinds by default.")  # fmt: skip
@click.option("--action", "actions", type=click.Choice(ACTIONS), multiple=True,
              help="Only these: kill (-9), stop (SIGSTOP for seconds), slow (half of its time). "
              "Repeatable; all by default.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
def chaos_command(
    target: Target,
    secs: float,
    mean_gap_secs: float,
    seed: int | None,
    kinds: tuple[str, ...],
    actions: tuple[str, ...],
    as_json: bool,
) -> int:
    """Kill, stop and slow down processes of the running topology NAME at random, and tell how it
    recovers.

    Only processes of this user on this host are harmed. A line for each fault and each recovery
    goes to stderr, a table to stdout. At the end, and by Ctrl-C, all that is stopped is continued.

    Exit code 1 if a process does not come back within a minute or the topology is killed or fails,
    3 if tuples failed for good or were lost (as they may be at most once), else 0: also where a
    finite topology has done its work before the time is over. Whether results are exact is
    for the topology's own check to say.

    \b
    heronpy chaos wordcount
    heronpy chaos wordcount -t 300 --every 2 --seed 7
    heronpy chaos wordcount --kind topology-master --kind stream-manager --action kill
    """
    from heron_cli.chaos.chaos_run import ChaosRun, ChaosSettings, any_seed

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what is stopped is continued
    settings = ChaosSettings(
        secs=secs, mean_gap_secs=mean_gap_secs, seed=any_seed() if seed is None else seed,
        kinds=chosen_kinds(kinds), actions=chosen_actions(actions),
    )  # fmt: skip
    name = target.name()
    with target.running(name) as topology:
        _warn(topology.store, name)
        tell_action(topology, f"chaos for {secs:g} s, seed {settings.seed}")
        click.echo(f"harming {name} for {secs:g} s, seed {settings.seed}", err=True)
        report = ChaosRun(topology, settings, lambda line: click.echo(line, err=True)).run()
    click.echo(json.dumps(report.as_json(), indent=1) if as_json else report.text())
    return report.exit_code()


def _warn(store: StateStore, name: str) -> None:
    """A topology with a limit of restarts may fail by what is done to it."""
    stored = store.get(topology_path(name))
    config = stored.get("config", {}) if isinstance(stored, dict) else {}
    limit = restart_limit(with_defaults(config))
    if limit >= 0:
        warning = f"topology.restart.limit is {limit}: more faults of an instance end {name}"
        click.echo(f"warning: {warning}", err=True)
