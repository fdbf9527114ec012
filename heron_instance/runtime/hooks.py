"""Task hooks (heronpy.api.task_hook): wrapped around the calls only where a topology has some.

With hooks each call costs a look at the clock, so nothing of this is on the path without them.
"""

from collections.abc import Callable
from typing import Any

from heron_api.method_shapes import refuse_methods
from heron_api.task_hook import (
    BoltAckInfo,
    BoltExecuteInfo,
    BoltFailInfo,
    EmitInfo,
    ITaskHook,
    SpoutAckInfo,
    SpoutFailInfo,
)

Call = Callable[..., Any]
METHODS = tuple(name for name in vars(ITaskHook) if not name.startswith("_"))
"""Names of the methods of a hook."""


class TaskHooks:
    """All hooks of one task; their methods are called in order of their registration."""

    def __init__(self, hooks: list[Any], task: int, clock: Callable[[], float]) -> None:
        for each in hooks:
            refuse_methods(f"task hook {type(each).__name__}", each, METHODS)
        self._hooks = hooks
        self._task = task
        self._clock = clock

    def _ms_since(self, then: float | None) -> float:
        return 0.0 if then is None else (self._clock() - then) * 1000

    def clean_up(self) -> None:
        """The instance ends."""
        for hook in self._hooks:
            hook.clean_up()

    def around_emit(self, emit: Call, stream_position: int) -> Call:
        """`emit` that calls the hooks; `stream_position` counts the arguments after the values."""

        def hooked(tup: Any, *arguments: Any, **named: Any) -> Any:
            stream = named.get("stream", "default")
            if len(arguments) > stream_position:
                stream = arguments[stream_position]
            tasks = emit(tup, *arguments, **named)
            for hook in self._hooks:
                hook.emit(EmitInfo(tup, stream, self._task, tasks))
            return tasks

        return hooked

    def around_execute(self, process: Call) -> Call:
        """A bolt's processing of one tuple, with the duration for hooks."""

        def hooked(tup: Any) -> None:
            before = self._clock()
            process(tup)
            info = BoltExecuteInfo(tup, self._task, self._ms_since(before))
            for hook in self._hooks:
                hook.bolt_execute(info)

        return hooked

    def executed(self, tup: Any, secs: float) -> None:
        """A bolt's coroutine of one tuple has ended."""
        info = BoltExecuteInfo(tup, self._task, secs * 1000)
        for hook in self._hooks:
            hook.bolt_execute(info)

    def around_ack(self, ack: Call) -> Call:
        """A bolt's ack with hook calls."""

        def hooked(tup: Any) -> None:
            ack(tup)
            info = BoltAckInfo(tup, self._task, self._ms_since(tup.creation_time))
            for hook in self._hooks:
                hook.bolt_ack(info)

        return hooked

    def around_fail(self, fail: Call) -> Call:
        """A bolt's fail with hook calls."""

        def hooked(tup: Any) -> None:
            fail(tup)
            info = BoltFailInfo(tup, self._task, self._ms_since(tup.creation_time))
            for hook in self._hooks:
                hook.bolt_fail(info)

        return hooked

    def spout_ack(self, tup_id: Any, emitted_at: float | None) -> None:
        """A spout's tuple is processed."""
        info = SpoutAckInfo(tup_id, self._task, self._ms_since(emitted_at))
        for hook in self._hooks:
            hook.spout_ack(info)

    def spout_fail(self, tup_id: Any, emitted_at: float | None) -> None:
        """A spout's tuple failed or expired."""
        info = SpoutFailInfo(tup_id, self._task, self._ms_since(emitted_at))
        for hook in self._hooks:
            hook.spout_fail(info)
