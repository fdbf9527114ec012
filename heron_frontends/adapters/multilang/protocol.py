"""The messages of Storm's multilang protocol, whatever bytes they travel as.

Source: docs/Multilang-protocol.md, utils/ShellProcess.java, task/ShellBolt.java and
spout/ShellSpout.java of apache/storm.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from heron_core.errors import ProtocolError
from heron_core.topology import DEFAULT_STREAM, SYSTEM_COMPONENT, TICK_STREAM

Message = dict[str, Any]

HEARTBEAT_STREAM = "__heartbeat"
SYSTEM_TASK = -1

COMMAND = "command"
EMIT = "emit"
PID = "pid"
OWN_ID = "-"
"""Prefix of ids of heartbeats and ticks. Acks of such ids are ignored: they belong to no tree."""

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""A tuple may have 10 MiB (topology.message.bytes.max), in JSON six times as much at worst."""
GARBAGE_BYTES_MAX = 1024 * 1024
"""Maximum of bytes between two messages outside of a message: more than any stack trace."""


class MultilangCodec(Protocol):
    """Encodes and decodes messages of one child; the decoded bytes form one stream from its
    start.
    """

    strays: list[str]
    """Lines outside of messages, oldest first; the caller logs the lines and empties the list."""

    def encode(self, message: Any) -> bytes:
        """A message as bytes; TypeError or ValueError if a value in it cannot be said."""

    def encode_tuple(self, key: str, tup: Any) -> bytes:
        """The message that gives `tup` to the child as `key`; errors as for `encode`."""

    def feed(self, data: bytes) -> list[Message]:
        """Messages completed by `data`; ProtocolError if the stream cannot be resumed."""


NO_UTF_8 = "surrogateescape"
"""Error handler for decoding text: invalid UTF-8 bytes become lone surrogates."""


def check_text(value: Any) -> None:
    """ValueError for a decoded value with text that differs from the child's bytes."""
    if isinstance(value, str):
        if not value.isascii():
            _check_text(value)
    elif isinstance(value, dict):
        check_text([*value, *value.values()])
    elif isinstance(value, (list, tuple)):
        for each in value:
            check_text(each)


def _check_text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        data = value.encode("utf-8", "surrogatepass" if _is_half(value) else NO_UTF_8)
        raise ValueError(
            f"{data!r:.80} is not text in UTF-8 (at character {error.start} of it)"
        ) from None


def _is_half(value: str) -> bool:
    """Whether the text has a lone surrogate that does not stand for a byte."""
    return any("\ud800" <= each < "\udc80" or "\udcff" < each <= "\udfff" for each in value)


def for_people(value: Any) -> Any:
    """The value with a question mark for each invalid byte: for logs and names only."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {for_people(key): for_people(each) for key, each in value.items()}
    return [for_people(each) for each in value] if isinstance(value, (list, tuple)) else value


def decoded(message: Message) -> Message:
    """A message as it is handled: only of an emit each byte counts (check_text)."""
    is_emit = message.get(COMMAND) == EMIT
    found: Message = message if is_emit else for_people(message)
    return found


def is_message(value: object) -> bool:
    """Whether a decoded value is a message of a child: a command, or a pid."""
    return isinstance(value, dict) and (COMMAND in value or PID in value)


def heartbeat(number: int) -> Message:
    """Asks a bolt for a `sync` (ShellBolt.BoltHeartbeatTimerTask)."""
    return {
        "id": f"{OWN_ID}{number}",
        "comp": None,
        "stream": HEARTBEAT_STREAM,
        "task": SYSTEM_TASK,
        "tuple": [],
    }


def tick(number: int, every_secs: float) -> Message:
    """A tick tuple of `every_secs`."""
    return {
        "id": f"{OWN_ID}{number}",
        "comp": SYSTEM_COMPONENT,
        "stream": TICK_STREAM,
        "task": SYSTEM_TASK,
        "tuple": [int(every_secs) if every_secs == int(every_secs) else every_secs],
    }


@dataclass(frozen=True, slots=True)
class Emit:
    """An emit of a child."""

    values: list[Any]
    stream: str
    task: int | None
    """The task of a direct emit."""
    wants_tasks: bool
    """The child waits for the list of task ids (never for a direct emit)."""
    anchors: list[str]
    id: Any
    """A spout's id of the tuple, any JSON value; None for an untracked tuple."""


def emit_of(message: Message) -> Emit:
    """The emit in `message`; ProtocolError names the fault."""
    values, anchors = message.get("tuple"), message.get("anchors")
    if not isinstance(values, (list, tuple)):
        raise ProtocolError(f"an emit whose tuple is not a list, but {values!r:.80}")
    if anchors is not None and not isinstance(anchors, (list, tuple)):
        anchors = [anchors]
    task = _direct_task(message.get("task"))
    return Emit(
        list(values),
        str(message.get("stream") or DEFAULT_STREAM),
        task,
        wants_tasks(message) and task is None,
        [str(anchor) for anchor in anchors or ()],
        message.get("id"),
    )


def wants_tasks(message: Message) -> bool:
    """Whether an emit is to be answered: yes, unless it says no (ShellMsg.areTaskIdsNeeded)."""
    return message.get("need_task_ids") is not False


def _direct_task(task: Any) -> int | None:
    if not task:  # Storm's libraries say nothing, null or 0 for "by the groupings"
        return None
    if isinstance(task, bool) or not isinstance(task, int):
        raise ProtocolError(f"an emit whose task is not a task id, but {task!r:.80}")
    return task
