"""The watermarks of a task: its newest one goes to all of its readers at the end of each batch.

A batch has no order between the blocks of one task, so a bolt is given them behind all tuples of
the batch (task_host.py). They are sent in each batch, as a reader may be in another host by then.
"""

from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.wire.frames import Frames, Kind, header_of
from heron_core.wire.packets import encode_watermark, watermark_of
from heron_spark.compile import Plan


def is_watermark(frames: Frames) -> bool:
    """Whether a message is one."""
    return header_of(frames).kind == Kind.WATERMARK


class PassedWatermarks:
    """What one task has to say."""

    def __init__(self, plan: Plan, task: int) -> None:
        component = plan.packing.instances[task].component
        readers = sorted(plan.topology.readers_of(component))
        self._task = task
        self._readers = [each for name in readers for each in plan.packing.tasks_of[name]]
        self.newest_ms: int | None = None
        """None if it has said nothing; that it has finished alone is nothing, either: all windows
        are complete in the last batch."""
        self._epoch = 0

    def take(self, frames: Frames) -> None:
        """The task sends one."""
        watermark_ms = watermark_of(frames)
        self._epoch = header_of(frames).epoch
        if self.newest_ms is not None or watermark_ms != END_OF_TIME:
            self.newest_ms = max(watermark_ms, self.newest_ms or watermark_ms)

    def messages(self) -> list[Frames]:
        """One for each reader."""
        if self.newest_ms is None:
            return []
        return [
            encode_watermark(self._epoch, self._task, each, self.newest_ms)
            for each in self._readers
        ]
