"""Inputs and outputs of a window operator."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

NO_WATERMARK = -(2**63)
"""Before the first watermark: nothing is late."""
END_OF_TIME = 2**63 - 1
"""The watermark behind the last event of a finite input: every window is complete."""


class TimeWindow(NamedTuple):
    """From `start_ms` to just before `end_ms`."""

    start_ms: int
    end_ms: int


class Firing(StrEnum):
    """Why a result is shown: before its window is complete, because it is, or once more after.

    Example:

        class Counts(KeyedWindowBolt):
            def values(self, result):
                is_final = result.firing is not Firing.EARLY
                return [result.key, result.value, is_final]
    """

    EARLY = "early"
    ON_TIME = "on time"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a window of a key; `number` counts the window's results from 1."""

    key: Hashable
    window: TimeWindow
    value: Any
    firing: Firing
    number: int


@dataclass(frozen=True, slots=True)
class Late:
    """An event all of whose windows are dropped."""

    key: Hashable
    timestamp_ms: int
    value: Any


@dataclass(frozen=True, slots=True)
class Dropped:
    """An accumulator after its last result: its retained data may be released."""

    accumulator: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """A window whose result could not be made; the accumulators are dropped with it."""

    key: Hashable
    window: TimeWindow
    error: Exception
    accumulators: tuple[Any, ...]


Output = Result | Late | Dropped | Failed
