"""The emit of a bolt that declares no outputs: nobody can read it, so it is dropped."""

from collections.abc import Callable, Sequence
from typing import Any

from heron_core.topology import DEFAULT_STREAM


def dropping_emit(
    emit: Callable[..., Any], component: str, warn: Callable[[str], None]
) -> Callable[..., Any]:
    """`emit` for the streams that the component names; the default stream is dropped, and the log
    says so once."""
    warned = False

    def drop(
        tup: Sequence[Any],
        stream: str = DEFAULT_STREAM,
        anchors: Any = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        nonlocal warned
        if stream != DEFAULT_STREAM or direct_task is not None:
            found: list[int] | None = emit(tup, stream, anchors, direct_task, need_task_ids)
            return found
        if not warned:
            warned = True
            warn(f"{component} emits, but declares no outputs: its tuples are dropped")
        return [] if need_task_ids else None

    return drop
