"""Windows as Flux and ECO files name them: extents as objects, and Flux's example of a bolt."""

from datetime import timedelta
from typing import Any

from heron_api.windows.windowed_bolt import WindowedBolt

_UNITS_MS = {
    "NANOSECONDS": 1e-6,
    "MICROSECONDS": 1e-3,
    "MILLISECONDS": 1,
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
}
"""Names of Java's TimeUnit constants -> milliseconds per unit."""


def _whole(value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"a whole number from {least} on is needed, not {value!r}")
    return value


class WindowCount:
    """A number of tuples (Storm, Heron: BaseWindowedBolt.Count)."""

    def __init__(self, value: int) -> None:
        """ValueError for what is not a whole number above 0."""
        self.value = _whole(value, 1)

    @classmethod
    def of(cls, value: int) -> "WindowCount":
        """The same."""
        return cls(value)


class WindowDuration:
    """A span of time, `value` in milliseconds (Storm: BaseWindowedBolt.Duration)."""

    def __init__(self, value: int, time_unit: str) -> None:
        """ValueError for a negative number, or a unit that is not one of TimeUnit."""
        if time_unit not in _UNITS_MS:
            raise ValueError(f"the unit is one of {', '.join(_UNITS_MS)}, not {time_unit!r}")
        self.value = int(_whole(value, 0) * _UNITS_MS[time_unit])

    @classmethod
    def of(cls, milliseconds: int) -> "WindowDuration":
        """So many milliseconds."""
        return cls(milliseconds, "MILLISECONDS")

    @classmethod
    def seconds(cls, number: int) -> "WindowDuration":
        """So many seconds."""
        return cls(number, "SECONDS")

    @classmethod
    def minutes(cls, number: int) -> "WindowDuration":
        """So many minutes."""
        return cls(number, "MINUTES")

    @classmethod
    def hours(cls, number: int) -> "WindowDuration":
        """So many hours."""
        return cls(number, "HOURS")

    @classmethod
    def days(cls, number: int) -> "WindowDuration":
        """So many days of 24 hours."""
        return cls(number, "DAYS")


def milliseconds_of(value: Any) -> int | None:
    """The length of a WindowDuration or a timedelta (java.time.Duration); None for another
    value."""
    if isinstance(value, WindowDuration):
        return value.value
    return value // timedelta(milliseconds=1) if isinstance(value, timedelta) else None


class WindowSizes(WindowedBolt):
    """How many tuples each window has (TestWindowBolt of Flux's examples)."""

    outputs = ["count"]

    def execute(self, window: Any) -> None:
        """One number."""
        self.emit([len(window.get())])
