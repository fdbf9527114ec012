"""A span of time as an object (java.time.Duration), for the arguments of Flux files."""

from datetime import timedelta


class Duration(timedelta):
    """A timedelta that is made by Java's factories: `Duration.of_seconds(5)`."""

    @classmethod
    def of_days(cls, number: int) -> "Duration":
        """So many days of 24 hours."""
        return cls(days=number)

    @classmethod
    def of_hours(cls, number: int) -> "Duration":
        """So many hours."""
        return cls(hours=number)

    @classmethod
    def of_minutes(cls, number: int) -> "Duration":
        """So many minutes."""
        return cls(minutes=number)

    @classmethod
    def of_seconds(cls, number: int) -> "Duration":
        """So many seconds."""
        return cls(seconds=number)

    @classmethod
    def of_millis(cls, number: int) -> "Duration":
        """So many milliseconds."""
        return cls(milliseconds=number)

    @classmethod
    def of_nanos(cls, number: int) -> "Duration":
        """So many nanoseconds, in whole microseconds."""
        return cls(microseconds=number // 1000)
