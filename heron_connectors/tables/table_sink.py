"""What sinks have in common whose target is a table of an open format (Delta, Iceberg): columns of
Arrow's types, a policy for new ones, and rows that do not fit left out, each told and counted."""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from heron_connectors.tables.required_values import absent_field, absent_value, requires_inside
from heron_connectors.tables.row_tables import (
    MERGE,
    schema_problem,
    table_of,
    types_called,
    types_for,
    undeclared_field,
)
from heron_connectors.transactions import TransactionId
from heron_connectors.two_phase import WriteAheadSink, described
from heron_core.errors import ComponentError, shown
from heron_core.optional_packages import needed

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

RUN = "heronpy.run"
"""In the history of a table: the run that has written a version."""
REFUSED = "heronpy.refused"
"""Record of the rejected rows of a transaction: a commit repeated after a kill reports them
again."""


@dataclass(frozen=True, slots=True)
class TableKeys:
    """The config keys of a sink."""

    table: str
    partition_by: str
    types: str
    schema_mode: str
    purpose: str
    """Purpose of the required packages."""


class TableSink(WriteAheadSink):
    """Writes all fields of its input into a table, a version for each instance and checkpoint."""

    keys: ClassVar[TableKeys]
    table: str | None = None
    partition_by: Sequence[str] = ()
    types: Mapping[str, str] = {}
    schema_mode = MERGE
    commit_tuples = 100_000

    # --- what a format defines --------------------------------------------------------------------

    def present(self) -> Any:
        """The newest version of the table, whose columns `_known` has then; None if there is no
        table."""
        raise NotImplementedError(f"{type(self).__name__} must define present(self)")

    def unknown_type(self, kind: Any) -> str:
        """Why a table cannot have a column of a type of Arrow; empty if it can."""
        raise NotImplementedError(f"{type(self).__name__} must define unknown_type(self, kind)")

    def problems_of(self, rows: Sequence[Any]) -> Mapping[int, str]:
        """Why rows cannot be written although their types fit, by their positions."""
        return {}

    # --- settings ---------------------------------------------------------------------------------

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if they are wrong."""
        self._arrow = needed("pyarrow", self.keys.purpose)
        table = config.get(self.keys.table, self.table)
        if table is None:
            raise ComponentError(
                f"{self._name}: no table to write: set its attribute 'table' or {self.keys.table}"
            )
        self._table = str(table)
        self._partition_by = self._names(config.get(self.keys.partition_by, self.partition_by))
        said = dict(config.get(self.keys.types, self.types))
        self._types = types_called({**self.types_of_inputs(context), **said})
        self._columns = self.fields_of_inputs(context)
        self._run = context.get_incarnation().run
        self._is_first = context.get_component_tasks(self._name)[0] == context.get_task_id()
        self._known: dict[str, Any] = {}
        """The columns of the table, as it was seen last."""
        self._required: frozenset[str] = frozenset()
        """Columns with a required value."""
        self._mode = config.get(self.keys.schema_mode, self.schema_mode)

    def _names(self, said: str | Sequence[str] | None) -> list[str]:
        return [said] if isinstance(said, str) else list(said or ())

    def check_columns(self) -> None:
        """ComponentError if the table cannot get the columns that it is to have; the end of
        `open`."""
        with suppress(Exception):  # a table that is away is told of when it is to be written
            self.present()
        if problem := self.problem_of_table():
            raise ComponentError(f"{self._name}: {self._table} {problem}")

    def problem_of_table(self) -> str:
        """Reason why the known table rejects all rows; empty if none."""
        found = schema_problem(
            self._mode, self.keys.schema_mode, self._known, self._types, self._columns
        )
        return f"has {found}" if found else ""

    def absent_column(self, given: Collection[str] = ()) -> str:
        """A required column missing in the rows; empty if none. `given`: columns computed by the
        table."""
        absent = sorted(self._required - set(self._columns) - set(given))
        if absent:
            return f"requires column {absent[0]!r}, which is missing in the input"
        declared = [name for name in self._columns if name in self._known and name in self._types]
        inside = (
            absent_field(self._arrow, self._types[name], self._known[name], name)
            for name in declared
        )
        field = next(filter(None, inside), "")
        return f"requires {field}, which is missing in the input" if field else ""

    # --- rows -------------------------------------------------------------------------------------

    def pre_commit(self, transaction: list[Any], transaction_id: TransactionId) -> list[Any]:
        """The valid rows; invalid rows are reported and counted now, because no later step waits
        for them."""
        if not self._known:
            self.present()
        problems = self._problems_with(transaction)
        self.leave_out(problems, self._columns, {at: transaction[at] for at in problems})
        return [row for at, row in enumerate(transaction) if at not in problems]

    def _problems_with(self, rows: Sequence[Any]) -> dict[int, str]:
        """Why rows cannot be written, by their positions."""
        table, problems = self._table_of(rows)
        for at, name in enumerate(self._columns):
            if why := self.unknown_type(table.schema.field(name).type):
                for position, row in enumerate(rows):
                    if position not in problems and row[at] is not None:
                        problems[position] = f"{name}={row[at]!r}: {why}"
        return {**self.problems_of(rows), **problems}

    def without_required(self, rows: Sequence[Any], given: Collection[str] = ()) -> dict[int, str]:
        """Rows without a value that the table requires, by their positions; `given`: as above."""
        wanted = self._required.difference(given)
        required = [at for at, name in enumerate(self._columns) if name in wanted]
        inside = [
            (at, name, self._known[name])
            for at, name in enumerate(self._columns)
            if name in self._known and requires_inside(self._arrow, self._known[name])
        ]
        reasons = {}
        for position, row in enumerate(rows) if required or inside else ():
            empty = (self._columns[at] for at in required if row[at] is None)
            parts = (absent_value(self._arrow, row[at], kind, name) for at, name, kind in inside)
            if absent := next(empty, "") or next(filter(None, parts), ""):
                reasons[position] = f"{absent}=None: the table requires a value"
        return reasons

    def no_table_of(self, rows: Sequence[Any], divided_by: Collection[str]) -> str:
        """Reason why rows cannot define a new table; empty if possible or not needed. Later rows
        may be sufficient, but a checkpoint does not wait."""
        if self._known:
            return ""
        valued = {
            name
            for at, name in enumerate(self._columns)
            if any(row[at] is not None for row in rows)
        }
        typed = valued | set(self._types)
        if not typed & set(self._columns):
            return (
                f"{self._columns[0]}=None: a new table needs a type for each column: declare the "
                "type"
            )
        absent = next((each for each in divided_by if each not in typed), "")
        return (
            f"{absent}=None: a new table is partitioned by the column: declare its type"
            if absent
            else ""
        )

    def fitting(self, rows: Sequence[Any]) -> tuple[Any, dict[int, str]]:
        """(Rows valid for the table's current types, reasons by position for the rest.) The
        table may have changed since the rows were prepared: ComponentError if the table rejects
        all rows until repaired."""
        if problem := self.problem_of_table():
            raise ComponentError(f"{self._table} {problem}")
        problems = self._problems_with(rows)
        kept = [row for at, row in enumerate(rows) if at not in problems]
        return self.as_present(*self._table_of(kept)), problems

    def refuse_rows(self, problems: Mapping[int, str], rows: Sequence[Any]) -> None:
        """Rows that the table has refused in `commit`: each is told and counted."""
        named = {at: f"{why}: {shown(rows[at])}" for at, why in problems.items()}
        self.refuse(named, self._columns, {at: rows[at] for at in problems})

    def _table_of(self, rows: Sequence[Any]) -> tuple[Any, dict[int, str]]:
        types = types_for(self._mode, self._known, self._types, self._columns, rows)
        return table_of(self._columns, types, rows)

    def as_present(self, table: Any, problems: Mapping[int, str]) -> Any:
        """The rows with the types that the table has; a new column is one from its first value on,
        as until then its type is not known. ComponentError if a value would be changed."""
        if problems:
            raise ComponentError(next(iter(problems.values())))
        for name in table.column_names:
            wanted = self._known.get(name)
            if wanted is None and table[name].type == self._arrow.null():
                table = table.drop_columns([name])
            elif wanted is not None and table[name].type != wanted and not self._merges(wanted):
                at = table.column_names.index(name)
                table = table.set_column(at, name, self._cast(table[name], name, wanted))
        return table

    def _merges(self, wanted: Any) -> bool:
        """Whether the format itself adds struct fields along with columns."""
        return self._mode == MERGE and bool(self._arrow.types.is_nested(wanted))

    def _cast(self, column: Any, name: str, wanted: Any) -> Any:
        for each in column.to_pylist():
            if more := undeclared_field(self._arrow, each, wanted):
                raise ComponentError(f"{name} has a field {more!r} that the table has not")
        try:
            return column.cast(wanted)
        except self._arrow.ArrowException as error:
            raise ComponentError(f"{name} is {wanted} in the table: {described(error)}") from None


def note_of(refused: Mapping[int, str], transaction_id: TransactionId) -> str:
    """The rows of a transaction that a table has refused, for its history."""
    positions: dict[str, list[int]] = {}
    for at, why in sorted(refused.items()):
        positions.setdefault(why, []).append(at)
    said = {"writer": transaction_id.writer, "number": transaction_id.number}
    return json.dumps({**said, "rows": positions})


def noted_in(note: str | None, transaction_id: TransactionId) -> dict[int, str] | None:
    """Position -> reason, if the record belongs to the transaction; else None."""
    said = json.loads(note) if note else {}
    if (said.get("writer"), said.get("number")) != (transaction_id.writer, transaction_id.number):
        return None
    return {at: why for why, positions in said["rows"].items() for at in positions}
