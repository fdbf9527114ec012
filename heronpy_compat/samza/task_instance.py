"""One task: messages in order, calls, commits. The container drives tasks in turn.

A commit of a task, outside of the engine's checkpoints:

    RUNNING     messages are processed              commit asked for, or due ─► SETTLING
    SETTLING    messages wait; calls under way end, sinks ack the outputs
                all have                            ─► stores and changelogs are flushed, then the
                                                    offsets are written ─► RUNNING

So a message without a stored output is read again after a crash, and a store is never behind the
offsets. Under EFFECTIVELY_ONCE the engine's checkpoint takes the place of a commit.
"""

import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heron_core.errors import ComponentError
from heronpy_compat.samza.envelopes import (
    IncomingMessageEnvelope,
    OutgoingMessageEnvelope,
    SystemStream,
    SystemStreamPartition,
)
from heronpy_compat.samza.job_settings import StreamSettings
from heronpy_compat.samza.side_inputs import SideInput
from heronpy_compat.samza.stores import KeyValueStore
from heronpy_compat.samza.systems import Record
from heronpy_compat.samza.task_checkpoints import TaskCheckpoint
from heronpy_compat.samza.tasks import (
    AsyncStreamTask,
    EndOfStreamListenerTask,
    MessageCollector,
    TaskCallback,
    TaskCoordinator,
)


class Undecodable(ComponentError):
    """A message is not of the declared serde."""


@dataclass(slots=True)
class Input:
    """A partition as a task reads it."""

    partition: SystemStreamPartition
    settings: StreamSettings
    position: int | str
    """Of the next message for the inbox."""
    inbox: deque[Record] = field(default_factory=deque)
    taken: int | None = None
    """Position behind the newest message given to the task."""
    catches_up_to: int | None = None
    """Of a bootstrap stream or a side input: other inputs wait until this position is reached."""
    side_input: SideInput | None = None

    def put(self, record: Record) -> None:
        """A record of the partition; an earlier record is for another task."""
        if isinstance(self.position, int) and record.offset < self.position:
            return
        self.position = record.following
        self.inbox.append(record)

    def note(self, following: int) -> None:
        """The message before this position is given to the task."""
        self.taken = following
        if self.catches_up_to is not None and following >= self.catches_up_to:
            self.catches_up_to = None

    def has_ended(self) -> None:
        """The partition has no further messages."""
        self.catches_up_to = None


@dataclass(frozen=True, slots=True)
class Calls:
    """Requests of a task to the container."""

    send: Callable[["TaskInstance", OutgoingMessageEnvelope], None]
    failed: Callable[["TaskInstance", BaseException, str], None]
    """A call has raised; the text names the message."""
    requested: Callable[["TaskInstance", TaskCoordinator], None]
    """A call has ended, with these requests."""
    soon: Callable[[Callable[[], None]], None]
    """Call in the main thread; from any thread."""
    start: Callable[[Any, Callable[[BaseException | None], None]], None]
    """Run a coroutine, then call with the exception or None."""


