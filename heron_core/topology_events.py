"""What happened to a topology that people want to know: crashes, pauses, updates, stuck calls.

The topology master makes the events; the live view, `stats`, the summary of a run and the
topology's `events.log` show them.
"""

from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

from heron_core.operations import Requester

EVENTS_MAX = 100
"""So many events the topology master keeps, and `stats` tells; events.log has more of them."""
TEXT_CHARACTERS_MAX = 500
"""Of `what` and `why` each: an exception's text may be as long as it likes."""

ACTED = "acted"
"""The topology master's command that makes an event of an action: `what`, and its `requester`."""


class EventKind(StrEnum):
    """Kinds of events."""

    STATE = "state"
    """The topology was paused, activated, or has ended."""
    CRASH = "crash"
    """A process ended that was not to."""
    RESTART = "restart"
    """A process ended gracefully and was replaced."""
    START_FAILED = "start failed"
    """User code could not be loaded or initialised."""
    DOWN = "down"
    """Nothing was heard of a container for a while."""
    UP = "up"
    """A failed container is available again."""
    PAUSE = "pause"
    """Back-pressure has paused instances for a while."""
    RESUME = "resume"
    """The cause no longer pauses any instance."""
    STUCK = "stuck"
    """A call of user code does not return."""
    RETURNED = "returned"
    """The call has returned."""
    RESCALE = "rescale"
    """An update to another packing plan began, was done, or was aborted."""

    AUTOSCALE = "autoscale"
    """A decision of the autoscaler, or an objection."""
    CHECKPOINT = "checkpoint"
    """A checkpoint has failed, or works again."""
    RESTORE = "restore"
    """The topology has been restored from a checkpoint, or could not."""
    LOG_LEVEL = "log level"
    """The time of a changed log level is over."""
    RECORDED = "recorded"
    """An incident of the flight recorder was written on request."""
    ACTION = "action"
    """A user has asked for something: `requester` has the user, the address and the way."""


BAD_KINDS = frozenset({EventKind.CRASH, EventKind.START_FAILED, EventKind.DOWN, EventKind.STUCK})
"""What a view shows in red."""


class TopologyEvent(Struct, frozen=True, kw_only=True):
    """One event."""

    at: float
    """When the topology master heard of it, in seconds since 1970."""
    kind: str
    """An EventKind."""
    what: str
    """In one line."""
    why: str = ""
    """The cause and the cost, as far as they are known."""
    container: int | None = None
    task: int | None = None
    instance: str | None = None
    """component[index]"""
    requester: Requester | None = None
    """Of an ACTION."""

    @property
    def about(self) -> str:
        """The instance or container concerned; empty for the topology."""
        if self.instance is not None:
            return f"{self.instance} (task {self.task}, container {self.container})"
        return "" if self.container is None else f"container {self.container}"


def event_text(event: TopologyEvent) -> str:
    """Event text in one line without the time."""
    why = f": {event.why}" if event.why else ""
    about = f"{event.about} " if event.about else ""
    return f"{event.kind}: {about}{event.what}{why}"


def event_time(event: TopologyEvent) -> str:
    """When it happened, in local time, for a view."""
    return datetime.fromtimestamp(event.at).strftime("%H:%M:%S")


def log_line(event: TopologyEvent) -> str:
    """The event's line in events.log: UTC with the zone, as in all logs."""
    when = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds")
    return f"{when} {event_text(event)}"
