"""Messages of live queries of state: the question to an instance, and its answer."""

from enum import Enum

from msgspec import Struct

from heron_core.wire.field_types import Whole


class QueryState(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to the instances of `tasks`: what does a state have now? `key`, `map_key`
    and `prefix` are JSON (heron_core/typed_values.py); an empty one is not asked about."""

    query: Whole
    tasks: tuple[Whole, ...]
    state: str
    limit: Whole
    """So many keys at most, where it is not about one."""
    bytes_max: Whole
    """Of the texts of the answer."""
    key: str = ""
    map_key: str = ""
    prefix: str = ""


class QueryOutcome(Enum):
    """What came of the question to one instance."""

    ANSWERED = "answered"
    """Its entries are those that there are; there may be none."""
    STATELESS = "stateless"
    """The component keeps no state."""
    UNKNOWN = "unknown"
    """It has no state of that name."""
    OTHER_KIND = "other kind"
    """The state is of a kind that cannot be asked so."""
    RESTARTING = "restarting"
    """The instance has no state at present: it starts, or all are restored."""
    TOO_LARGE = "too large"
    """The answer is above the limit."""
    FAILED = "failed"
    """The state could not be read."""


class StateAnswered(Struct, frozen=True, array_like=True, tag=True):
    """An instance's answer to QueryState; a stream manager's for one that it has not."""

    task: Whole
    query: Whole
    outcome: QueryOutcome
    reason: str = ""
    """One line for an outcome without entries."""
    entries: tuple[tuple[bytes, str], ...] = ()
    """(place in the order of keys, JSON) of each, in that order."""