class TaskInstance:
    """A task of the user's class."""

    def __init__(
        self, name: str, user: Any, stores: Mapping[str, KeyValueStore], inputs: list[Input],
        concurrency: int, calls: Calls,
    ) -> None:  # fmt: skip
        self.name, self.user, self.stores = name, user, stores
        self.inputs = sorted(inputs, key=_order)
        self._calls, self._concurrency = calls, concurrency
        self.collector = MessageCollector(lambda envelope: calls.send(self, envelope))
        self._process: Callable[[Input, IncomingMessageEnvelope], None] = self._call
        if isinstance(user, AsyncStreamTask):
            self._process = self._call_async
        self.in_flight = 0
        """Unfinished calls of process_async."""
        self.unacked = 0
        """Messages sent, and not yet acked."""
        self.is_settling = False
        self.window_due = False
        self.wants_end = False
        self.has_ended = False

    def step(self) -> bool:
        """Process the next message, if the task is ready for one; whether a step was taken."""
        if self.is_settling or self.in_flight >= self._concurrency:
            return False
        if self.window_due:
            self.window_due = False
            self.call(self.user.window, "window")
            return True
        chosen = self._choice()
        if chosen is None:
            return False
        record = chosen.inbox.popleft()
        chosen.note(record.following)
        if chosen.side_input is not None:
            raised = _raised_by(chosen.side_input.take, record, chosen.partition)
            if raised is not None:
                self._calls.failed(self, raised, f"{chosen.partition} at {record.offset}")
            return True
        envelope = _envelope(chosen, record)
        if isinstance(envelope, Undecodable):
            self._calls.failed(self, envelope, "")
        else:
            self._process(chosen, envelope)
        return True

    def _choice(self) -> Input | None:
        """The input of the highest priority with a message, in turn among equals; inputs
        behind their start go before the rest."""
        behind = [task_input for task_input in self.inputs if task_input.catches_up_to is not None]
        for task_input in behind or self.inputs:
            if task_input.inbox:
                if not behind:  # the next turn begins with another input of the priority
                    self.inputs.remove(task_input)
                    self.inputs.append(task_input)
                    self.inputs.sort(key=_order)
                return task_input
        return None

    def call(self, method: Callable[..., Any], where: str, *arguments: Any) -> None:
        """Call a method of the user's with a collector and a coordinator; the
        container carries out the requests."""
        coordinator = TaskCoordinator()
        raised = _raised_by(method, *arguments, self.collector, coordinator)
        if raised is not None:
            self._calls.failed(self, raised, where)
        self._calls.requested(self, coordinator)

    def _call(self, _: Input, envelope: IncomingMessageEnvelope) -> None:
        self.call(self.user.process, _named(envelope), envelope)

    def _call_async(self, _: Input, envelope: IncomingMessageEnvelope) -> None:
        coordinator = TaskCoordinator()
        self.in_flight += 1
        is_settled = False

        def settle(error: BaseException | None) -> None:
            nonlocal is_settled
            if is_settled:
                return
            is_settled = True
            self.in_flight -= 1
            if error is not None:
                self._calls.failed(self, error, _named(envelope))
            self._calls.requested(self, coordinator)

        method, arguments = self.user.process_async, (envelope, self.collector, coordinator)
        if inspect.iscoroutinefunction(method):
            self._calls.start(method(*arguments), settle)
            return
        callback = TaskCallback(lambda error: self._calls.soon(lambda: settle(error)))
        raised = _raised_by(method, *arguments, callback)
        if raised is not None:
            settle(raised)

    # --- commits ----------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether calls have ended, and outputs are acked."""
        return self.in_flight == 0 and self.unacked == 0

    def flush(self) -> TaskCheckpoint:
        """Flush the stores with their changelogs; where the task is now."""
        for store in self.stores.values():
            store.flush()
        positions = {
            str(each.partition): each.taken
            for each in self.inputs
            if each.taken is not None and each.side_input is None
        }
        return TaskCheckpoint(positions, {name: each.position for name, each in self._logged()})

    def _logged(self) -> Iterator[tuple[str, KeyValueStore]]:
        side_inputs = {id(each.side_input.store) for each in self.inputs if each.side_input}
        return (item for item in self.stores.items() if id(item[1]) not in side_inputs)

    def compact(self, retained: Mapping[str, int] | None) -> None:
        """Compact changelogs. `retained`: store -> the oldest position that a restore may ask for;
        None: restores ask for the newest."""
        for name, store in self._logged():
            store.compact(None if retained is None else retained.get(name, 0))

    def end_of_stream(self) -> None:
        """All partitions have ended: tell the task once."""
        if not self.has_ended:
            self.has_ended = True
            if isinstance(self.user, EndOfStreamListenerTask):
                self.call(self.user.on_end_of_stream, "on_end_of_stream")

    def close(self) -> None:
        """Close the stores."""
        for store in self.stores.values():
            store.close()


def _order(task_input: Input) -> int:
    """Sorts the highest priority first."""
    return -task_input.settings.priority


def _raised_by(method: Callable[..., Any], *arguments: Any) -> Exception | None:
    """The exception of a call. A report outside of the `except` names the message, and is not only
    a traceback."""
    try:
        method(*arguments)
    except Exception as error:
        return error
    return None


def _envelope(chosen: Input, record: Record) -> "IncomingMessageEnvelope | Undecodable":
    settings = chosen.settings
    try:
        key = settings.key.decoded(record.key)
        message = settings.message.decoded(record.message)
    except Exception as error:  # a serde may be the user's
        return Undecodable(f"{chosen.partition} at {record.offset} is not of its serde: {error}")
    return IncomingMessageEnvelope(chosen.partition, str(record.offset), key, message)


def _named(envelope: IncomingMessageEnvelope) -> str:
    return f"{envelope.system_stream_partition} at {envelope.offset}"


def encoded_output(
    envelope: OutgoingMessageEnvelope, outputs: Mapping[SystemStream, StreamSettings]
) -> list[bytes | None]:
    """Key and message as bytes; ComponentError for an undeclared stream, or for values of
    other types than the serdes'."""
    stream = envelope.system_stream
    if stream not in outputs:
        raise ComponentError(f"{stream} is not an output of the job: add it to task.outputs")
    settings = outputs[stream]
    try:
        return [settings.key.encoded(envelope.key), settings.message.encoded(envelope.message)]
    except (TypeError, ValueError, AttributeError) as error:
        raise ComponentError(f"a message for {stream} is not of its serde: {error}") from None
