"""How the last run of each topology ended, as it stands in the user's folder until remove-logs."""

import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from heron_core.config.names import DEAD_LETTER
from heron_core.errors import HeronError, ProtocolError
from heron_core.exit_codes import ExitCode
from heron_core.plans import PackingPlan, TopologyState, packing_from_json
from heron_core.records import replace
from heron_core.state_tree import execution_path, packing_path
from heron_core.stats import InstanceStats, TopologyStats
from heron_core.topology_events import TEXT_CHARACTERS_MAX, EventKind, TopologyEvent
from heron_core.typed_json import from_json
from heron_engine.scheduler.container.supervisor_events import SupervisorOutcome
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from heron_io.private_files import private
from heron_io.run_records import LAST_NUMBERS_FILE, RunRecords
from heron_io.state_store.opening import open_store

log = logging.getLogger("scheduler")

STATES_OF_CODES: dict[int, str] = {
    ExitCode.ENDED: TopologyState.ENDED,
    ExitCode.TOPOLOGY_FAILED: TopologyState.FAILED,
}
ENDED_STATES = (TopologyState.ENDED, TopologyState.FAILED, TopologyState.KILLED)


class LastNumbers(Struct, frozen=True):
    """Last report of the topology master."""

    stats: TopologyStats
    instances: Mapping[str, Sequence[InstanceStats]]
    """By component."""


def time_text() -> str:
    """Now, as it stands in the state store and in outcomes."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def write_outcome(submission: Submission, outcome: SupervisorOutcome) -> str:
    """Leave how the run ended, and return it, a TopologyState; a full disk must not keep the rest
    from being cleaned up."""
    known, packing = _known(submission)
    state, reason = STATES_OF_CODES.get(outcome.code), outcome.reason
    last = known.get("state")
    has_failed = state == TopologyState.ENDED and last == TopologyState.FAILED
    if has_failed or (state is None and last in TopologyState.OVER):
        # The topology had finished before its processes were ended, and the master knows the
        # result.
        state, reason = last, known.get("reason", "")
    state = state or TopologyState.KILLED
    ending = {"state": state, "reason": reason, "ended_at": time_text()}
    details = {**_submitter(known), **_sizes(packing), **_letters(submission)}
    _write(submission.home, submission.topology.name, {**ending, **details})
    return state


def record_failure(home: Home, name: str) -> None:
    """Add the event of a failed run to the events of its master, which ended before."""
    outcome, logs = outcome_of(home, name), home.logs(name)
    if outcome.get("state") != TopologyState.FAILED:
        return
    last = last_numbers_in(logs)
    events = () if last is None else last.stats.events
    if events and events[-1].kind == EventKind.STATE and events[-1].why == outcome.get("reason"):
        return  # the master has ended it
    event = TopologyEvent(
        at=time.time(),
        kind=EventKind.STATE,
        what="the topology has failed",
        why=str(outcome.get("reason", ""))[:TEXT_CHARACTERS_MAX],
    )
    records = RunRecords(logs)
    records.write_event(event)
    if last is not None:
        records.write_last_numbers(replace(last.stats, events=(*events, event)), last.instances)


def write_ended_outcome(
    home: Home, name: str, ended: Mapping[str, Any], state: Mapping[str, Any], packing: Any
) -> None:
    """Leave how a topology has `ended` (stored_outcomes.end_of) on the machine of its submission,
    for a topology without a scheduler of ours that could do so. `state` and `packing` are what the
    state store has of the topology."""
    if os.path.isdir(home.topology(name)):
        _write(home, name, {**ended, **_submitter(state), **stored_sizes(packing)})


def change_outcome(home: Home, name: str, **changes: Any) -> None:
    """Change fields of a recorded outcome: the command of a foreground run knows more of the end
    than the scheduler."""
    _write(home, name, {**outcome_of(home, name), **changes})


def _write(home: Home, name: str, outcome: Mapping[str, Any]) -> None:
    path = home.outcome_file(name)
    try:
        with open(f"{path}.new", "w", encoding="utf-8", opener=private) as file:
            json.dump(outcome, file)
        os.replace(f"{path}.new", path)
    except OSError as error:
        log.error("the outcome of the run could not be written: %s", error)


def _known(submission: Submission) -> tuple[dict[str, Any], PackingPlan]:
    """State and current packing plan from the state store; no state, and the initial plan, if
    unreachable."""
    name = submission.topology.name
    try:
        with open_store(submission.store_url) as store:
            state, packing = store.get(execution_path(name)), store.get(packing_path(name))
            newest = submission.packing if packing is None else packing_from_json(packing)
            return state or {}, newest
    except HeronError as error:
        log.warning("the topology's state could not be read: %s", error)
        return {}, submission.packing


def _letters(submission: Submission) -> dict[str, str]:
    """Location of the topology's dead letters, if any."""
    value = submission.topology.config.get(DEAD_LETTER)
    return {"dead_letter": value} if isinstance(value, str) else {}


def _submitter(state: Mapping[str, Any]) -> dict[str, Any]:
    return {key: state[key] for key in ("submitted_at", "host", "user") if key in state}


def stored_sizes(packing: Any) -> dict[str, int]:
    """The numbers of containers and instances of a packing plan as the state store has it; empty
    if it is malformed."""
    try:
        containers = packing["containers"]
        return {
            "containers": len(containers),
            "instances": sum(len(container["instances"]) for container in containers),
        }
    except (TypeError, KeyError):
        return {}


def _sizes(packing: PackingPlan) -> dict[str, int]:
    return {"containers": len(packing.containers), "instances": len(packing.instances)}


def outcome_of(home: Home, name: str) -> dict[str, Any]:
    """End of a topology's last run: state, reason, time, and statistics; empty if unknown."""
    try:
        with open(home.outcome_file(name), encoding="utf-8") as file:
            outcome: dict[str, Any] = json.load(file)
            return outcome if isinstance(outcome, dict) else {}
    except (OSError, ValueError):
        return {}


def ended_names(home: Home) -> list[str]:
    """Topologies with an outcome."""
    try:
        names = sorted(os.listdir(os.path.dirname(home.topology("any"))))
    except OSError:
        return []
    return [name for name in names if os.path.isfile(home.outcome_file(name))]


def last_numbers_of(home: Home, name: str) -> LastNumbers | None:
    """The last numbers of a topology's last run; None if its master did not end in order."""
    return last_numbers_in(home.logs(name))


def last_numbers_in(logs: str) -> LastNumbers | None:
    """The outcome of the run with the log folder."""
    try:
        with open(os.path.join(logs, LAST_NUMBERS_FILE), encoding="utf-8") as file:
            numbers = json.load(file)
        stats = TopologyStats.from_json(numbers["stats"])
        instances = {
            component: tuple(from_json(InstanceStats, row, "an instance") for row in rows)
            for component, rows in numbers["instances"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ProtocolError):
        return None
    return LastNumbers(stats, instances)
