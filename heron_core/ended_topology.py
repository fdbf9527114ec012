"""Whether a topology is over, for a process that comes back to it, as from a frozen host."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from heron_core.plans import TopologyState

RECENT_SECS = 10.0
"""Grace time for the processes of an ended topology: a process that dies meanwhile is still
replaced, to obtain its last numbers."""
_OVER = (*TopologyState.OVER, TopologyState.KILLED)


def over_text(name: str, execution: Mapping[str, Any], wall_clock_secs: float) -> str:
    """Reason why processes of the topology must not start or stay; empty if permitted.
    `execution`: execution state in the state store."""
    state, ended_at = execution.get("state"), str(execution.get("ended_at", ""))
    if state not in _OVER or wall_clock_secs - _secs(ended_at) < RECENT_SECS:
        return ""
    return (
        f"{name} is {state}{f' since {ended_at}' if ended_at else ''}: its processes must not run"
    )


def _secs(ended_at: str) -> float:
    """In seconds since 1970; long ago if it is not said."""
    try:
        return datetime.strptime(ended_at, "%Y-%m-%dT%H:%M:%S%z").timestamp()
    except ValueError:
        return float("-inf")
