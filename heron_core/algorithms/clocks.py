"""Event-time clocks of instances, as people see them, and the slowest of many."""

from collections.abc import Iterable, Sequence
from typing import Any

from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK
from heron_core.clock_stats import ClockStats
from heron_core.plans import PackingPlan, instance_name


def clock_stats(packing: PackingPlan, task: int, state: ClockState) -> ClockStats:
    """The clock of an instance, for people."""
    waits_for, watermark_ms = state["waits_for"], state["watermark_ms"]
    is_complete = watermark_ms == END_OF_TIME
    return ClockStats(
        instance=instance_name(packing, task),
        task=task,
        watermark_ms=None if is_complete or watermark_ms == NO_WATERMARK else watermark_ms,
        complete=is_complete,
        waits_for=None if waits_for is None else _source_name(packing, waits_for),
        waits_for_task=waits_for[1] if waits_for and type(waits_for[1]) is int else None,
        silent_secs=float(state["silent_secs"]),
        idle=tuple(_source_name(packing, each) for each in state["idle"]),
    )


def slowest(clocks: Iterable[ClockStats | None]) -> ClockStats | None:
    """The one that is behind all others; None without any."""
    return min((each for each in clocks if each is not None), key=_progress, default=None)


def _progress(clock: ClockStats) -> int:
    if clock.complete:
        return END_OF_TIME
    return NO_WATERMARK if clock.watermark_ms is None else clock.watermark_ms


def _source_name(packing: PackingPlan, source: Sequence[Any]) -> str:
    component, which, *partition = source
    name = f"{component}.{which}"
    if type(which) is int and which in packing.instances:
        name = instance_name(packing, which)
    return f"{name} partition {partition[0]}" if partition else name
