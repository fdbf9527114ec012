"""What a request of an operation asks for, in one line for events and pages."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from heron_core.errors import HeronError
from heron_core.naming import first_of
from heron_core.operations import AT, OperationKind
from heron_core.plans import packing_from_json

Arguments = Mapping[str, Any]
CONTAINERS_NAMED_MAX = 8
"""Of a restart: further ones are a number, so that the line stays a line."""


def action_text(kind: OperationKind, arguments: Arguments) -> str:
    """The operation with its arguments, as `kill, draining for at most 5 s`. What is malformed is
    left out: the request itself fails by it, with a reason of its own."""
    details = _DETAILS[kind](arguments) if kind in _DETAILS else ""
    at = arguments.get(AT)
    begins = f"at {_shown(float(at))}" if isinstance(at, int | float) else ""
    return ", ".join(each for each in (str(kind.value), details, begins) if each)


def _shown(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S%z")


def _kill(arguments: Arguments) -> str:
    if url := arguments.get("savepoint"):
        return f"with the savepoint {url}"
    secs = arguments.get("wait_secs")
    return f"draining for at most {secs:g} s" if isinstance(secs, int | float) and secs else ""


def _restart(arguments: Arguments) -> str:
    containers = arguments.get("containers")
    if not isinstance(containers, list | tuple) or not containers:
        return ""
    return f"containers {first_of([str(each) for each in containers], CONTAINERS_NAMED_MAX)}"


def _update(arguments: Arguments) -> str:
    """The numbers that the update is to come to."""
    if "packing" not in arguments:
        return ""  # of one that waits: its plan is made when its time has come
    try:
        plan = packing_from_json(arguments["packing"])
    except HeronError:
        return ""
    counts = dict[str, int]()
    for instance in plan.instances.values():
        counts[instance.component] = counts.get(instance.component, 0) + 1
    numbers = ", ".join(f"{name}={count}" for name, count in sorted(counts.items()))
    code = "new code, " if plan.changed is not None else ""
    return f"{code}{len(plan.containers)} containers, {numbers}"


_DETAILS: Mapping[OperationKind, Callable[[Arguments], str]] = {
    OperationKind.KILL: _kill,
    OperationKind.RESTART: _restart,
    OperationKind.UPDATE: _update,
}
