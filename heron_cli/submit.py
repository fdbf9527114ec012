"""`heronpy submit`: a topology in the background; it survives the shell."""

import os
import time
from dataclasses import replace
from typing import Any

import click

from heron_cli.flags import SparseCommand, ignored, stacked
from heron_cli.loading import load_in_child
from heron_cli.prepare import Wishes, changed, configured, dry_run_text, packed, wishes_options
from heron_cli.source import Source, SourceWords, located, source_options
from heron_cli.stores import store_url, zookeeper_option
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, TopologyState
from heron_core.topology import TopologySpec

READY_SECS = 30.0
"""A topology whose instances are not all there after this long has a problem worth telling."""
LOOK_SECS = 0.05

sparse_options = stacked(
    ignored("-j", "--local-jar-path", metavar="FILE"),
    ignored("-R", "--remote-jar-path", metavar="PATH"),
    ignored("-u", "--uber-jar"),
    ignored("-r", "--requirements", metavar="FILE...", multiple=True),
    ignored("--overwrite-virtualenv"),
    ignored("--pool-size", metavar="N"),
    ignored("--timeout", metavar="MS"),
    ignored("--user", metavar="USER"),
)


@click.command("submit", cls=SparseCommand)
@source_options
@wishes_options
@click.option(
    "-f", "--force", is_flag=True, help="Kill a topology of the same name first, if one runs."
)
@click.option(
    "-i",
    "--inactive",
    "--deactivated",
    "deactivated",
    is_flag=True,
    help="Start it paused; `heronpy activate` lets it go.",
)
@click.option(
    "--wait",
    "wait_secs",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="With --force: how long what is in flight of the old one may take to be processed.",
)
@click.option("--no-hooks", is_flag=True, help="Do not call the project's pre_submit, post_submit.")
@zookeeper_option
@sparse_options
def submit_command(
    words: SourceWords,
    wishes: Wishes,
    dry_run: bool,
    dry_run_format: str,
    force: bool,
    deactivated: bool,
    wait_secs: float,
    no_hooks: bool,
    zookeeper: str | None,
) -> int:
    """Start a topology in the background, and return when all its instances run.

    FILE is a Python file, a Flux file (.yaml), or an archive made by `heronpy package`. Without
    it, the current folder's project has the topology: topologies/NAME.py for -n NAME. The project's
    pre_submit and post_submit (in tasks.py or fabfile.py) are called before and after.

    \b
    heronpy submit topology.py -N words
    heronpy submit -n wordcount -e prod --force
    heronpy stats words; heronpy tail words -f; heronpy kill words
    """
    source = located(words)
    if deactivated:
        paused = f"topology.initial.state={TopologyState.PAUSED}"
        wishes = replace(wishes, options=(*wishes.options, paused))
    spec = configured(load_in_child(source.request).result(), source, wishes)
    if dry_run:
        click.echo(dry_run_text(spec, packed(spec), dry_run_format))
        return 0
    hooked = None if no_hooks else source
    spec = _before(spec, hooked)
    packing = packed(spec)
    address = zookeeper or source.environment.zookeeper
    if force:
        _kill_old(spec.name, address, wait_secs)
    logs = _submitted(spec, packing, store_url(address))
    click.echo(
        f"{spec.name} runs: {len(packing.instances)} instances, "
        f"{len(packing.containers)} containers, logs in {logs}"
    )
    _after(spec, hooked)
    return 0


def _before(spec: TopologySpec, source: Source | None) -> TopologySpec:
    """The topology as the project's pre_submit leaves it."""
    if source is None or source.project is None:
        return spec
    from heron_cli.hooks import pre_submit

    return changed(
        spec, pre_submit(source.project.root, spec.name, source.environment, spec.config)
    )


def _after(spec: TopologySpec, source: Source | None) -> None:
    if source is not None and source.project is not None:
        from heron_cli.hooks import post_submit

        post_submit(source.project.root, spec.name, source.environment, spec.config)


def _kill_old(name: str, address: str | None, wait_secs: float) -> None:
    from heron_cli.control import end
    from heron_cli.running import running
    from heron_cli.stores import opened
    from heron_cli.target import running_names

    with opened(address) as store:
        runs = name in running_names(store)
    if runs:
        with running(name, address) as topology:
            end(topology, wait_secs)
        click.echo(f"{name} is killed")


def _submitted(spec: TopologySpec, packing: PackingPlan, url: str) -> str:
    """Start it and wait until it is up; returns the folder of its logs."""
    from scheduler.home import Home
    from scheduler.local import Launch, register, start

    home = Home.of_user()
    launch = Launch(spec, packing, url, home, foreground=False)
    register(launch)
    child = start(launch)
    # The daemon holds a lifeline of its own; ours must not end it.
    os.close(child.lifeline)
    _wait_until_ready(launch, packing, child.pid)
    return home.logs(spec.name)


def _wait_until_ready(launch: Any, packing: PackingPlan, scheduler: int) -> None:
    """Until every instance has reported; HeronError with what is missing or what failed."""
    from heron_cli.client import MasterClient
    from heron_io.state_store import open_store
    from scheduler.local import outcome_of

    name = launch.topology.name
    store = open_store(launch.store_url)
    client = MasterClient(store, name)
    deadline = time.monotonic() + READY_SECS
    up = 0
    try:
        while time.monotonic() < deadline:
            found = client.try_ask("stats", wait_secs=1.0)
            up = sum(each["up"] for each in found["components"].values()) if found else up
            if up == len(packing.instances):
                return
            if os.waitpid(scheduler, os.WNOHANG)[0]:
                outcome = outcome_of(launch.home, name)
                if outcome.get("state") == TopologyState.ENDED:
                    return
                raise HeronError(f"{name} failed: {outcome.get('reason', 'its scheduler died')}")
            time.sleep(LOOK_SECS)
    finally:
        client.close()
        store.close()
    raise HeronError(
        f"{name}: {up} of {len(packing.instances)} instances run after {READY_SECS:.0f} s; it was "
        f"left running: look at `heronpy tail {name}`, end it with `heronpy kill {name}`"
    )
