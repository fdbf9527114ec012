"""Window lengths and slides (org.apache.storm.streams.windowing)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from heron_core import config as keys
from heron_core.records import replace
from heronpy_compat.streamlet.errors import StreamletError


@dataclass(frozen=True, slots=True)
class WindowLength:
    """A number of elements, or milliseconds."""

    amount: int
    is_count: bool

    def __post_init__(self) -> None:
        if type(self.amount) is not int or self.amount < 1:
            what = "elements" if self.is_count else "milliseconds"
            raise StreamletError(f"a window has a whole number of {what}, not {self.amount!r}")

    def key(self, count: str, duration_ms: str) -> dict[str, int]:
        """Entry of a WindowedBolt's config."""
        return {count if self.is_count else duration_ms: self.amount}


class StreamDuration:
    """Storm's BaseWindowedBolt.Duration."""

    @staticmethod
    def of(milliseconds: int) -> WindowLength:
        """So many milliseconds."""
        return WindowLength(milliseconds, False)

    @staticmethod
    def seconds(number: int) -> WindowLength:
        """So many seconds."""
        return WindowLength(number * 1000, False)

    @staticmethod
    def minutes(number: int) -> WindowLength:
        """So many minutes."""
        return StreamDuration.seconds(number * 60)

    @staticmethod
    def hours(number: int) -> WindowLength:
        """So many hours."""
        return StreamDuration.minutes(number * 60)

    @staticmethod
    def days(number: int) -> WindowLength:
        """So many days."""
        return StreamDuration.hours(number * 24)


@dataclass(frozen=True, slots=True)
class StreamWindows:
    """Windows of a stream, by the time of arrival unless `withTimestampExtractor` says another."""

    length: WindowLength
    slide: WindowLength
    timestamp: Callable[[Any], Any] | None = None
    lag_ms: int = 0

    def withTimestampExtractor(self, function: Callable[[Any], Any]) -> "StreamWindows":
        """By event time: the function's milliseconds since 1970 of an element."""
        if not callable(function):
            raise StreamletError(f"withTimestampExtractor takes a function, not {function!r}")
        return replace(self, timestamp=function)

    def withLag(self, lag: WindowLength) -> "StreamWindows":
        """Longest lag of an element behind the latest element."""
        if not isinstance(lag, WindowLength) or lag.is_count:
            raise StreamletError(f"withLag takes a Duration, not {lag!r}")
        return replace(self, lag_ms=lag.amount)

    def withTimestampField(self, field: str) -> NoReturn:
        """Storm's; an element here is a value, and has no fields."""
        raise StreamletError(
            f"withTimestampField({field!r}): an element has no fields, so use"
            " withTimestampExtractor(function)"
        )

    def withLateTupleStream(self, stream: str) -> NoReturn:
        """Storm's; late elements are logged here."""
        raise StreamletError(
            f"withLateTupleStream({stream!r}): late elements of streams are logged; a streamlet's"
            " key_by(…).window(…) has late_elements()"
        )

    def config(self) -> dict[str, Any]:
        """Of a WindowedBolt."""
        return {
            **self.length.key(keys.WINDOW_LENGTH_COUNT, keys.WINDOW_LENGTH_MS),
            **self.slide.key(keys.WINDOW_SLIDE_COUNT, keys.WINDOW_SLIDE_MS),
            keys.TIMESTAMP_LAG_MS: self.lag_ms,
        }


class TumblingWindows:
    """Tumbling windows."""

    @staticmethod
    def of(length: WindowLength) -> StreamWindows:
        """Of Count.of(10) elements, or of Duration.seconds(10)."""
        return StreamWindows(checked_length(length), length)


class SlidingWindows:
    """Windows that overlap."""

    @staticmethod
    def of(length: WindowLength, slide: WindowLength) -> StreamWindows:
        """Sliding windows: a window of the length ends after each `slide`."""
        return StreamWindows(checked_length(length), checked_length(slide))


def checked_length(length: object) -> WindowLength:
    """Convert a length; RuntimeError for an invalid type."""
    if not isinstance(length, WindowLength):
        raise StreamletError(f"a window takes Count.of(10) or Duration.seconds(10), not {length!r}")
    return length
