"""`heronpy submit`: a topology in the background; it survives the shell."""

import os
import time
from typing import Any

import click

from heron_cli.loading import load_in_child
from heron_cli.prepare import Wishes, configured, dry_run_text, packed, topology_options
from heron_cli.stores import store_url, zookeeper_option
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, TopologyState

READY_SECS = 30.0
"""A topology whose instances are not all there after this long has a problem worth telling."""
LOOK_SECS = 0.05


@click.command("submit")
@topology_options
@click.option("--deactivated", is_flag=True, help="Start it paused; `heronpy activate` lets it go.")
@zookeeper_option
def submit_command(
    file: str,
    topology: str | None,
    name: str | None,
    options: tuple[str, ...],
    containers: int | None,
    dry_run: bool,
    dry_run_format: str,
    deactivated: bool,
    zookeeper: str | None,
) -> int:
    """Start the topology in FILE in the background, and return when all its instances run.

    \b
    heronpy submit topology.py --name words
    heronpy stats words; heronpy tail words -f; heronpy kill words
    """
    loading = load_in_child(file, topology)
    from scheduler.home import Home
    from scheduler.local import Launch, register, start

    if deactivated:
        options = (*options, f"topology.initial.state={TopologyState.PAUSED}")
    spec = configured(loading.result(), Wishes(file, topology, name, options, containers))
    packing = packed(spec)
    if dry_run:
        click.echo(dry_run_text(spec, packing, dry_run_format))
        return 0
    home = Home.of_user()
    launch = Launch(spec, packing, store_url(zookeeper), home, foreground=False)
    register(launch)
    child = start(launch)
    # The daemon holds a lifeline of its own; ours must not end it.
    os.close(child.lifeline)
    _wait_until_ready(launch, packing, child.pid)
    click.echo(
        f"{spec.name} runs: {len(packing.instances)} instances, "
        f"{len(packing.containers)} containers, logs in {home.logs(spec.name)}"
    )
    return 0


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
