"""Standby containers: granted, with a process that waits to become any container of the plan. Pure.

Each has a slot as the others have, with a number from STANDBY_FIRST on. When a container of the
plan is to be asked for, added or lost, a standby one takes its place at once, and another one is
asked for in its stead. It is as large as the largest container, and shrinks to what it became.
"""

from collections.abc import Mapping

from heron_engine.scheduler.backends.yarn.events import Ask

STANDBY_FIRST = 100_000
"""No packing plan has so many containers."""


def is_standby(number: int) -> bool:
    """Whether a number is that of a standby container."""
    return number >= STANDBY_FIRST


def with_standby(asks: Mapping[int, Ask], count: int) -> dict[int, Ask]:
    """The containers that have to run, and so many standby ones."""
    largest = Ask(0, 0)
    for each in asks.values():
        largest = largest.larger(each)
    waiting = range(STANDBY_FIRST, STANDBY_FIRST + count if asks else STANDBY_FIRST)
    return {**asks, **dict.fromkeys(waiting, largest)}
