"""The event-time clock of an instance as it travels in its numbers."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK

ClockState = Mapping[str, Any]
"""Plain data, made by `clock_state`."""
PARTITION_CHARACTERS = 100
"""Longest name of a partition, which may be any value."""
LISTS = (list, tuple)
"""Types of a source and of a list of sources: as created, and as parsed from a message."""
IDLE_MAX = 20
"""Limit of named idle sources; a longer list is not needed."""


def clock_state(
    watermark_ms: int, waits_for: Hashable | None, silent_secs: float, idle: Iterable[Hashable]
) -> ClockState:
    """`waits_for` and `idle`: sources, each (component, task) or (component, stream), or either
    with a partition behind it."""
    return {
        "watermark_ms": watermark_ms,
        "waits_for": None if waits_for is None else _plain(waits_for),
        "silent_secs": silent_secs,
        "idle": [_plain(source) for source in idle][:IDLE_MAX],
    }


def _plain(source: Any) -> list[Any]:
    component, which, *partition = source
    return [component, which, *(f"{each}"[:PARTITION_CHARACTERS] for each in partition)]


def is_clock_state(value: Any) -> bool:
    """Whether the value is None or a valid result of `clock_state`."""
    if value is None:
        return True
    return (
        type(value) is dict
        and type(value.get("watermark_ms")) is int
        and NO_WATERMARK <= value["watermark_ms"] <= END_OF_TIME
        and (value.get("waits_for") is None or _is_source(value["waits_for"]))
        and type(value.get("silent_secs")) in (int, float)
        and type(value.get("idle")) in LISTS
        and all(map(_is_source, value["idle"]))
    )


def _is_source(value: Any) -> bool:
    return (
        type(value) in LISTS
        and len(value) in (2, 3)
        and type(value[0]) is str
        and type(value[1]) in (int, str)
        and type(value[-1]) in (int, str)
    )
