"""Ends of topologies, in the state store: visible for a day to each machine with the store.

The record of a topology's end outlives its nodes, so that a nightly failure stays visible:
`topology.ended.visible.hours`. The record is written when the nodes are removed, and is deleted
when the next topology of its name is removed, after its time, or by `remove_logs`.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import TopologyState
from heron_core.state_tree import (
    OUTCOMES_PATH,
    execution_path,
    outcome_path,
    packing_path,
    scheduler_path,
    topology_path,
)
from heron_engine.scheduler.outcomes import stored_sizes, time_text
from heron_io.state_store.protocol import StateStore

LOST = "LOST"
"""State of a topology whose scheduler was killed together with everything: only nodes are left."""
TROUBLES = (TopologyState.FAILED, LOST)
"""The ends that were not asked for."""
OUTCOMES_MAX = 1000
"""In a state store: a build server may run a topology of another name each minute."""
UNTIL = "visible_until"
"""Field of a record: until when it is shown, in seconds since 1970."""
_END = ("state", "reason", "ended_at")
_RUN_BY = ("kind", "application")
"""Fields of the scheduler's node that lead to the logs."""
_SUBMITTED = ("submitted_at", "host", "user", "logs")


def record_end(
    store: StateStore,
    name: str,
    ended: Mapping[str, Any],
    calendar: Callable[[], float] = time.time,
) -> None:
    """Leave how a topology has ended, before its nodes are removed. `ended`: its state, reason and
    `ended_at`; what else a reader asks for is in the nodes. HeronError if the store cannot be
    reached."""
    stored = _object(store.get(topology_path(name)))
    hours = _visible_hours(_object(stored.get("config")))
    if not stored:
        return
    if not hours:
        store.delete(outcome_path(name))
        return
    state = _object(store.get(execution_path(name)))
    scheduler = _object(store.get(scheduler_path(name)))
    now = calendar()
    known = {
        **{key: state[key] for key in _SUBMITTED if key in state},
        **stored_sizes(store.get(packing_path(name))),
        "cluster": scheduler.get("cluster"),
        **{key: scheduler[key] for key in _RUN_BY if key in scheduler},
        keys.ENVIRONMENT: _object(stored.get("config")).get(keys.ENVIRONMENT),
        "at": now,
        UNTIL: now + hours * 3600.0,
    }
    store.put(outcome_path(name), {**known, **ended})
    _discard(store, now)


def end_of(state: Mapping[str, Any], was_alive: bool, reason: str) -> dict[str, str]:
    """How a topology has ended, by its execution state: as its master says, else lost with its
    scheduler, else killed for `reason`."""
    if state.get("state") in TopologyState.OVER:
        return {"ended_at": time_text(), **{key: state[key] for key in _END if key in state}}
    if was_alive:
        return {"state": TopologyState.KILLED, "reason": reason, "ended_at": time_text()}
    return {"state": LOST, "reason": "its scheduler was killed", "ended_at": time_text()}


def ended_text(outcome: Mapping[str, Any]) -> str:
    """How and when a topology ended, and why."""
    when = f" at {outcome['ended_at']}" if outcome.get("ended_at") else ""
    why = f": {outcome['reason']}" if outcome.get("reason") else ""
    return f"{outcome.get('state', '?')}{when}{why}"


def stored_outcomes(
    store: StateStore, calendar: Callable[[], float] = time.time
) -> dict[str, dict[str, Any]]:
    """name -> how the last run ended, of those whose time is not over and that do not run."""
    running, now = set(store.children("/topologies")), calendar()
    names = (name for name in store.children(OUTCOMES_PATH) if name not in running)
    found = ((name, stored_outcome(store, name)) for name in names)
    return {name: each for name, each in found if each and each.get(UNTIL, now) >= now}


def stored_outcome(store: StateStore, name: str) -> dict[str, Any]:
    """End of a topology's last run; empty if unknown or malformed."""
    try:
        return dict(_object(store.get(outcome_path(name))))
    except HeronError as error:
        if outcome_path(name) not in str(error):
            raise
        return {}


def _discard(store: StateStore, now: float) -> None:
    """Remove the records whose time is over, and of too many the oldest."""
    records = {name: stored_outcome(store, name) for name in store.children(OUTCOMES_PATH)}
    visible = [name for name, record in records.items() if record.get(UNTIL, 0.0) >= now]
    visible.sort(key=lambda name: -float(records[name].get("at", 0.0)))
    for name in records.keys() - set(visible[:OUTCOMES_MAX]):
        store.delete(outcome_path(name))


def _visible_hours(config: Mapping[str, Any]) -> int:
    try:
        return int(keys.with_defaults(config)[keys.ENDED_VISIBLE_HOURS])
    except (HeronError, ValueError, TypeError):
        return int(keys.DEFAULTS[keys.ENDED_VISIBLE_HOURS])


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
