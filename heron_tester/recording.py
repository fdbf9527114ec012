"""Wraps a component's methods, emits and log: records each event, and injects the faults requested
by a test.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from heron_api.user_errors import users_traceback
from heron_core.topology import DEFAULT_STREAM, ComponentSpec
from heron_tester.clock import VirtualClock
from heron_tester.faults import CRASH, DROP, RAISE, Faults, InputFault, InstanceKilled
from heron_tester.records import Emitted, Journal, LogLine, Problem, Received, Settled, snapshot

Call = Callable[..., Any]

MULTILANG = "heron_frontends.adapters.multilang"
"""Modules of components with a child process, which does not see virtual time."""

WATCHED = {
    True: ("next_tuple", "ack", "fail", "activate", "deactivate", "close"),
    False: ("process", "process_tick", "on_finish", "close"),
}
"""Calls of a spout's (True) or a bolt's user code whose exceptions are taken down."""


class Watch:
    """Watches one instance."""

    def __init__(
        self,
        name: str,
        task: int,
        is_spout: bool,
        clock: VirtualClock,
        journal: Journal,
        faults: Faults,
        spec: ComponentSpec,
    ) -> None:
        self.has_raised = False
        self.is_called = False
        """Whether user code runs: lines logged by a shared logger then belong to the component."""
        self.emit: Call
        """As user code emits."""
        self.done_at_once: list[Any] = []
        """Tuple ids of untracked emits of a spout, acked without a message."""
        self._name = name
        self._task = task
        self._is_spout = is_spout
        self._spec = spec
        self._clock = clock
        self._journal = journal
        self._faults = faults
        self._to_raise: BaseException | None = None
        """By the user's own process, as soon as it is called."""

    # --- methods of user code -----------------------------------------------------------------

    def put_around(self, component: Any, user: Any) -> None:
        """Watch a component; `user` is the user's object in it, or the component itself."""
        for name in WATCHED[self._is_spout]:
            method = getattr(component, name, None)
            if method is not None:
                setattr(component, name, self._watched(name, method))
        if not self._is_spout:
            user.process = self._raising(user.process)
            component.process = self._tested(component)

    def _watched(self, name: str, method: Call) -> Call:
        def watched(*arguments: Any, **named: Any) -> Any:
            try:
                return method(*arguments, **named)
            except Exception as error:
                if not self._journal.ends_with(error, provoked=True):
                    self.raised(name, error)
                raise

        return watched

    def _raising(self, process: Call) -> Call:
        def raising(tup: Any) -> Any:
            if self._to_raise is None:
                return process(tup)
            error, self._to_raise = self._to_raise, None
            raise error

        return raising

    def _tested(self, component: Any) -> Call:
        process = component.process

        def tested(tup: Any) -> Any:
            self._received(tup)
            fault = self._faults.pick(self._name, self._task, tup)
            if fault is None:
                return process(tup)
            self._suffer(fault, component, process, tup)
            return None

        return tested

    def _suffer(self, fault: InputFault, component: Any, process: Call, tup: Any) -> None:
        if fault.action == CRASH:
            raise InstanceKilled
        if fault.action == DROP:
            if tup.roots:
                tup.roots.clear()  # whoever acks it now acks nothing
        elif fault.action == RAISE:
            assert fault.error is not None
            self.raised("process", fault.error, provoked=True)
            self._to_raise = fault.error
            process(tup)  # what is around the user's own process sees it raise
        else:
            component.fail(tup)

    def _received(self, tup: Any) -> None:
        """A tuple, or each row of a batch."""
        is_batch = hasattr(tup.values, "num_rows")
        for values in rows_of(tup.values) if is_batch else (tup.values or (),):
            self._journal.received.append(
                Received(
                    snapshot(values), self._name, self._task, tup.component, tup.stream,
                    tup.task, self._clock.time(),
                )
            )  # fmt: skip

    # --- emit, ack and fail -------------------------------------------------------------------

    def around(self, name: str, call: Call) -> Call:
        """For heron_instance.runtime.factory: what user code calls as emit, ack or fail."""
        if name == "emit_batch":
            return (self._spout_emit_batch if self._is_spout else self._bolt_emit_batch)(call)
        if name != "emit":
            return partial(self._settling, call, name == "ack")
        self.emit = (self._spout_emit if self._is_spout else self._bolt_emit)(call)
        return self.emit

    def _settling(self, call: Call, acked: bool, tup: Any) -> None:
        call(tup)
        self.outcome(tup, acked)

    def _bolt_emit(self, emit: Call) -> Call:
        def watched(
            tup: Sequence[Any],
            stream: str = DEFAULT_STREAM,
            anchors: Sequence[Any] | None = None,
            direct_task: int | None = None,
            need_task_ids: bool = False,
        ) -> Any:
            tasks = emit(tup, stream, anchors, direct_task, need_task_ids)
            self._emitted(tup, stream, tuple(anchors or ()), None, direct_task)
            return tasks

        return watched

    def _spout_emit(self, emit: Call) -> Call:
        def watched(
            tup: Sequence[Any],
            tup_id: Any = None,
            stream: str = DEFAULT_STREAM,
            direct_task: int | None = None,
            need_task_ids: bool = False,
        ) -> Any:
            done, before = self.done_at_once, len(self.done_at_once)
            tasks = emit(tup, tup_id, stream, direct_task, need_task_ids)
            self._emitted(tup, stream, (), tup_id, direct_task)
            if len(done) > before:
                self.outcome(tup_id, True)
            return tasks

        return watched

    def _bolt_emit_batch(self, emit_batch: Call) -> Call:
        def watched(
            frame: Any,
            stream: str = DEFAULT_STREAM,
            anchors: Sequence[Any] | None = None,
            direct_task: int | None = None,
        ) -> None:
            emit_batch(frame, stream, anchors, direct_task)
            for values in self._rows(frame, stream):
                self._emitted(values, stream, tuple(anchors or ()), None, direct_task)

        return watched

    def _spout_emit_batch(self, emit_batch: Call) -> Call:
        def watched(
            frame: Any,
            tup_id: Any = None,
            stream: str = DEFAULT_STREAM,
            direct_task: int | None = None,
        ) -> None:
            done, before = self.done_at_once, len(self.done_at_once)
            emit_batch(frame, tup_id, stream, direct_task)
            for values in self._rows(frame, stream):
                self._emitted(values, stream, (), tup_id, direct_task)
            if len(done) > before:
                self.outcome(tup_id, True)

        return watched

    def _rows(self, frame: Any, stream: str) -> list[list[Any]]:
        """The tuples of a frame that was emitted."""
        from heron_instance.emit.frames import record_batches  # it needs pyarrow

        spec = self._spec.stream(stream)
        assert spec is not None, "emit() has checked the stream"
        batches = record_batches(frame, spec, self._name)
        return [values for batch in batches for values in rows_of(batch)]

    def _emitted(
        self,
        values: Sequence[Any],
        stream: str,
        anchors: tuple[Any, ...],
        tup_id: Any,
        direct_task: int | None,
    ) -> None:
        self._journal.emitted.append(
            Emitted(
                snapshot(values), self._name, stream, self._task, anchors, users_id(tup_id),
                direct_task, self._clock.time(),
            )
        )  # fmt: skip

    def outcome(self, what: Any, acked: bool) -> None:
        """Take down what became of a spout's tuple id, or of a bolt's input."""
        self._journal.settled.append(Settled(users_id(what), self._name, self._task, acked))

    # --- errors and the log -------------------------------------------------------------------

    def raised(self, where: str, error: BaseException, provoked: bool = False) -> None:
        """Take down what user code raised."""
        self.has_raised = True
        self._journal.raised(self._name, self._task, where, error, provoked)

    def reported(self, text: str) -> None:
        """The core's report of an exception that is being handled, or of a component's error."""
        error, (what, _, rest) = sys.exc_info()[1], text.partition(":\n")
        # An own text, recorded within an `except`, is not the traceback of the handled exception.
        if error is None or (rest and _last_line(users_traceback(error)) not in rest):
            self.error_line(what, rest or text)
        elif not self._journal.ends_with(error):
            self.raised(what, error)

    def error_line(self, where: str, text: str) -> None:
        """Take down an error that is no exception."""
        self._journal.problems.append(Problem(self._name, self._task, where, None, text))

    def logged(self, record: logging.LogRecord, text: str) -> None:
        """Take down a line of the log."""
        self._journal.lines.append(LogLine(self._name, self._task, record.levelname, text))
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            if record.levelno >= logging.ERROR:
                self.error_line("log", text)
        elif not self._journal.ends_with(error):
            self.raised("log", error)


