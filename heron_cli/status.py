"""`heronpy list` and `heronpy stats`: what runs, and how it does."""

import json
from typing import Any

import click

from heron_cli.running import running
from heron_cli.stores import opened, zookeeper_option
from heron_cli.view import (
    components_text,
    dropped_lines,
    error_lines,
    pause_lines,
    size,
    text_table,
    whole,
)
from heron_core.errors import UsageError
from heron_io.state_store import StateStore, execution_path, packing_path, scheduler_path
from scheduler.local import is_alive


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
@zookeeper_option
def list_command(as_json: bool, zookeeper: str | None) -> None:
    """List the running topologies."""
    with opened(zookeeper) as store:
        found = [_summary(store, name) for name in store.children("/topologies")]
    if as_json:
        click.echo(json.dumps(found, indent=1))
    elif not found:
        click.echo("No topologies found.")
    else:
        rows = [tuple(str(value) for value in each.values()) for each in found]
        click.echo(text_table(tuple(found[0]), rows))


def _summary(store: StateStore, name: str) -> dict[str, Any]:
    state = store.get(execution_path(name)) or {}
    packing = store.get(packing_path(name)) or {"containers": []}
    alive = is_alive(store.get(scheduler_path(name)))
    return {
        "name": name,
        # Its scheduler was killed together with everything: only the nodes are left.
        "state": state.get("state", "?") if alive else "LOST",
        "containers": len(packing["containers"]),
        "instances": sum(len(each["instances"]) for each in packing["containers"]),
        "submitted": state.get("submitted_at", "?"),
        "host": state.get("host", "?"),
        "user": state.get("user", "?"),
    }


@click.command("stats")
@click.argument("name")
@click.option("-c", "--component", metavar="COMPONENT", help="The instances of one component.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
@zookeeper_option
def stats_command(name: str, component: str | None, as_json: bool, zookeeper: str | None) -> None:
    """Show the numbers of the topology NAME, as its master has them now."""
    with running(name, zookeeper) as topology:
        stats = topology.client.ask("stats", {"component": component})
    if component is not None and component not in stats["components"]:
        known = ", ".join(stats["components"])
        raise UsageError(f"{name} has no component {component!r} (its components: {known})")
    if as_json:
        click.echo(json.dumps(stats, indent=1, default=list))
        return
    click.echo(f"{stats['topology']}  {stats['state']}  epoch {stats['epoch']}")
    click.echo(components_text(stats))
    if component is not None:
        click.echo()
        click.echo(_instances_text(stats))
    for line in (*error_lines(stats), *pause_lines(stats), *dropped_lines(stats)):
        click.echo(line)


def _instances_text(stats: dict[str, Any]) -> str:
    headings = ("task", "container", "pid", "restarts", "emitted/s", "executed/s", "executed",
                "acked", "failed", "pending", "queue", "capacity", "paused")  # fmt: skip
    paused = stats["paused"]
    rows = [
        (
            str(each["task"]),
            str(each["container"]),
            str(each["pid"] or ""),
            str(each["restarts"]),
            whole(each["emitted_per_sec"]),
            whole(each["executed_per_sec"]),
            whole(each["executed"]),
            whole(each["acked"]),
            whole(each["failed"]),
            whole(each["pending"]),
            size(each["queue_bytes"]),
            f"{each['capacity']:.0%}",
            f"{paused[each['task']]['share']:.0%}" if each["task"] in paused else "",
        )
        for each in stats["instances"]
    ]
    return text_table(headings, rows)
