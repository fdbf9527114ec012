"""`heronpy list`: what runs; and what of it the state store knows without asking anybody."""

import json
from typing import Any

import click

from heron_cli.options.common import ignored
from heron_cli.options.find_topology import StoreOptions, with_store_options
from heron_cli.running_topology import running_names
from heron_cli.stats_text import text_table
from heron_core.state_tree import execution_path, packing_path, scheduler_path
from heron_io.state_store.protocol import StateStore
from scheduler.registration import is_alive

NOTHING_RUNS = "No topologies found."
LOST = "LOST"
"""State of a topology whose scheduler was killed together with everything: only nodes are left."""


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
@with_store_options
@ignored("--timeout", metavar="MS")
def list_command(as_json: bool, store_options: StoreOptions) -> None:
    """List the running topologies.

    \b
    heronpy list
    heronpy list --json
    """
    with store_options.store() as store:
        found = summaries(store)
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        click.echo(summaries_text(found))


def summaries(store: StateStore) -> list[dict[str, Any]]:
    """One dict for each running topology: name, state, containers, instances, submitted, …"""
    return [_summary(store, name) for name in running_names(store)]


def summaries_text(found: list[dict[str, Any]]) -> str:
    """The same as a table."""
    if not found:
        return NOTHING_RUNS
    rows = [tuple(str(value) for value in each.values()) for each in found]
    return text_table(tuple(found[0]), rows)


def _summary(store: StateStore, name: str) -> dict[str, Any]:
    state = store.get(execution_path(name)) or {}
    packing = store.get(packing_path(name)) or {"containers": []}
    alive = is_alive(store.get(scheduler_path(name)))
    return {
        "name": name,
        "state": state.get("state", "?") if alive else LOST,
        "containers": len(packing["containers"]),
        "instances": sum(len(each["instances"]) for each in packing["containers"]),
        "submitted": state.get("submitted_at", "?"),
        "host": state.get("host", "?"),
        "user": state.get("user", "?"),
    }
