"""A stretch of time (heronpy.streamlet.window)."""

from dataclasses import dataclass


@dataclass(init=False, repr=False, unsafe_hash=True)
class Window:
    """From `_start_time` to `_end_time`, in seconds since 1970; equal windows are equal."""

    _start_time: float
    _end_time: float

    def __init__(self, start_time: float, end_time: float) -> None:
        self._start_time = start_time
        self._end_time = end_time

    @property
    def start_time(self) -> float:
        """Its first moment, in seconds since 1970."""
        return self._start_time

    @property
    def end_time(self) -> float:
        """The first moment that is not in it any more, in seconds since 1970."""
        return self._end_time

    def __repr__(self) -> str:
        return f"Window {{start_time: {self._start_time}, end_time: {self._end_time}}}"
