"""A bolt inside of another one, which drives it as the engine would."""

from collections.abc import Callable, Sequence
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.method_shapes import refuse_coroutine
from heron_core.errors import ComponentError
from heron_core.topology import DEFAULT_STREAM


class InnerBolt:
    """It acks and anchors as the class of the bolt says (`auto_ack`, `auto_anchor`); what `process`
    raises passes through, and is the outer bolt's to fail."""

    def __init__(
        self,
        kind: type[Bolt],
        outer: Any,
        emit: Callable[..., Any],
        ack: Callable[[Any], None],
        fail: Callable[[Any], None],
    ) -> None:
        """`outer`: its delegate has all else that a bolt may call."""
        self._current: Any = None
        self._emit, self._ack = emit, ack
        self._anchors_all = bool(kind.auto_anchor)
        self.bolt = kind(delegate=_InnerDelegate(outer, self.emit, ack, fail))

    def emit(
        self,
        values: Sequence[Any],
        stream: str = DEFAULT_STREAM,
        anchors: Sequence[Any] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        """Of the bolt."""
        if anchors is None and self._anchors_all and self._current is not None:
            anchors = [self._current]
        return self._emit(values, stream, anchors, direct_task, need_task_ids)

    def process(self, tup: Any) -> None:
        """Call the bolt with a tuple."""
        self._current = tup
        try:
            refuse_coroutine(self.bolt.process, self.bolt.process(tup))
        finally:
            self._current = None
        if self.bolt.auto_ack:
            self._ack(tup)

    def process_tick(self, tup: Any) -> None:
        """Call the bolt with a tick."""
        self.bolt.process_tick(tup)

    def close(self) -> None:
        """The bolt's own, if it has one."""
        close = getattr(self.bolt, "close", None)
        if close is not None:
            close()


class _InnerDelegate:
    def __init__(
        self,
        outer: Any,
        emit: Callable[..., Any],
        ack: Callable[[Any], None],
        fail: Callable[[Any], None],
    ) -> None:
        self._outer = outer
        self.logger = outer.logger
        self.emit, self.ack, self.fail = emit, ack, fail

    def __getattr__(self, name: str) -> Any:
        if name == "emit_batch":
            raise ComponentError("a nested bolt emits tuples: use emit")
        return getattr(self._outer.delegate, name)
