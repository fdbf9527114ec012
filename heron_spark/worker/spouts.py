"""Drives the spouts of one partition for a batch."""

from collections.abc import Callable, Sequence

from heron_spark.worker.rate_controller import RateController
from heron_spark.worker.runner import TaskRunner

TURN_SECS = 0.02
"""A turn ends with a flush, so it is long enough to fill messages."""
SHORT_TURN_SECS = 0.001
FEW = 10_000
"""With less than this left to emit a turn is short, so that it does not emit much more."""
SINGLE = 1000
"""With less than this left next_tuple is called once a turn."""
PATIENCE_SECS = 0.3
"""How long silent spouts are asked: an empty batch costs as much of Spark as any other."""
PAUSES_SECS = (0.001, 0.001, 0.002, 0.005, 0.01)
"""Between two calls of a spout that emits nothing (Storm: 1 ms)."""


def drive(
    runners: Sequence[TaskRunner],
    controller: RateController,
    clock: Callable[[], float],
    sleep: Callable[[float], object],
    busy_secs: float,
) -> None:
    """Let each spout emit its quota, unless it is silent, finished or takes `busy_secs`."""
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
    """How long a turn is, 0 for one call."""
    if quota < SINGLE:
        return 0.0
    return SHORT_TURN_SECS if quota - runner.made < FEW else TURN_SECS
