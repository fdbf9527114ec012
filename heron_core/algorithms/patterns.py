"""Patterns of events: sequences within a time, without other events between (CEP).

    sequence(a, b, c).within(60).not_(d)

A *run* begins at each event that the first step takes. The next step takes the first later event
that fits, so a beginning has one match at most; events that do not fit are skipped. A run ends
without a match at an event of `not_` that its next step does not take, and when `within` is over:

    time      0     10    20    30    40       sequence(a, b).within(25).not_(d)
    events    a1    a2    b1    a3    d1
    runs      [a1 ------- b1]                  a match
                    [a2 - b1]                  a match
                                [a3 - d1       ends at d1

Events have one order: by time, equal times in the order of arrival.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from heron_core.errors import TopologyError
from heron_core.records import replace

Fits = Callable[[Any], Any]
"""Whether a step takes an event."""
Run = list[Any]
"""[time of the first event in ms, events so far]: plain data, part of the state."""
RUNS_MAX = 10_000
"""Open runs of a key. Each event is compared with all of them, and a checkpoint has them all."""
MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class Pattern:
    """Steps, the longest time from the first event to the last, and events that end a run.

    Example:

        pattern = sequence(is_order, is_payment).within(3_600).not_(is_refund)
    """

    steps: tuple[Fits, ...]
    within_ms: int | None = None
    excluded: tuple[Fits, ...] = ()

    def within(self, secs: float) -> "Pattern":
        """The last event comes at most so many seconds after the first. TopologyError unless
        positive."""
        is_number = isinstance(secs, int | float) and not isinstance(secs, bool)
        if not is_number or not 0 < secs < float("inf"):
            raise TopologyError(f"within takes a positive number of seconds, not {secs!r}")
        return replace(self, within_ms=max(1, round(secs * MILLISECONDS)))

    def not_(self, *excluded: Fits) -> "Pattern":
        """Events of these kinds between the first event and the last end the run."""
        return replace(self, excluded=(*self.excluded, *_checked("not_", excluded)))

    def problem(self) -> str | None:
        """Why the pattern cannot be used; None if it can."""
        if self.within_ms is None:
            return "a pattern needs within(secs): without a limit its open runs stay for ever"
        return None

    def advanced(
        self, runs: Sequence[Run], event: Any, time_ms: int
    ) -> tuple[list[Run], list[list[Any]]]:
        """The open runs after an event, and the matches that the event completes, in the order of
        their beginnings. TopologyError for more than RUNS_MAX runs."""
        is_excluded = any(fits(event) for fits in self.excluded)
        taken = [bool(fits(event)) for fits in self.steps]
        began = [[time_ms, []]] if taken[0] else []
        following: list[Run] = []
        matches: list[list[Any]] = []
        for began_ms, events in [*runs, *began]:
            if self._is_over(began_ms, time_ms):
                continue
            if not taken[len(events)]:
                if not is_excluded:
                    following.append([began_ms, events])
            elif len(events) + 1 == len(self.steps):
                matches.append([*events, event])
            else:
                following.append([began_ms, [*events, event]])
        if len(following) > RUNS_MAX:
            raise TopologyError(
                f"a key has more than {RUNS_MAX} open runs of a pattern: a first step that takes"
                " fewer events, or a shorter within"
            )
        return following, matches

    def _is_over(self, began_ms: int, time_ms: int) -> bool:
        return self.within_ms is not None and time_ms - began_ms > self.within_ms


def sequence(*steps: Fits) -> Pattern:
    """Events taken by these functions, in their order. TopologyError without a step."""
    if not steps:
        raise TopologyError("a sequence has at least one step")
    return Pattern(_checked("sequence", steps))


def _checked(what: str, functions: Sequence[Fits]) -> tuple[Fits, ...]:
    for each in functions:
        if not callable(each):
            raise TopologyError(f"{what} takes functions of an event, not {each!r:.60}")
    return tuple(functions)
