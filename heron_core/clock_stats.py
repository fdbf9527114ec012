"""Clocks in the statistics: event time, and the minimum clock of any topology."""

from collections.abc import Mapping

from msgspec import Struct

BEHIND_SECS = 3.0
"""Smallest age on display: observations and reports are a second apart each, so that two seconds
may be no delay."""


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
    """Minimum clock of any topology (heron_core/algorithms/minimum_clock.py): exact to two seconds,
    and never falling during the life of a topology master.

    A replay of a failed tuple is a new tuple here.
    """

    clock_ms: int
    """In ms since 1970, by the topology master's clock."""
    behind_secs: float
    """Age of the oldest root since its emit (trees), or of the oldest message since its arrival;
    ages below BEHIND_SECS may be zero."""
    location: str
    """LocationKind of the oldest root or message: queue, trees or links. Without acks there are
    no trees, and tuples within a process are not measured."""
    holder: str
    """component[index] with the oldest queue, `container N` for its links, or a component with
    unsettled tuples; empty if unknown."""
    components: Mapping[str, float]
    """component -> age of its oldest message or root; without spouts where tuples are not
    acked."""
