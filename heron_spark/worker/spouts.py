"""Drives the spouts of one partition through a batch."""

from collections.abc import Callable, Sequence

from heron_spark.worker.rate_controller import RateController
from heron_spark.worker.runner import TaskRunner

TURN_SECS = 0.02
"""A turn ends with a flush, and so must be long enough to fill messages."""
SHORT_TURN_SECS = 0.001
FEW = 10_000
"""Remaining quota below which a turn is short, to limit the excess."""
SINGLE = 1000
"""Remaining quota below which next_tuple is called once per turn."""
PATIENCE_SECS = 0.3
"""Duration of polling silent spouts: an empty batch costs Spark as much as a full batch."""
PAUSES_SECS = (0.001, 0.001, 0.002, 0.005, 0.01)
"""Pause between two calls of a silent spout (Storm: 1 ms)."""


def drive(
    runners: Sequence[TaskRunner],
    controller: RateController,
    clock: Callable[[], float],
    sleep: Callable[[float], object],
    busy_secs: float,
) -> None:
    """Let each spout emit its quota, except for spouts that are silent, finished or busy for
    `busy_secs`.
    """
    started, quota, pauses = clock(), controller.quota, 0
    while waiting := [runner for runner in runners if _may_emit(runner, quota)]:
        emitted = [spout.turn(_turn_secs(spout, quota)) for spout in waiting]
        now = clock() - started
        if any(runner.made >= quota for runner in runners):
            controller.quota_reached()
        if now >= busy_secs:
            controller.quota_reached()
            return
        if any(emitted):
            pauses = 0
        elif now >= PATIENCE_SECS:
            return
        else:
            sleep(PAUSES_SECS[min(pauses, len(PAUSES_SECS) - 1)])
            pauses += 1


def _may_emit(runner: TaskRunner, quota: int) -> bool:
    return not (runner.finished or runner.has_whole_batch) and runner.made < quota


def _turn_secs(runner: TaskRunner, quota: int) -> float:
    """Length of a turn, 0 for one call."""
    if quota < SINGLE:
        return 0.0
    return SHORT_TURN_SECS if quota - runner.made < FEW else TURN_SECS
