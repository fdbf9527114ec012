"""`heronpy worker_uptime` and `slot_usage`: Storm's workers and slots are containers here."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import click

from heron_cli.component_table import plain_table
from heron_cli.options.find_topology import StoreOptions, with_store_options
from heron_cli.running_topology import running_names
from heron_cli.stored_nodes import node, of_each, packing
from heron_core.number_text import duration
from heron_core.state_tree import execution_path
from heron_io.master_client import MasterClient
from heron_io.state_store.protocol import StateStore

Worker = dict[str, Any]

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for another program."
)


@click.command("worker_uptime")
@json_option
@with_store_options
def worker_uptime_command(as_json: bool, store_options: StoreOptions) -> None:
    """Show the uptime of the containers (Storm's workers) of all running topologies.

    It is the time since a container's stream manager registered with the topology master.

    \b
    heronpy worker_uptime
    """
    with store_options.store() as store:
        names = running_names(store)
        workers = of_each(names, lambda name: list(_workers(store, name)), lambda name: [])
        uptimes = [each for of_one in workers for each in of_one]
    if as_json:
        click.echo(json.dumps(uptimes, indent=1))
        return
    click.echo("# Worker Stats")
    rows = [
        (
            uptime["host"],
            f"{uptime['topology']}/{uptime['container']}",
            duration(uptime["uptime_secs"]) if uptime["uptime_secs"] is not None else "down",
            str(uptime["pid"] or ""),
            uptime["logs"],
        )
        for uptime in uptimes
    ]
    click.echo(plain_table(("Host", "Worker ID", "Uptime", "pid", "Logs"), rows))


def _workers(store: StateStore, name: str) -> Iterable[Worker]:
    client = MasterClient(store, name)
    try:
        stats = client.try_stats()
    finally:
        client.close()
    state = node(store, execution_path(name))
    containers = (stats and stats.containers_expected) or _packed(store, name)
    for container in containers:
        up = stats.registered.get(container) if stats else None
        yield {
            "topology": name,
            "container": container,
            "host": up.host if up else state.get("host", "?"),
            "pid": up.pid if up else None,
            "uptime_secs": up.secs if up else None,
            "logs": state.get("logs", ""),
        }


def _packed(store: StateStore, name: str) -> dict[int, int]:
    """container -> number of its instances."""
    return {each.id: len(each.instances) for each in packing(store, name).containers}


@click.command("slot_usage")
@json_option
@with_store_options
def slot_usage_command(as_json: bool, store_options: StoreOptions) -> None:
    """Show how many containers, and in brackets instances, each topology has on each host.

    \b
    heronpy slot_usage
    """
    with store_options.store() as store:
        names = running_names(store)
        hosts = of_each(
            names, lambda name: {_host(store, name): _packed(store, name)}, lambda name: {}
        )
        used = dict(zip(names, hosts, strict=True))
    if as_json:
        click.echo(json.dumps(used, indent=1))
    else:
        click.echo("# Slot (and Executor) Counts by Topology")
        click.echo(slots_text(used))


def _host(store: StateStore, name: str) -> str:
    return str(node(store, execution_path(name)).get("host", "?"))


def slots_text(used: Mapping[str, Mapping[str, Mapping[int, int]]]) -> str:
    """A row for each host, a column for each topology; `used`: topology -> host -> container ->
    number of instances."""
    hosts = sorted({host for each in used.values() for host in each})
    rows = []
    for host in hosts:
        counts = [each.get(host, {}) for each in used.values()]
        rows.append((host, *(f"{len(each)} ({sum(each.values())})" for each in counts)))
    return plain_table(("Host", *used), rows)
