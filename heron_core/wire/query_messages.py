"""Messages of live queries of state, and the request for a sample: questions and answers."""

from enum import Enum

from msgspec import Struct

from heron_core.wire.field_types import Whole


class QueryState(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to the instances of `tasks`: query the present content of a state. `key`,
    `map_key` and `prefix` are JSON (heron_core/typed_values.py); an empty text is not a filter.
    """

    query: Whole
    tasks: tuple[Whole, ...]
    state: str
    limit: Whole
    """Most keys of an answer, if the question is not about one key."""
    bytes_max: Whole
    """Of the texts of the answer."""
    key: str = ""
    map_key: str = ""
    prefix: str = ""


class StateQuestion(Struct, frozen=True, array_like=True, tag=True):
    """From a client to the instance that owns a key, or to its stream manager: query the present
    value of a key. `key` and `map_key` are JSON as in QueryState. The answer is a StateAnswered
    with the same `query`, a number of the client's.
    """

    query: Whole
    epoch: Whole
    """Of the plan by which the client has found the task."""
    task: Whole
    state: str
    key: str
    map_key: str = ""
    wait_ms: Whole = 0
    """Time-out, from the arrival at the stream manager on."""


class QueryOutcome(Enum):
    """Outcome of the question to one instance."""

    ANSWERED = "answered"
    """The entries are complete, and may be empty."""
    STATELESS = "stateless"
    """The component keeps no state."""
    UNKNOWN = "unknown"
    """The instance has no state of that name."""
    OTHER_KIND = "other kind"
    """The kind of the state does not support queries of this form."""
    RESTARTING = "restarting"
    """The instance has no state at present: it starts, or all instances are restored."""
    TOO_LARGE = "too large"
    """The answer is above the limit."""
    FAILED = "failed"
    """The state could not be read."""


class StateAnswered(Struct, frozen=True, array_like=True, tag=True):
    """An instance's answer to QueryState, or a stream manager's for a missing instance."""

    task: Whole
    query: Whole
    outcome: QueryOutcome
    reason: str = ""
    """One line for an outcome without entries."""
    entries: tuple[tuple[bytes, str], ...] = ()
    """(place in the order of keys, JSON) of each entry, in that order."""


class SampleTuples(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to the instances of `tasks`: report the next `count` tuples sent on a
    stream within `secs` seconds."""

    sample: Whole
    tasks: tuple[Whole, ...]
    stream: str
    count: Whole
    secs: Whole
