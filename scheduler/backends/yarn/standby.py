"""Standby containers: granted, with a process that can become any container of the plan. Pure.

Each has a slot, numbered from STANDBY_FIRST on. When a container of the plan is added or lost, a
standby container takes its place at once, and a new standby container is requested. The size is
the largest container's, reduced after the assignment.
"""

from collections.abc import Mapping

from heron_engine.scheduler.backends.yarn.events import Ask

STANDBY_FIRST = 100_000
"""No packing plan has so many containers."""


def is_standby(number: int) -> bool:
    """Whether a number is that of a standby container."""
    return number >= STANDBY_FIRST


def with_standby(asks: Mapping[int, Ask], count: int) -> dict[int, Ask]:
    """The required containers, plus the configured number of standby containers."""
    largest = Ask(0, 0)
    for each in asks.values():
        largest = largest.larger(each)
    waiting = range(STANDBY_FIRST, STANDBY_FIRST + count if asks else STANDBY_FIRST)
    return {**asks, **dict.fromkeys(waiting, largest)}
