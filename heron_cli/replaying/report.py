"""Report of a replay, for the terminal and as JSON."""

from typing import Any

from heron_cli.replaying.run_replay import ReplayEnd
from heron_core.incidents import DEMANDED, KILLED, IncidentSummary
from heron_tester.replay_result import ReplayFailure, ReplayResult

SAME, OTHER, NONE, ENDED = "same failure", "another failure", "no failure", "until"
EXIT_CODES = {NONE: 0, ENDED: 0, SAME: 3, OTHER: 4}
"""A replay without a failure succeeds, as a test does: `git bisect run heronpy replay …`."""
VALUES_SHOWN = 200


class ReplayReport:
    """What came of the replay of an incident."""

    def __init__(self, summary: IncidentSummary, end: ReplayEnd, until: int | None) -> None:
        self._summary = summary
        self._end = end
        self._result = end.result or ReplayResult(tuples=end.begun)
        self.outcome = self._outcome_of(until)

    def _outcome_of(self, until: int | None) -> str:
        summary, result = self._summary, self._result
        if self._end.result is None:
            is_same = summary.cause == KILLED and summary.how.startswith(self._end.how)
            return SAME if is_same else OTHER
        if result.differs:
            return OTHER
        if until is not None and result.tuples >= until:
            return ENDED
        if summary.cause not in (KILLED, DEMANDED) and result.has_failed_again:
            return SAME
        return NONE

    def exit_code(self) -> int:
        """See EXIT_CODES."""
        return EXIT_CODES[self.outcome]

    def lines(self) -> list[str]:
        """For people."""
        return [self._recorded(), self._outcome_line(), *self._emitted(), *self._notes()]

    def _recorded(self) -> str:
        summary, recorded = self._summary, self._result.recorded
        what = recorded[-1].error if recorded else "no failure"
        if summary.cause == KILLED:
            what = f"the process {summary.how}"
        elif summary.cause == DEMANDED:
            what = "on demand"
        state = f"state {summary.state_number}" if summary.has_state else "the beginning"
        name = f"{summary.component}[{summary.index}] of {summary.topology}"
        return f"recorded: {name}, from {state} on: {what}"

    def _outcome_line(self) -> str:
        result, unit = self._result, "tuple"
        if self._end.result is None:
            begin = "the same failure" if self.outcome == SAME else "another failure"
            return f"{begin} at {unit} {self._end.begun}: the process {self._end.how}"
        if self.outcome in (SAME, OTHER):
            last = result.failures[-1]
            values = f" of {last.failure.values[:VALUES_SHOWN]}" if last.failure.values else ""
            begin = "the same failure" if self.outcome == SAME else "another failure"
            return f"{begin} at {unit} {last.tuple_number}{values}: {last.failure.error}"
        if self.outcome == ENDED:
            return f"stopped in front of {unit} {result.tuples}: {result.emitted} emitted"
        earlier = f", {len(result.failures)} earlier failures again" if result.failures else ""
        return f"no failure: {result.tuples} {unit}s, {result.emitted} emitted{earlier}"

    def _emitted(self) -> list[str]:
        output = self._result.output
        if self._end.result is None or self.outcome == ENDED or not output.recorded:
            return []
        line = f"emitted: {output.again} of {output.recorded} recorded tuples again"
        if output.further:
            line += f", {output.further} more (not sent yet when it was recorded, or new)"
        if output.missing:
            line += f"; {output.missing} are missing, the first: {output.first_missing}"
        return [line]

    def _notes(self) -> list[str]:
        return [f"note: {each}" for each in self._result.notes]

    def as_json(self) -> dict[str, Any]:
        """For another program."""
        summary, result, output = self._summary, self._result, self._result.output
        return {
            "outcome": self.outcome,
            "topology": summary.topology, "component": summary.component, "index": summary.index,
            "cause": summary.cause, "state": summary.state_number if summary.has_state else None,
            "complete": summary.is_complete,
            "tuples": result.tuples, "emitted": result.emitted,
            "recorded": [failure.error for failure in result.recorded],
            "failures": [_as_json(raised) for raised in result.failures],
            "ended": self._end.how or None,
            "output": {"recorded": output.recorded, "again": output.again,
                       "missing": output.missing, "further": output.further},
            "notes": result.notes,
        }  # fmt: skip


def _as_json(raised: ReplayFailure) -> dict[str, Any]:
    failure = raised.failure
    return {
        "tuple": raised.tuple_number, "where": failure.where, "error": failure.error,
        "values": failure.values,
    }  # fmt: skip
