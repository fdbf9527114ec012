"""An incident: what a flight recorder kept of one instance, with all that a replay needs."""

from collections.abc import Sequence

import msgspec

from heron_core.flight_records import BASES, Failure, FlightRecord

INCIDENT_ENDING = ".incident"
INCIDENT_FORMAT = 1
"""Of the archive and its records; another number is another layout."""
RAISED, KILLED, DEMANDED = "raised", "killed", "demanded"
"""Causes: user code raised, the process ended without order, a person asked."""


class IncidentSummary(msgspec.Struct, frozen=True):
    """What an incident is about, for people and for the replay."""

    format: int
    heronpy: str
    """Version that recorded."""
    python: str
    platform: str
    topology: str
    run: str
    """Id of the run."""
    component: str
    index: int
    task: int
    recorded_at_ms: int
    """Since 1970."""
    cause: str
    """RAISED, KILLED or DEMANDED."""
    how: str = ""
    """KILLED: how the process ended, in words."""
    state_number: int = 0
    """Number of the state that the records follow; 0: the component's beginning."""
    has_state: bool = False
    is_complete: bool = True
    """Whether all records since that state are here."""
    executed: int | None = None
    """Position of the end, in tuples processed; None: not known, as the process was killed."""
    ahead_secs: float = 0.0
    """What time.time() was ahead of the clock of the records."""
    left_out: int = 0
    """Records that were larger than the ring."""


class Incident(msgspec.Struct, frozen=True):
    """The summary with the data."""

    summary: IncidentSummary
    topology: bytes
    """JSON of the topology, with the component's class and config."""
    packing: bytes
    """JSON of the packing plan."""
    records: bytes
    state: bytes | None
    """None: the component began without one."""


def newest_base(records: Sequence[FlightRecord], number: int) -> int | None:
    """Index of the newest record at which the state was that of `number`; None without one."""
    for index in range(len(records) - 1, -1, -1):
        if records[index].kind in BASES and records[index].first == number:
            return index
    return None


def last_failure(records: Sequence[FlightRecord]) -> Failure | None:
    """What was raised last."""
    return next((each.failure for each in reversed(records) if each.failure is not None), None)
