"""Rejected rows: classification of errors, and a transaction without the rejected rows.

A statement for many rows fails as a whole. The rows are bisected until each bad row is isolated:
a bad row among n costs about 2 log2(n) statements, n bad rows cost 2 n. Rejections are recorded
in the same transaction: a commit repeated after a kill finds the recorded rows and reports them
again.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from heron_connectors.two_phase import described

REFUSALS = "heronpy_refusals"
SAVEPOINT = "heronpy_rows"
PROBLEM_CHARACTERS = 500
"""Of what a database says of a row, which may be as long as the row."""
CREATE_REFUSALS = (
    f"CREATE TABLE IF NOT EXISTS {REFUSALS}"
    f" (writer VARCHAR(64), number BIGINT, row_at BIGINT, problem VARCHAR({PROBLEM_CHARACTERS}))"
)
SUSPECTS_MAX = 10
"""So many rows in a row, the first ones, may be refused for what may be the statement's fault: then
it is."""


PASSES_MAX = 10
"""Limit of passes over rows that depend on each other: a chain of references written backwards
is as long."""


class Cause(Enum):
    """Whose fault an error is."""

    ROW = "of the row: it will never be taken"
    PERHAPS = "of the row, if the database takes another one by the same statement"
    OTHER = "of the connection, of another transaction, of the table: all is tried again"


_OF_OTHERS = frozenset(
    {
        "00", "01", "02", "03", "08", "0B", "0F", "0L", "0P", "0Z", "10", "20", "24", "25", "26",
        "28", "2B", "2D", "34", "3B", "3D", "3F", "40", "53", "55", "57", "58", "72", "F0", "HV",
        "HY", "IM", "XX",
    }
)  # fmt: skip
"""Classes of SQLSTATE of the standard, of Postgres and of ODBC that are not of a row. All others
are: data, constraints, limits (an index entry that is too long), and what a trigger has chosen."""
_OF_EITHER = frozenset({"0A", "2F", "38", "39", "42"})
"""Syntax and access (a type that a column does not take, or a missing table); routines outside of
SQL, as a trigger in another language is one."""
_CHECK_OF_ROWS = "ExecWithCheckOptions"
"""The function of Postgres that refuses a row by a policy (row-level security), with the code that
a missing privilege has."""


def cause_of(error: Exception, module: Any) -> Cause:
    """What an exception of the driver `module`, or of a value's conversion in it, is about."""
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if state:
        return _cause_of_state(str(state), error)
    if isinstance(error, (module.IntegrityError, module.DataError, OverflowError, UnicodeError)):
        return Cause.ROW
    if isinstance(error, (module.ProgrammingError, TypeError, ValueError)):
        return Cause.PERHAPS
    return Cause.OTHER


def _cause_of_state(state: str, error: Exception) -> Cause:
    if state[:2] in _OF_EITHER:
        diagnostics = getattr(error, "diag", None)
        of_policy = getattr(diagnostics, "source_function", None) == _CHECK_OF_ROWS
        return Cause.ROW if of_policy else Cause.PERHAPS
    return Cause.OTHER if state[:2] in _OF_OTHERS else Cause.ROW


class NotOfRows(Exception):
    """The statement itself is at fault."""

    def __init__(self, cause: Exception) -> None:
        """`cause`: the database's error."""
        super().__init__(str(cause))
        self.cause = cause


