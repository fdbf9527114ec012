"""Rows that a sink leaves out of a transaction, each told and counted; the others are written."""

from collections.abc import Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heron_api.bolt.bolt import Bolt

Refused = tuple[Mapping[int, str], Sequence[str], Mapping[int, list[Any]]]


class LeavesRowsOut:
    """Handling of invalid and rejected rows in two-phase sinks."""

    delegate: Any
    repeats: Any
    """Whether a transaction may be committed twice."""

    def _has_left_out_none(self) -> None:
        self._left_out: dict[int, str] = {}
        """Position in the transaction -> why, where the tuples wait for its commit."""
        self._refused: list[Refused] = []
        """Rejected rows not yet reported."""
        self._is_initialized = False

    def leave_out(
        self, problems: Mapping[int, str], fields: Sequence[str], rows: Mapping[int, list[Any]]
    ) -> None:
        """Rows that cannot be written, by their positions in the transaction: each is told, and
        is a dead letter, or counts as failed for good. Their tuples fail, if they are not acked
        yet. `fields`: of the tuples; `rows`: their values."""
        for problem in problems.values():
            self.delegate.record_error("dropped a row that does not match the table", problem)
        if self.repeats and problems:
            self.delegate.abandon_rows(fields, [(rows[at], why) for at, why in problems.items()])
        else:
            self._left_out.update(problems)

    def refuse(
        self, problems: Mapping[int, str], fields: Sequence[str], rows: Mapping[int, list[Any]]
    ) -> None:
        """Like `leave_out`, for rows rejected in `commit`, which has written the rest; positions
        refer to the result of `pre_commit`, with one row per tuple not left out."""
        if not problems:
            return
        if self.repeats:
            self._refused.append((problems, fields, rows))
            if self._is_initialized:
                self._abandon_refused()
            else:  # a restore: what `initialize` emits goes nowhere
                self.delegate.call_soon(self._abandon_refused)
            return
        before = frozenset(self._left_out)
        at_tuple = (at for at in count() if at not in before)
        tuples = list(islice(at_tuple, max(problems) + 1))
        self.leave_out(
            {tuples[at]: why for at, why in problems.items()},
            fields,
            {tuples[at]: row for at, row in rows.items()},
        )

    def _abandon_refused(self) -> None:
        """Behind the checkpoint whose commit has refused them, and before the next one."""
        refused, self._refused = self._refused, []
        for problems, fields, rows in refused:
            self.leave_out(problems, fields, rows)


def fail_or_ack(bolt: "Bolt", tup: Any, problem: str | None) -> None:
    """Fail a tuple for a problem, reported by its dead letter; ack the tuple without a problem."""
    if problem is None:
        bolt.ack(tup)
        return
    try:
        raise ValueError(problem)
    except ValueError:
        bolt.fail(tup)
