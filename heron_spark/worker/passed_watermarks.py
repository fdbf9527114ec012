"""Watermarks of a task: at the end of each batch, the newest goes to all readers of the task.

The blocks of one task are unordered within a batch, so a bolt receives watermarks after all tuples
of the batch (task_host.py). Watermarks are repeated in each batch, because a reader may have moved
to another host. The end of a task follows the last watermark and does not replace the watermark: a
timer registered while others fire is due too, if its time is below the watermark.
"""

from typing import Any

from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_core.wire.packets import encode_watermark, watermark_of
from heron_spark.compile.plan import QueryPlan


def is_watermark(frames: Frames) -> bool:
    """Whether a message is a watermark."""
    return header_of(frames).kind == FrameKind.WATERMARK


class PassedWatermarks:
    """Watermark and end of one task."""

    def __init__(self, plan: QueryPlan, task: int) -> None:
        component = plan.packing.instances[task].component
        readers = sorted(plan.topology.readers_of(component))
        self._task = task
        self._readers = [each for name in readers for each in plan.packing.tasks_of[name]]
        self.newest_ms: int | None = None
        """Below the end of time; None without a watermark."""
        self._has_ended = False
        """The end alone is not sent: all windows are complete in the last batch."""
        self._epoch = 0

    @property
    def state(self) -> list[Any]:
        """State for a successor."""
        return [self.newest_ms, self._has_ended]

    def restore(self, state: list[Any]) -> None:
        """Restore the state of a previous process."""
        self.newest_ms, self._has_ended = state

    def take(self, frames: Frames) -> None:
        """The task sends one."""
        watermark_ms = watermark_of(frames)
        self._epoch = header_of(frames).epoch
        if watermark_ms == END_OF_TIME:
            self._has_ended = True
        elif self.newest_ms is None or watermark_ms > self.newest_ms:
            self.newest_ms = watermark_ms

    def messages(self) -> list[Frames]:
        """Those for each reader, in the order of their times."""
        if self.newest_ms is None:
            return []
        times = (self.newest_ms, END_OF_TIME) if self._has_ended else (self.newest_ms,)
        return [
            encode_watermark(self._epoch, self._task, each, time_ms)
            for time_ms in times
            for each in self._readers
        ]
