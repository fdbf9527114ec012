"""Interfaces of Samza's low-level API, by their names; methods are in Python's spelling.

    class Counter(StreamTask, InitableTask, WindowableTask):
        def init(self, context):
            self.store = context.get_store("counts")

        def process(self, envelope, collector, coordinator):
            self.store.put(envelope.key, (self.store.get(envelope.key) or 0) + 1)

        def window(self, collector, coordinator):
            for key, count in self.store.all():
                collector.send(OutgoingMessageEnvelope(COUNTS, key, count))

A task needs one of StreamTask and AsyncStreamTask; all methods are called in the main thread, one
at a time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from heronpy_compat.samza.envelopes import (
    IncomingMessageEnvelope,
    OutgoingMessageEnvelope,
    SystemStreamPartition,
)

if TYPE_CHECKING:
    from heronpy_compat.samza.stores import KeyValueStore


class RequestScope(Enum):
    """Which tasks a request to the coordinator is for."""

    CURRENT_TASK = "current task"
    ALL_TASKS_IN_CONTAINER = "all tasks in container"


class MessageCollector:
    """Sends messages; argument of `process` and `window`."""

    __slots__ = ("_send",)

    def __init__(self, send: Callable[[OutgoingMessageEnvelope], None]) -> None:
        self._send = send

    def send(self, envelope: OutgoingMessageEnvelope) -> None:
        """Send a message; ComponentError for a stream that `task.outputs` does not list."""
        self._send(envelope)


class TaskCoordinator:
    """Requests of a task to its container, carried out when the current call has returned."""

    __slots__ = ("commit_requested", "shutdown_requested")

    def __init__(self) -> None:
        self.commit_requested: RequestScope | None = None
        self.shutdown_requested: RequestScope | None = None

    def commit(self, scope: RequestScope = RequestScope.CURRENT_TASK) -> None:
        """Commit: outputs, stores with their changelogs, then the offsets."""
        self.commit_requested = scope

    def shutdown(self, scope: RequestScope = RequestScope.CURRENT_TASK) -> None:
        """End the container: CURRENT_TASK when each of its tasks has asked, else at once; either
        way after a commit."""
        self.shutdown_requested = scope


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What `init` receives."""

    task_name: str
    """Partition N, as Samza's grouper by partition names tasks."""
    partition: int
    system_stream_partitions: tuple[SystemStreamPartition, ...]
    config: Mapping[str, str]
    """The properties of the job."""
    stores: Mapping[str, "KeyValueStore"]

    def get_store(self, name: str) -> "KeyValueStore":
        """The store of this task that `stores.NAME.factory` declares; KeyError if it is not
        declared."""
        if name not in self.stores:
            raise KeyError(
                f"{name} is not a store: the job needs stores.{name}.factory"
                f" (its stores: {', '.join(sorted(self.stores)) or 'none'})"
            )
        return self.stores[name]


class StreamTask:
    """A task that processes message by message."""

    def process(
        self,
        envelope: IncomingMessageEnvelope,
        collector: MessageCollector,
        coordinator: TaskCoordinator,
    ) -> None:
        """Process a message. An exception ends the container, which starts again from the last
        commit, unless `task.ignored.exceptions` names its class."""
        raise NotImplementedError(f"{type(self).__name__} must define process")


class TaskCallback:
    """The end of an asynchronous call: `complete` or `failure`, once, in any thread."""

    __slots__ = ("_settle",)

    def __init__(self, settle: Callable[[BaseException | None], None]) -> None:
        self._settle = settle

    def complete(self) -> None:
        """The message is processed."""
        self._settle(None)

    def failure(self, error: BaseException) -> None:
        """The message is not processed; as an exception of `process`."""
        self._settle(error)


class AsyncStreamTask:
    """A task whose calls go on after they have returned, up to `task.max.concurrency` at a time."""

    def process_async(
        self,
        envelope: IncomingMessageEnvelope,
        collector: MessageCollector,
        coordinator: TaskCoordinator,
        callback: TaskCallback,
    ) -> Any:
        """Begin to process a message; `callback` ends it. A coroutine function needs no
        `callback` parameter: the message is processed when the coroutine returns."""
        raise NotImplementedError(f"{type(self).__name__} must define process_async")


class InitableTask:
    """A task with a beginning."""

    def init(self, context: TaskContext) -> None:
        """Called once, before the first message, when the stores are restored."""


class WindowableTask:
    """A task that is called each `task.window.ms`."""

    def window(self, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        """The time has passed."""


class ClosableTask:
    """A task with an end."""

    def close(self) -> None:
        """Called when the container ends in good order; not after a kill."""


class EndOfStreamListenerTask:
    """A task that is told when its partitions have ended."""

    def on_end_of_stream(self, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        """All partitions of the task have ended: files, or topics read to their ends."""
