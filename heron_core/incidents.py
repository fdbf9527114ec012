"""An incident: the records of one instance's flight recorder, with all requirements of a replay."""

from collections.abc import Sequence

import msgspec

from heron_core.flight_records import BASES, Failure, FlightRecord

INCIDENT_ENDING = ".incident"
INCIDENT_FORMAT = 1
"""Version of the layout of the archive and the records."""
RAISED, KILLED, DEMANDED = "raised", "killed", "demanded"
"""Causes: user code raised, the process ended without order, a person asked."""


class IncidentSummary(msgspec.Struct, frozen=True):
    """Properties of an incident, for people and for the replay."""

    format: int
    heronpy: str
    """Version of the recorder."""
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
    """Number of the state before the first record; 0: the component's beginning."""
    has_state: bool = False
    is_complete: bool = True
    """Whether all records since the state are present."""
    executed: int | None = None
    """Position of the end, in tuples processed; None: unknown, for a killed process."""
    ahead_secs: float = 0.0
    """time.time() minus the clock of the records, in seconds."""
    left_out: int = 0
    """Number of records larger than the ring."""


class Incident(msgspec.Struct, frozen=True):
    """The summary with the data."""

    summary: IncidentSummary
    topology: bytes
    """JSON of the topology, with the component's class and config."""
    packing: bytes
    """JSON of the packing plan."""
    records: bytes
    state: bytes | None
    """None: the component began without a state."""


def newest_base(records: Sequence[FlightRecord], number: int) -> int | None:
    """Index of the newest record with the state of `number`; None without such a record."""
    for index in range(len(records) - 1, -1, -1):
        if records[index].kind in BASES and records[index].first == number:
            return index
    return None


def last_failure(records: Sequence[FlightRecord]) -> Failure | None:
    """The last exception."""
    return next((each.failure for each in reversed(records) if each.failure is not None), None)