@dataclass(slots=True)
class Apart:
    """Writes the acceptable rows of a batch into a transaction."""

    put: Callable[[Sequence[int]], None]
    """Write the rows at the positions with one statement; may have written a part when raising."""
    undo: Callable[[Sequence[int]], None]
    """Undo the latest `put`; `positions` are the earlier rows, for a database that has undone
    everything."""
    cause_of: Callable[[Exception], Cause]
    describe: Callable[[Exception], str]
    taken: list[int] = field(default_factory=list)
    """Positions written in the transaction."""

    def write(self, positions: Sequence[int]) -> dict[int, str]:
        """Position -> reason, for the rows currently left out. Errors unrelated to rows are
        propagated; NotOfRows for an error of the statement."""
        refused: dict[int, str] = {}
        suspect: Exception | None = None
        waiting = [list(positions)]
        while waiting:
            some = waiting.pop()
            error = self._problem_with(some)
            if error is None:
                continue
            if len(some) > 1:
                half = len(some) // 2
                waiting += [some[half:], some[:half]]
                continue
            refused[some[0]] = self.describe(error)
            if self.cause_of(error) is Cause.PERHAPS:
                suspect = suspect or error
                if not self.taken and len(refused) >= SUSPECTS_MAX:
                    break
        if suspect is not None and not self.taken:
            raise NotOfRows(suspect)
        return refused

    def _problem_with(self, some: Sequence[int]) -> Exception | None:
        """Reasons for the rows left out; None if every row is written."""
        try:
            self.put(some)
        except Exception as error:
            if self.cause_of(error) is Cause.OTHER:
                raise
            self.undo(self.taken)
            return error
        self.taken += some
        return None

    def write_in_passes(self, positions: Sequence[int]) -> dict[int, str]:
        """Like `write`; rejected rows are retried after the rest while progress is made: a row
        may depend on a later row."""
        refused = self.write(positions)
        for _ in range(PASSES_MAX - 1):
            before = len(self.taken)
            refused = self.write(list(refused))
            if len(self.taken) == before:
                break
        return refused


class DividedTransaction:
    """Writes rows into a transaction of its own; what is committed is the caller's to say.

    Each statement is behind a savepoint. A database that has none, or that has ended the whole
    transaction for a row (RAISE(ROLLBACK) of sqlite), gets another transaction with the rows so
    far.
    """

    def __init__(
        self,
        connection: Any,
        module: Any,
        statement: str,
        rows: Sequence[Any],
        begin: Callable[[], None],
    ) -> None:
        """`begin` writes the first statements of a transaction, for every transaction started."""
        self._connection = connection
        self._module = module
        self._statement = statement
        self._rows = rows
        self._begin = begin
        self._has_savepoints = True

    def write(self, in_passes: bool) -> dict[int, str]:
        """Position -> why, of the rows that are refused."""
        apart = Apart(
            self._put, self._undo, lambda error: cause_of(error, self._module), described_row
        )
        every = range(len(self._rows))
        self._begin()
        self._detect_savepoints()
        try:
            return apart.write_in_passes(every) if in_passes else apart.write(every)
        except NotOfRows as error:
            raise error.cause from None

    def _detect_savepoints(self) -> None:
        try:
            self._save()
        except self._module.Error:
            self._has_savepoints = False
            self._connection.rollback()
            self._begin()

    def _save(self) -> None:
        if self._has_savepoints:
            self._connection.cursor().execute(f"SAVEPOINT {SAVEPOINT}")

    def _put(self, positions: Sequence[int]) -> None:
        self._save()
        self._execute(positions)

    def _execute(self, positions: Sequence[int]) -> None:
        some = [self._rows[at] for at in positions]
        self._connection.cursor().executemany(self._statement, some)

    def _undo(self, taken: Sequence[int]) -> None:
        if self._has_savepoints:
            with suppress(self._module.Error):
                self._connection.cursor().execute(f"ROLLBACK TO SAVEPOINT {SAVEPOINT}")
                return
        self._connection.rollback()
        self._begin()
        if taken:
            self._execute(taken)


def described_row(error: Exception) -> str:
    """What a database says of a row, in a line."""
    return described(error)[:PROBLEM_CHARACTERS]


@dataclass(frozen=True, slots=True)
class NotedRefusals:
    """The table of rejections, for drivers with the placeholder."""

    placeholder: Callable[[int], str]

    def note(self, cursor: Any, writer: str, number: int, refused: dict[int, str]) -> None:
        """Record rejections within the transaction of the rows."""
        if refused:
            values = ", ".join(map(self.placeholder, range(4)))
            cursor.executemany(
                f"INSERT INTO {REFUSALS} (writer, number, row_at, problem) VALUES ({values})",
                [(writer, number, at, why) for at, why in sorted(refused.items())],
            )

    def read(self, cursor: Any, writer: str, number: int) -> dict[int, str]:
        """Rejections of a committed transaction."""
        at = self.placeholder
        cursor.execute(
            f"SELECT row_at, problem FROM {REFUSALS} WHERE writer = {at(0)} AND number = {at(1)}",
            [writer, number],
        )
        return {int(position): str(why) for position, why in cursor.fetchall()}
