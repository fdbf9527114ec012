"""Nodes of the state store between application master, containers and command line.

The scheduler's node maps YARN's containers to containers of the packing plan. A container whose
number was reassigned, or that is to be stopped, ends gracefully by itself, even behind an
unreachable node manager. Requests of the command line are nodes that the application master
removes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from heron_core.errors import NameInUse
from heron_core.plans import MASTER_CONTAINER
from heron_core.state_tree import restart_request_path, restart_requests_path, scheduler_path
from heron_engine.scheduler.backends.yarn.events import Ask
from heron_engine.scheduler.backends.yarn.slots import Slot, SlotPhase
from heron_engine.scheduler.backends.yarn.standby import is_standby
from heron_io.state_store.protocol import StateStore

Location = dict[str, Any]
FOLDER = "folder"
"""In the scheduler's node: URI of the topology's own files."""
STANDBY = "warm"
"""Key of the scheduler's node: standby containers, in the form of `containers`."""
CAPACITY = "room"
"""Key of a request: new sizes of running containers."""


def rows(slots: Iterable[Slot]) -> dict[str, Location]:
    """number -> where it is, for the scheduler's node."""
    return {
        str(slot.number): {
            "id": slot.grant.id,
            "host": slot.grant.host,
            "http": slot.grant.http,
            "phase": slot.phase.value,
            "size": None if slot.granted is None else ask_to_json(slot.granted),
        }
        for slot in slots
        if slot.grant is not None
    }


def number_of(node: Mapping[str, Any] | None, container: str) -> int | None:
    """The plan's container assigned to a YARN container; None: none, or a standby container."""
    numbers = (number for number, each in containers_of(node).items() if each["id"] == container)
    return next(numbers, None)


def standby_end_reason(node: Mapping[str, Any] | None, container: str) -> str | None:
    """Reason why an unassigned standby container must end; None: continue. Pure."""
    if node is None:
        return "the topology is gone from the state store"
    standby = [each for each in node.get(STANDBY, {}).values() if each["id"] == container]
    if not standby or standby[0]["phase"] == SlotPhase.ENDING.value:
        return "the application master does not need the container any more"
    return None


def ask_to_json(ask: Ask) -> list[int]:
    """A size as it stands in the state store."""
    return [ask.memory_mb, ask.vcores]


def asks_of(found: Mapping[str, Any]) -> dict[int, Ask]:
    """number -> how large, of a request for room."""
    return {int(number): Ask(*map(int, size)) for number, size in found.items()}


def too_small(
    node: Mapping[str, Any] | None, asks: Mapping[int, Ask]
) -> dict[int, tuple[Ask, Ask]]:
    """number -> (size, required size) of running containers, if known."""
    found = {}
    for number, location in containers_of(node).items():
        size, ask = location.get("size"), asks.get(number)
        if size and ask is not None and not Ask(*size).covers(ask):
            found[number] = (Ask(*size), ask)
    return found


def growing_words(node: Mapping[str, Any] | None, asks: Mapping[int, Ask]) -> str:
    """Containers below their required size, for people; empty if none."""
    return ", ".join(
        f"container {number} ({size}) to have {ask}"
        for number, (size, ask) in too_small(node, asks).items()
    )


def waiting_words(slots: Iterable[Slot]) -> str:
    """Containers that wait for capacity, for people; empty without any."""
    asked = [
        each for each in slots if each.phase is SlotPhase.ASKED and not is_standby(each.number)
    ]
    if not asked:
        return ""
    named = ", ".join(f"container {each.number} ({_wanted(each)})" for each in asked)
    return f"YARN has not granted {named} yet: check the capacity of the queue"


def _wanted(slot: Slot) -> str:
    where = f" in partition {slot.partition}" if slot.partition else ""
    return f"{slot.request}{where}"


def containers_of(node: Mapping[str, Any] | None) -> dict[int, Location]:
    """number -> where it is, by the scheduler's node; the application master's is number 0."""
    found = (node or {}).get("containers", {})
    return {int(number): location for number, location in found.items()}


def end_reason(node: Mapping[str, Any], number: int, container: str) -> str | None:
    """Reason why YARN's container `container` must end, by the scheduler's node; None: continue.

    Pure. The node is published before the container's start, so no wait is needed.
    """
    location = containers_of(node).get(number)
    if location is None:
        return f"container {number} is no longer known to the application master"
    if location["id"] != container:
        return f"container {number} is {location['id']} now"
    if location["phase"] == SlotPhase.ENDING.value:
        return "stopped by the application master"
    return None


def running(node: Mapping[str, Any] | None) -> int:
    """How many containers of the packing plan run."""
    locations = containers_of(node).items()
    return sum(
        location["phase"] == SlotPhase.RUNNING.value
        for number, location in locations
        if number != MASTER_CONTAINER
    )


def request(store: StateStore, name: str, requested: Mapping[str, Any]) -> None:
    """Send a request to the application master, which may be starting. Each request is a
    separate node, so unread requests are never replaced."""
    number = max(_numbers(store, name), default=0) + 1
    while True:
        try:
            store.create(restart_request_path(name, number), dict(requested))
            return
        except NameInUse:
            number += 1


def take_requests(store: StateStore, name: str) -> list[Mapping[str, Any]]:
    """Remove and return the pending requests, oldest first."""
    requests = list[Mapping[str, Any]]()
    for number in _numbers(store, name):
        path = restart_request_path(name, number)
        requests.append(dict(store.get(path) or {}))
        store.delete(path)
    return requests


def _numbers(store: StateStore, name: str) -> list[int]:
    nodes = store.children(restart_requests_path(name))
    return sorted(int(node) for node in nodes if node.isdecimal())


def node_of(store: StateStore, name: str) -> dict[str, Any] | None:
    """The scheduler's node."""
    found: dict[str, Any] | None = store.get(scheduler_path(name))
    return found
