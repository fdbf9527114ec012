"""The watermarks of a task: its newest one goes to all of its readers at the end of each batch.

A batch has no order between the blocks of one task, so a bolt is given them behind all tuples of
the batch (task_host.py). They are sent in each batch, as a reader may be in another host by then.
That a task has finished is said behind its last time and does not take its place: a timer that is
registered while others are due is due, too, if that time has passed it.
"""

from typing import Any

from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_core.wire.packets import encode_watermark, watermark_of
from heron_spark.compile.plan import QueryPlan


def is_watermark(frames: Frames) -> bool:
    """Whether a message is one."""
    return header_of(frames).kind == FrameKind.WATERMARK


class PassedWatermarks:
    """What one task has to say."""

    def __init__(self, plan: QueryPlan, task: int) -> None:
        component = plan.packing.instances[task].component
        readers = sorted(plan.topology.readers_of(component))
        self._task = task
        self._readers = [each for name in readers for each in plan.packing.tasks_of[name]]
        self.newest_ms: int | None = None
        """Below the end of time; None if it has said nothing."""
        self._has_ended = False
        """That alone is nothing to say: all windows are complete in the last batch."""
        self._epoch = 0

    @property
    def state(self) -> list[Any]:
        """What a successor has to know."""
        return [self.newest_ms, self._has_ended]

    def restore(self, state: list[Any]) -> None:
        """Go on as this one's successor."""
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
