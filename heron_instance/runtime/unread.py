"""The emit of a bolt without outputs: the tuples have no reader, and are dropped.

Storm ends the worker at such an emit for a topology submitted by Thrift. With Flux, `sparse run`
writes a pseudo field for these bolts, so the topology runs (as streamparse's example kafka-jvm
does). Here the topology runs as well; dropped tuples are counted, reported once, and make the
run INCOMPLETE.
"""

from collections.abc import Callable, Sequence
from typing import Any

from heron_core.topology import DEFAULT_STREAM


def undeclared_text(component: str) -> str:
    """Problem of a bolt that emits without outputs, and the remedy."""
    return (
        f"{component} emits, but declares no outputs, so its tuples are dropped:"
        " declare them, as in outputs = ['word'], or remove the emit"
    )


def dropping_emit(emit: Callable[..., Any], drop: Callable[[Any], None]) -> Callable[..., Any]:
    """`emit` for the streams that the component names; of the default stream each tuple is dropped,
    and `drop` is called with its anchors."""

    def dropping(
        tup: Sequence[Any],
        stream: str = DEFAULT_STREAM,
        anchors: Any = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        if stream != DEFAULT_STREAM or direct_task is not None:
            tasks: list[int] | None = emit(tup, stream, anchors, direct_task, need_task_ids)
            return tasks
        drop(anchors)
        return [] if need_task_ids else None

    return dropping