def rows_of(record_batch: Any) -> list[list[Any]]:
    """The tuples of a record batch."""
    from heron_core.wire import columns  # it needs pyarrow

    return columns.rows_of(record_batch)


def users_id(tup_id: Any) -> Any:
    """A tuple id as given by user code: an id of a child process is stored together with
    its child.
    """
    of_child = type(tup_id).__module__.startswith(MULTILANG)
    return tup_id.value if of_child else tup_id


class ComponentLines(logging.Handler):
    """Takes down what a component logs."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        """Take down one line."""
        self._watch.logged(record, self.format(record))


class SharedLines(ComponentLines):
    """Lines of a logger shared by all instances of a component, until `leave`."""

    def __init__(self, watch: Watch, logger: Any) -> None:
        super().__init__(watch)
        # Each Logger refers to the manager; instances share only loggers from getLogger().
        known = logging.root.manager.loggerDict.get(getattr(logger, "name", ""))
        shared = logger is known
        self._logger = logger if shared else None
        if self._logger is not None:
            self._logger.addHandler(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line comes from the watched instance."""
        return self._watch.is_called

    def leave(self) -> None:
        """Remove itself from the shared logger."""
        if self._logger is not None:
            self._logger.removeHandler(self)


def own_logger(name: str, watch: Watch, debug: bool) -> logging.Logger:
    """An instance's logger: its lines are recorded, and also reach the root's handlers."""
    logger = logging.Logger(name, logging.DEBUG if debug else logging.INFO)
    logger.parent = logging.getLogger()
    logger.addHandler(ComponentLines(watch))
    return logger


def _last_line(traceback: str) -> str:
    return traceback.rstrip().rpartition("\n")[2]
