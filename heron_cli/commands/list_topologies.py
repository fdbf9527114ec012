"""`heronpy list`: the running topologies, and facts of the state store about them."""

import json
from collections.abc import Mapping
from typing import Any

import click

from heron_cli.component_table import GAP, plain_table
from heron_cli.options.common import ignored
from heron_cli.options.find_topology import StoreOptions, with_store_options
from heron_cli.running_topology import running_names
from heron_cli.stored_nodes import node, of_each, packing
from heron_cli.terminal import stdout_width
from heron_core.state_tree import execution_path, scheduler_path
from heron_engine.scheduler.outcomes import ended_names, outcome_of
from heron_engine.scheduler.registration import is_lost
from heron_engine.scheduler.stored_outcomes import LOST, TROUBLES, stored_outcomes
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.protocol import StateStore

NOTHING_RUNS = "No topologies found."
FIRST_COLUMNS = ("name", "state", "ended", "reason", "instances", "containers", "submitted")
"""Columns preferred on a narrow terminal."""
REASON_CHARS_MIN = 16
"""Shortest useful piece of a reason."""
ELLIPSIS = "…"
UNREADABLE = "UNREADABLE"
"""State of a topology with a malformed node in the state store; stderr names the node."""


@click.command("list")
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Include topologies that ended, on this machine or within the last day.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
@with_store_options
@ignored("--timeout", metavar="MS")
def list_command(every: bool, as_json: bool, store_options: StoreOptions) -> None:
    """List the running topologies, and those that failed or were lost.

    How a topology ended is known for a day (topology.ended.visible.hours) to each machine with its
    state store, and to the machine of its submission until `heronpy remove_logs`, which makes both
    forget it.

    \b
    heronpy list
    heronpy list --all
    heronpy list --json
    """
    with store_options.store() as store:
        topologies = summaries(store)
        ended = stored_outcomes(store)
    if every:
        home = Home.of_user()
        ended = {name: outcome_of(home, name) for name in ended_names(home)} | ended
    else:
        ended = {name: end for name, end in ended.items() if end.get("state") in TROUBLES}
    names = sorted(ended.keys() - {topology["name"] for topology in topologies})
    topologies += [_ended_summary(name, ended[name]) for name in names]
    if as_json:
        click.echo(json.dumps(topologies, indent=1))
    else:
        click.echo(summaries_text(topologies, stdout_width()))


def summaries(store: StateStore) -> list[dict[str, Any]]:
    """One dict per running topology: name, state, containers, instances, submitted, …"""
    names = running_names(store)
    return list(of_each(names, lambda name: _summary(store, name), _unreadable))


def _ended_summary(name: str, outcome: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("state", "containers", "instances", "submitted_at", "host", "user")
    known = {key.removesuffix("_at"): outcome.get(key, "?") for key in keys}
    return {"name": name, **known, **_end(outcome)}


def _end(state: Mapping[str, Any]) -> dict[str, str]:
    """Time and reason of the end; empty for a running topology."""
    return {"ended": state.get("ended_at", ""), "reason": state.get("reason", "")}


def summaries_text(topologies: list[dict[str, Any]], width: int | None = None) -> str:
    """The rows as a table; in a terminal of `width` characters reasons are cut, and columns that
    do not fit are left out."""
    if not topologies:
        return NOTHING_RUNS
    headings = [
        key for key in topologies[0] if any(topology.get(key, "") != "" for topology in topologies)
    ]
    rows = [{key: str(topology.get(key, "")) for key in headings} for topology in topologies]
    if width is not None and "reason" in headings:
        width_left = max(REASON_CHARS_MIN, width - _width_of(rows, ("name", "state", "ended")))
        rows = [{**row, "reason": _cut(row["reason"], width_left)} for row in rows]
    cells = [list(row.values()) for row in rows]
    return plain_table(headings, cells, width, FIRST_COLUMNS)


def _width_of(rows: list[dict[str, str]], headings: tuple[str, ...]) -> int:
    """Width of the columns, each with its gap."""
    widths = (max(len(key), *(len(each.get(key, "")) for each in rows)) for key in headings)
    return sum(width + len(GAP) for width in widths)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def _summary(store: StateStore, name: str) -> dict[str, Any]:
    state, plan = node(store, execution_path(name)), packing(store, name)
    return {
        "name": name,
        "state": LOST
        if is_lost(node(store, scheduler_path(name)) or None)
        else state.get("state", "?"),
        "containers": len(plan.containers),
        "instances": len(plan.instances),
        "submitted": state.get("submitted_at", "?"),
        "host": state.get("host", "?"),
        "user": state.get("user", "?"),
        **_end(state),
    }


def _unreadable(name: str) -> dict[str, Any]:
    """A line with equal columns."""
    unknown = dict.fromkeys(("submitted", "host", "user"), "?")
    return {"name": name, "state": UNREADABLE, "containers": 0, "instances": 0, **unknown}
