"""Finds a running topology by its name, for the commands that address one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from heron_cli.stored_nodes import node
from heron_core.errors import HeronError
from heron_core.state_tree import execution_path, scheduler_path, topology_path
from heron_core.validation import choices
from heron_engine.scheduler.outcomes import outcome_of
from heron_engine.scheduler.stored_outcomes import ended_text, stored_outcomes
from heron_engine.scheduler.user_folder import Home
from heron_io.master_client import MasterClient
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore


@dataclass(frozen=True, slots=True)
class RunningTopology:
    """A topology that the state store knows."""

    name: str
    store: StateStore
    client: MasterClient
    state: dict[str, Any]
    """Its execution state: state, submitted_at, host, user, logs."""
    scheduler: dict[str, Any] | None
    """Its scheduler's location: kind, host, pid, started."""


def running_names(store: StateStore) -> list[str]:
    """Names of the topologies that the store knows."""
    return store.children("/topologies")


def not_running(store: StateStore, name: str) -> HeronError:
    """The error of a name that no running topology has; one of that name may have ended."""
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
    """The topology called `name` in the store at `url`; HeronError with those that run if there is
    none."""
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
