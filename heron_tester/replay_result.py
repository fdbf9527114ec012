"""Result of a replay."""

from dataclasses import dataclass, field

from heron_core.flight_records import Failure
from heron_tester.replayed_output import OutputDifference


@dataclass(frozen=True, slots=True)
class ReplayFailure:
    """An exception of user code in a replay."""

    failure: Failure
    tuple_number: int
    """Number of the newest tuple; the first tuple is 1."""


@dataclass(slots=True)
class ReplayResult:
    """Result of a replay."""

    tuples: int = 0
    """Tuples begun, or calls of next_tuple of a spout."""
    emitted: int = 0
    failures: list[ReplayFailure] = field(default_factory=list)
    recorded: list[Failure] = field(default_factory=list)
    """Recorded exceptions of user code."""
    output: OutputDifference = field(default_factory=lambda: OutputDifference(0, 0, 0, 0))
    notes: list[str] = field(default_factory=list)
    """Differences between recording and replay that are known."""

    @property
    def has_failed_again(self) -> bool:
        """Whether the last failure equals the recorded failure."""
        return bool(self.failures and self.recorded) and (
            self.failures[-1].failure == self.recorded[-1]
        )

    @property
    def differs(self) -> bool:
        """Whether user code raised an exception that is not recorded."""
        known = list(self.recorded)
        for each in self.failures:
            if each.failure not in known:
                return True
            known.remove(each.failure)
        return False
