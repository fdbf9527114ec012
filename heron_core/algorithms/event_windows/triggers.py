"""When a window's result is shown.

A window is always shown once when the watermark reaches its end (firing "on time"), and what came
after that is shown at the latest before the window is dropped. A trigger says what else is shown.
"""

from dataclasses import dataclass

from heron_core.errors import TopologyError


@dataclass(frozen=True, slots=True)
class Trigger:
    """Additional results of a window, early and late; None for none.

    Accumulating results cover the whole window; discarding results only events since the
    previous result (Flink's PURGE).

        trigger = Trigger(early_ms=10_000)  # a preliminary result every ten seconds
    """

    early_count: int | None = None
    """Before the end, with every so many events."""
    early_ms: int | None = None
    """Before the end, so long (in processing time) after the first event not yet shown."""
    late_count: int | None = 1
    """After the end, with every so many late events."""
    late_ms: int | None = None
    """After the end, so long (in processing time) after the first late event not yet shown."""
    discarding: bool = False

    def __post_init__(self) -> None:
        for name in ("early_count", "early_ms", "late_count", "late_ms"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise TopologyError(f"trigger: {name} must be a whole number from 1, not {value!r}")

    @property
    def is_early(self) -> bool:
        """Whether events before the end of their window can cause a result."""
        return self.early_count is not None or self.early_ms is not None

    def limits(self, is_late: bool) -> tuple[int | None, int | None]:
        """(number of events, milliseconds) after which a window is shown."""
        if is_late:
            return self.late_count, self.late_ms
        return self.early_count, self.early_ms


AT_WATERMARK = Trigger()
"""One result when the window is complete, another one for each late event."""
