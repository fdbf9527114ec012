"""The container of a Samza job as a spout: reads partitions, drives tasks, commits.

A job is one component of `job.container.count` instances; instance i of n has each n-th task.
Messages of tasks are emitted on a stream for each output, with a bolt as sink. Outside of
EFFECTIVELY_ONCE these messages are tracked, and a task commits when sinks have acked all of them.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from heron_api.class_loading import load_class
from heron_api.metrics import CountMetric
from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_connectors.replay_queue import ReplayQueue, abandon
from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat.samza.assembly import Assembly
from heronpy_compat.samza.envelopes import OutgoingMessageEnvelope
from heronpy_compat.samza.job_keys import without_effect
from heronpy_compat.samza.job_settings import job_settings
from heronpy_compat.samza.task_checkpoints import TaskCheckpoint
from heronpy_compat.samza.task_instance import (
    Calls,
    TaskInstance,
    Undecodable,
    encoded_output,
)
from heronpy_compat.samza.tasks import (
    AsyncStreamTask,
    ClosableTask,
    RequestScope,
    StreamTask,
    TaskCoordinator,
    WindowableTask,
)

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

PROPERTIES = "samza.properties"
"""Config key: the properties of the job."""
STATE_KEY = "heronpy.samza"
"""State key of the checkpoint of each task."""
MESSAGES_PER_CALL = 1_000
"""A call of next_tuple ends at the first output, or after so many messages."""
METRIC_SECS = 60
CHECKPOINTS_MAX = 16
"""Limit of incomplete checkpoints: older checkpoints have failed."""


class SamzaContainer(Spout, TwoPhaseStatefulComponent):
    """Tasks of one job in one process."""

    outputs: Sequence[Any] = ()

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """A problem with `task.class`, in one line. Under checkpoints a barrier cannot pass
        amid an asynchronous call."""
        path = config[PROPERTIES]["task.class"]
        try:
            kind = load_class(path)
        except ComponentError as error:
            return f"task.class: {error}" if runs_here else None
        if not issubclass(kind, (StreamTask, AsyncStreamTask)):
            return f"task.class: {path} is not a StreamTask or an AsyncStreamTask"
        is_exact = config.get(keys.RELIABILITY_MODE) == keys.EFFECTIVELY_ONCE
        if is_exact and issubclass(kind, AsyncStreamTask):
            return f"task.class: an AsyncStreamTask needs {keys.RELIABILITY_MODE}: ATLEAST_ONCE"
        return None

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Restore stores and begin tasks; ComponentError for a missing key or stream."""
        self._settings = job_settings(config[PROPERTIES])
        self._is_exact = config.get(keys.RELIABILITY_MODE) == keys.EFFECTIVELY_ONCE
        self._outputs = {each: self._settings.stream(each) for each in self._settings.outputs}
        self._failed: ReplayQueue[int] = ReplayQueue.of(config)
        self._pending: dict[int, tuple[TaskInstance, str, list[Any]]] = {}
        """Number -> the task, the stream and the values of a message without an ack."""
        self._numbers = count(1)
        self._has_emitted = self._is_leaving = self._is_ending = self._has_warned = False
        self._positions_of: dict[int, dict[str, TaskCheckpoint]] = {}
        """Checkpoint -> task -> positions, until the checkpoint is complete."""
        self._retained: dict[str, dict[str, int]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        ignored = without_effect(self._settings.properties)
        if ignored:
            self.logger.warning("keys without effect here (docs/SAMZA.md): %s", ", ".join(ignored))
        self._restored_bytes, self._restored_entries = CountMetric(), CountMetric()
        context.register_metric("samza-restored-bytes", self._restored_bytes, METRIC_SECS)
        context.register_metric("samza-restored-entries", self._restored_entries, METRIC_SECS)
        name = context.get_component_id()
        tasks = context.get_component_tasks(name)
        self._numbers_of_tasks = tasks.index(context.get_task_id()), len(tasks)
        self._assembly = Assembly(self._settings, self.logger)
        self._tasks: list[TaskInstance] = []
        self._is_open = False
        if not self._is_exact:
            self._open()
        self._commit_later()
        if self._settings.window_ms > 0:
            self._window_later()

    def _open(self) -> None:
        """Restore stores, and begin to read. Under checkpoints not before the first call of
        next_tuple: a new process is initialized without a state before the state is restored, and
        would cut changelogs to nothing."""
        self._is_open = True
        assembly = self._assembly
        calls = Calls(
            self._send, self._call_failed, self._requested, self.delegate.call_soon, self._start
        )
        try:
            saved_states = self._state.get(STATE_KEY) if self._is_exact else None
            for number in assembly.open(*self._numbers_of_tasks):
                saved = self._saved(f"Partition {number}", saved_states or {})
                cuts = self._is_exact or self._settings.restores_transactionally
                assembly.add_task(number, saved, cuts, calls)
            self._readers = assembly.begin()
        except BaseException:
            assembly.close()
            raise
        self._tasks = assembly.tasks
        for restored in assembly.restored.values():
            self._restored_bytes.incr(restored.size_bytes)
            self._restored_entries.incr(restored.entries)

    def _saved(self, task: str, states: dict[str, Any]) -> TaskCheckpoint | None:
        """Where a task goes on: by the engine's state, or else where a run before has ended."""
        if task in states:
            return TaskCheckpoint(*states[task])
        return self._assembly.checkpoints.read(task)

    # --- the loop ---------------------------------------------------------------------------------

    def next_tuple(self) -> None:
        """Process messages until one has an output."""
        if self._is_leaving:
            return
        if not self._is_open:
            self._open()
        self._has_emitted = False
        self._emit_failed()
        self._step_coroutines()
        self._commit_settled()
        for _ in range(0 if self._is_ending else MESSAGES_PER_CALL):
            self._fill()
            steps = [task.step() for task in self._tasks]  # each task has its turn
            if not any(steps) or self._has_emitted:
                break
            if self._is_leaving or all(task.wants_end for task in self._tasks):
                break
        self._commit_settled()
        self._end_if_over()

    def _fill(self) -> None:
        consumers = self._assembly.consumers
        for partition, readers in self._readers.items():
            if any(len(reader.inbox) > 1 for reader in readers):
                continue
            record = consumers[partition.system].take(partition)
            if record is not None:
                for reader in readers:
                    reader.put(record)
            elif consumers[partition.system].has_ended(partition):
                for reader in readers:
                    reader.has_ended()

    def _emit_failed(self) -> None:
        while (number := self._failed.take(time.monotonic())) is not None:
            if number in self._pending:
                _, stream, values = self._pending[number]
                self._has_emitted = True
                self.emit(values, tup_id=number, stream=stream)

    def _send(self, task: TaskInstance, envelope: OutgoingMessageEnvelope) -> None:
        values: list[Any] = encoded_output(envelope, self._outputs)
        stream = str(envelope.system_stream)
        if self._settings.is_of_files(envelope.system_stream):
            values = [self._line(envelope, values)]
        self._has_emitted = True
        if self._is_exact:
            self.emit(values, stream=stream)
            return
        number = next(self._numbers)
        self._pending[number] = task, stream, values
        task.unacked += 1
        self.emit(values, tup_id=number, stream=stream)

    def _line(self, envelope: OutgoingMessageEnvelope, values: list[bytes | None]) -> bytes:
        key, message = values
        separator = self._settings.of_system(envelope.system_stream.system, "key.separator")
        prefix = b"" if key is None or not separator else key + separator.encode()
        return prefix + (message or b"")

    def ack(self, tup_id: int) -> None:
        """A message is with the sink."""
        self._failed.acked(tup_id)
        if tup_id in self._pending:
            task, _, _ = self._pending.pop(tup_id)
            task.unacked -= 1

    def fail(self, tup_id: int) -> None:
        """Emit a message again, unless it is abandoned."""
        if tup_id in self._pending and (failures := self._failed.failed(tup_id, time.monotonic())):
            _, stream, values = self._pending[tup_id]
            self.ack(tup_id)
            abandon(self.delegate, tup_id, values, failures, f"a message for {stream}")

    # --- requests of tasks -----------------------------------------------------------------------

    def _requested(self, task: TaskInstance, coordinator: TaskCoordinator) -> None:
        commit, shutdown = coordinator.commit_requested, coordinator.shutdown_requested
        for asked in self._in_scope(commit, task):
            asked.is_settling = not self._is_exact
        for asked in self._in_scope(shutdown, task):
            asked.wants_end = True
        if commit is not None and self._is_exact and not self._has_warned:
            self._has_warned = True
            self.logger.warning("commit() has no effect under %s: checkpoints commit",
                                keys.EFFECTIVELY_ONCE)  # fmt: skip

    def _in_scope(self, scope: RequestScope | None, task: TaskInstance) -> list[TaskInstance]:
        if scope is None:
            return []
        return [task] if scope == RequestScope.CURRENT_TASK else self._tasks

    def _call_failed(self, task: TaskInstance, error: BaseException, where: str) -> None:
        settings = self._settings
        names = {each.__name__ for each in type(error).__mro__} | {"*"}
        text = f"{task.name}: {where}: {type(error).__name__}: {error}" if where else str(error)
        if isinstance(error, Undecodable):
            is_dropped = settings.drops_undecodable
            text += "" if is_dropped else " (task.drop.deserialization.errors leaves it out)"
        else:
            is_dropped = bool(settings.ignored & names)
        if is_dropped:
            self.delegate.record_loss("a message is dropped", text)
            return
        self.logger.error("%s", text, exc_info=error)
        self._leave(text)

    def _leave(self, text: str) -> None:
        """End the process: the next one begins at the last commit."""
        if not self._is_leaving:
            self._is_leaving = True
            self.delegate.call_soon(partial(self._left, text))

    def _left(self, text: str) -> None:
        self._assembly.close()
        self.delegate.leave(text)

    def _start(self, coroutine: Any, ended: Callable[[BaseException | None], None]) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        future = self._loop.create_task(coroutine)
        future.add_done_callback(lambda done: ended(done.exception()))

    def _step_coroutines(self) -> None:
        if self._loop is not None and any(task.in_flight for task in self._tasks):
            self._loop.call_soon(self._loop.stop)
            self._loop.run_forever()

    # --- time and commits -------------------------------------------------------------------------

    def _window_later(self) -> None:
        self.delegate.call_later(self._settings.window_ms / 1000, self._window)

    def _window(self) -> None:
        for task in self._tasks:
            if isinstance(task.user, WindowableTask):
                task.window_due = True
        self._window_later()

    def _commit_later(self) -> None:
        if not self._is_exact and self._settings.commit_ms > 0:
            self.delegate.call_later(self._settings.commit_ms / 1000, self._commit_all)

    def _commit_all(self) -> None:
        self._settle(self._tasks)
        self._commit_later()

    def _settle(self, tasks: list[TaskInstance]) -> None:
        for task in tasks:
            task.is_settling = not self._is_exact

    def _commit_settled(self) -> None:
        for task in self._tasks:
            if task.is_settling and task.is_settled and not self._is_leaving:
                self._commit(task)
                task.is_settling = False

    def _commit(self, task: TaskInstance) -> None:
        """The order of S4: outputs are acked, stores and changelogs, then the offsets."""
        try:
            checkpoint = task.flush()
            self._assembly.checkpoints.write(task.name, checkpoint)
            task.compact(checkpoint.stores if self._settings.restores_transactionally else None)
        except Exception as error:
            self._leave(f"{task.name} cannot commit: {error}")

    def _end_if_over(self) -> None:
        if self._is_leaving:
            return
        if not self._is_ending and all(map(self._is_over, self._tasks)):
            for task in self._tasks:
                if not task.wants_end:
                    task.end_of_stream()
            self._is_ending = True
            self._settle(self._tasks)
            self._commit_settled()
        if self._is_ending and not any(task.is_settling for task in self._tasks):
            self.finish()

    def _is_over(self, task: TaskInstance) -> bool:
        if task.wants_end:
            return True
        consumers = self._assembly.consumers
        return task.in_flight == 0 and all(
            not each.inbox and consumers[each.partition.system].has_ended(each.partition)
            for each in task.inputs
        )

    # --- checkpoints of the engine ----------------------------------------------------------------

    def pre_save(self, checkpoint_id: Any) -> None:
        """Flush stores and changelogs; positions are part of the state."""
        if not self._is_exact or not self._is_open:
            return  # the state is as restored
        saved = {task.name: task.flush() for task in self._tasks}
        states = {name: [each.positions, each.stores] for name, each in saved.items()}
        self._state.put(STATE_KEY, states)
        waiting = self._positions_of
        waiting[int(checkpoint_id)] = saved
        while len(waiting) > CHECKPOINTS_MAX:
            del waiting[min(waiting)]
        for task in self._tasks:
            task.compact(self._retained.get(task.name, {}))

    def post_save(self, checkpoint_id: Any) -> None:
        """Restores ask for this checkpoint or for a newer one; another run begins here."""
        completed: dict[str, TaskCheckpoint] = {}
        for number in sorted(each for each in self._positions_of if each <= int(checkpoint_id)):
            completed = self._positions_of.pop(number)
        for name, checkpoint in completed.items():
            self._assembly.checkpoints.write(name, checkpoint)
            self._retained[name] = checkpoint.stores

    def pre_restore(self, checkpoint_id: Any) -> None:
        """Another object goes on."""
        self._assembly.close()

    def close(self) -> None:
        """Close tasks; commit those without calls or messages under way."""
        for task in self._tasks:
            if isinstance(task.user, ClosableTask):
                task.user.close()
            if not self._is_exact and task.is_settled and not self._is_leaving:
                self._commit(task)
        if self._loop is not None:
            self._loop.close()
        self._assembly.close()
