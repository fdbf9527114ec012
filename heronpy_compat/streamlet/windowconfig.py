"""How long a window is and how often one ends (heronpy.streamlet.windowconfig)."""

from datetime import timedelta

from heronpy_compat.streamlet.errors import StreamletError

Span = int | timedelta
"""Whole seconds."""


class WindowConfig:
    """Windows of `window_duration`, one of which ends every `slide_interval`; both timedeltas."""

    def __init__(self, window_duration: timedelta, slide_interval: timedelta) -> None:
        self._window_duration = window_duration
        self._slide_interval = slide_interval

    @property
    def duration_secs(self) -> int:
        """The duration; of a day and more, too."""
        return int(self._window_duration.total_seconds())

    @property
    def slide_secs(self) -> int:
        """The slide interval."""
        return int(self._slide_interval.total_seconds())

    @staticmethod
    def create_tumbling_window(window_duration: Span) -> "WindowConfig":
        """Windows one after the other; seconds or a timedelta, RuntimeError for a part of one."""
        duration = _span("window_duration", window_duration)
        return WindowConfig(duration, duration)

    @staticmethod
    def create_sliding_window(window_duration: Span, slide_interval: Span) -> "WindowConfig":
        """Windows that overlap; seconds or timedeltas, RuntimeError for a part of a second."""
        duration = _span("window_duration", window_duration)
        slide = _span("slide_interval", slide_interval)
        if slide > duration:
            raise StreamletError(f"slide_interval {slide} is longer than the window: {duration}")
        return WindowConfig(duration, slide)


def _span(name: str, value: object) -> timedelta:
    if isinstance(value, int) and not isinstance(value, bool):
        value = timedelta(seconds=value)
    if not isinstance(value, timedelta):
        raise StreamletError(f"{name} must be a number of seconds or a timedelta, not {value!r}")
    if value.microseconds or value <= timedelta(0):
        raise StreamletError(f"{name} must be whole seconds, at least one, not {value}")
    return value
