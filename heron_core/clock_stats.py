"""Clocks in the statistics: event time, and the minimum clock of any topology."""

from collections.abc import Mapping

from msgspec import Struct

BEHIND_SECS = 3.0
"""Age from which something in flight is told: looks and reports are a second apart each, so that
two seconds may be nothing."""


class ClockStats(Struct, frozen=True, kw_only=True):
    """Event time of an instance; of several, the slowest instance's."""

    instance: str
    """component[index]"""
    task: int
    watermark_ms: int | None
    """Lower bound of later events, in ms since 1970; None without one, or after the end."""
    complete: bool
    """Whether all sources of the component have finished."""
    waits_for: str | None
    """The source that holds the watermark back: component[index], or component.stream where the
    sources are streams; None if all sources are idle or have finished."""
    waits_for_task: int | None
    silent_secs: float
    """Silence of the source."""
    idle: tuple[str, ...]
    """Silent sources, left out of the watermark."""


class MinimumClockStats(Struct, frozen=True, kw_only=True):
    """The time before which all that began is finished, in any topology (minimum_clock.py in
    heron_core/algorithms): exact to two seconds, and never falling while the topology master lives.

    A failed tuple that its spout emits again begins again.
    """

    clock_ms: int
    """In ms since 1970, by the topology master's clock."""
    behind_secs: float
    """Age of what holds the clock back, since its spout emitted it (trees), or since it came to the
    place; below BEHIND_SECS it may be nothing."""
    place: str
    """heron_core.algorithms.minimum_clock.PlaceKind: queue, trees or links. Without acks there are
    no trees, and tuples within a process are not measured."""
    held_by: str
    """component[index] whose queue is the oldest, `container N` for its links, a component that
    has not acked its tuples; empty if unknown."""
    components: Mapping[str, float]
    """component -> the age of its oldest message or root; without the spouts where nothing is
    acked."""
