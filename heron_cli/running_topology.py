"""A running topology by its name, for commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from heron_cli.stored_nodes import node
from heron_core.errors import HeronError
from heron_core.state_tree import execution_path, scheduler_path, topology_path
from heron_core.validation import choices
from heron_engine.scheduler.action_trail import tell_master
from heron_engine.scheduler.operations import requester
from heron_engine.scheduler.outcomes import outcome_of
from heron_engine.scheduler.stored_outcomes import ended_text, stored_outcomes
from heron_engine.scheduler.user_folder import Home
from heron_io.master_client import MasterClient
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore


@dataclass(frozen=True, slots=True)
class RunningTopology:
    """A topology with nodes in the state store."""

    name: str
    store: StateStore
    client: MasterClient
    state: dict[str, Any]
    """The execution state: state, submitted_at, host, user, logs."""
    scheduler: dict[str, Any] | None
    """The scheduler's location: kind, host, pid, started."""


def tell_action(topology: RunningTopology, what: str) -> None:
    """Record an action of this command as an event of the topology; a line on stderr says why if
    the topology master does not take the action."""
    try:
        tell_master(topology.client, what, requester())
    except HeronError as error:
        click.echo(f"warning: {what!r} is not among the events: {error}", err=True)


def running_names(store: StateStore) -> list[str]:
    """Names of the topologies in the store."""
    return store.children("/topologies")


def not_running(store: StateStore, name: str) -> HeronError:
    """The error for a name without a running topology; a topology of the name may have ended."""
    if ended := outcome_of(Home.of_user(), name):
        return HeronError(
            f"{name} has ended ({ended_text(ended)}): `heronpy stats {name}` shows its last numbers"
        )
    if ended := stored_outcomes(store).get(name, {}):
        host = ended.get("host", "?")
        return HeronError(f"{name} has ended ({ended_text(ended)}): its logs are on {host}")
    known = choices("running", name, running_names(store))
    return HeronError(f"no topology called {name!r} is running: {known}")


@contextmanager
def running(name: str, url: str) -> Iterator[RunningTopology]:
    """The topology called `name` in the store at `url`; HeronError with the names of
    running topologies for an unknown name."""
    with open_store(url) as store:
        if store.get(topology_path(name)) is None:
            raise not_running(store, name)
        with MasterClient(store, name) as client:
            yield RunningTopology(
                name,
                store,
                client,
                node(store, execution_path(name)),
                node(store, scheduler_path(name)) or None,
            )
