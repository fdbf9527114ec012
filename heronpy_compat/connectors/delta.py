"""Tuples into a Delta table, each exactly once: by the table's own transaction ids.

    from heronpy_compat.connectors.delta import DeltaSink

A version of the table has the rows of one checkpoint and one instance, and says so (`txn` of
Delta's protocol): a checkpoint that is in the table is not written again.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from heron_core.errors import ComponentError
from heron_core.optional_packages import needed
from heronpy_compat.connectors.part_files import folder_of
from heronpy_compat.connectors.row_tables import (
    MERGE,
    REFUSE,
    schema_problem,
    table_of,
    types_called,
    types_for,
    undeclared_field,
)
from heronpy_compat.connectors.transactions import TransactionId
from heronpy_compat.connectors.two_phase import WriteAheadSink, described

if TYPE_CHECKING:
    from heronpy_compat.api.topology_context import TopologyContext
    from heronpy_compat.api.tuple import Tuple

TABLE = "delta.table"
"""Config key: the folder or URL of the table, which is made if there is none."""
PARTITION_BY = "delta.partition.by"
"""Config key: fields that a new table is divided by."""
TYPES = "delta.types"
"""Config key: {field: Arrow's or SQL's name of a type}; without it, that which the stream declares,
or that of the table, or of the values."""
SCHEMA_MODE = "delta.schema.mode"
"""Config key: what becomes of fields that the table does not have: `merge` (they become columns of
it) or `refuse` (the sink does not begin)."""
STORAGE = "delta.storage.options"
"""Config key: what the package deltalake is to know of the storage behind a URL."""
PURPOSE = "writing Delta tables"
RUN = "heronpy.run"
"""In the history of the table: which run has written a version."""


class DeltaSink(WriteAheadSink):
    """Writes all fields of its input into a Delta table.

    sink = DeltaSink.spec(inputs=[counts], config={"delta.table": "counts"})

    All inputs have the same fields. Settings may be attributes of a subclass instead.
    """

    table: str | None = None
    partition_by: Sequence[str] = ()
    types: Mapping[str, str] = {}
    schema_mode = MERGE
    commit_tuples = 100_000
    needed_package = ("deltalake", PURPOSE)

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if they are wrong."""
        self._deltalake = needed("deltalake", PURPOSE)
        self._arrow = needed("pyarrow", PURPOSE)
        table = config.get(TABLE, self.table)
        if table is None:
            raise ComponentError(
                f"{self._name}: no table to write: set its attribute 'table' or {TABLE}"
            )
        self._table = str(table)
        self._partition_by = config.get(PARTITION_BY, self.partition_by) or None
        said = dict(config.get(TYPES, self.types))
        self._types = types_called({**self.types_of_inputs(context), **said})
        self._storage: dict[str, str] | None = config.get(STORAGE)
        self._columns = self.fields_of_inputs(context)
        self._run = context.get_incarnation().run
        self._is_first = context.get_component_tasks(self._name)[0] == context.get_task_id()
        self._known: dict[str, Any] = {}
        """The columns of the table, as it was seen last."""
        self._mode = config.get(SCHEMA_MODE, self.schema_mode)
        self._check_columns()

    def _check_columns(self) -> None:
        """ComponentError if the table cannot get the columns that it is to have."""
        with suppress(Exception):  # a table that is away is told of when it is to be written
            self._present()
        problem = schema_problem(self._mode, SCHEMA_MODE, self._known, self._types, self._columns)
        if problem:
            raise ComponentError(f"{self._name}: {self._table} has {problem}")

    def unknown_output(self) -> str:
        """Rows that are there; the first instance looks."""
        if not self._is_first:
            return ""
        try:
            present = self._present()
            number = 0 if present is None else len(present.file_uris())
        except Exception:  # a table that is away is told of when it is to be written
            return ""
        return f"{self._table} has {number} files of other runs" if number else ""

    def output_of_another_run(self, run: str) -> str:
        """Rows that are there, if the newest version is another run's."""
        found = self.unknown_output()
        if not found:
            return ""
        (newest,) = self._present().history(1)
        return "" if newest.get(RUN) == run else found

    def write(self, transaction: list[Any], tup: "Tuple") -> None:
        """One row more; ValueError if its partition has no folder."""
        if self._partition_by and "://" not in self._table:
            values = dict(zip(tup.fields, tup.values, strict=True))
            names = self._partition_by
            names = [names] if isinstance(names, str) else names
            folder_of(names, tuple(values[name] for name in names))
        super().write(transaction, tup)

    def pre_commit(self, transaction: list[Any], transaction_id: TransactionId) -> list[Any]:
        """The rows that fit: those that do not are told and counted now, as nobody waits for them
        any more when they are written."""
        if not self._known:
            self._present()
        table, problems = self._table_of(transaction)
        for at, name in enumerate(self._columns):
            if why := self._unknown_type(table.schema.field(name).type):
                for position, row in enumerate(transaction):
                    if position not in problems and row[at] is not None:
                        problems[position] = f"{name}={row[at]!r}: {why}"
        self.leave_out(problems, self._columns, {at: transaction[at] for at in problems})
        return [row for at, row in enumerate(transaction) if at not in problems]

    def _unknown_type(self, kind: Any) -> str:
        """Why a table cannot have a column of a type; empty if it can."""
        is_kind = self._arrow.types
        if is_kind.is_time(kind) or is_kind.is_duration(kind) or is_kind.is_unsigned_integer(kind):
            return f"Delta has no {kind}"
        if isinstance(kind, self._arrow.BaseExtensionType):
            return f"Delta has no {kind.extension_name}"
        parts = range(kind.num_fields) if is_kind.is_nested(kind) else ()
        return next(
            (found for at in parts if (found := self._unknown_type(kind.field(at).type))), ""
        )

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Add a version with the rows, unless the table has it."""
        writer, number = transaction_id.writer, transaction_id.number
        present = self._present()
        if present is not None and (present.transaction_version(writer) or -1) >= number:
            return
        if not prepared:
            return
        table = self._as_present(*self._table_of(prepared))
        transaction = self._deltalake.Transaction(writer, number)
        self._deltalake.write_deltalake(
            self._table if present is None else present,
            table,
            mode="append",
            schema_mode=None if present is None or self._mode == REFUSE else "merge",
            partition_by=self._partition_by if present is None else None,
            storage_options=self._storage,
            commit_properties=self._deltalake.CommitProperties(
                custom_metadata={RUN: self._run}, app_transactions=[transaction]
            ),
        )

    def _table_of(self, rows: Sequence[Any]) -> tuple[Any, dict[int, str]]:
        types = types_for(self._mode, self._known, self._types, self._columns, rows)
        return table_of(self._columns, types, rows)

    def _present(self) -> Any:
        """The newest version of the table; None if there is none."""
        if not self._deltalake.DeltaTable.is_deltatable(self._table, self._storage):
            return None
        found = self._deltalake.DeltaTable(self._table, storage_options=self._storage)
        columns = self._arrow.schema(found.schema().to_arrow())
        self._known = {each.name: each.type for each in columns}
        return found

    def _as_present(self, table: Any, problems: Mapping[int, str]) -> Any:
        """The rows with the types that the table has; a new column is one from its first value on,
        as until then nobody knows its type. ComponentError if a value would be changed."""
        if problems:
            # They fitted when they were prepared: somebody has changed the table since.
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
        """Whether Delta itself sees to it: it adds the fields of a struct as it adds columns."""
        return self._mode == MERGE and bool(self._arrow.types.is_nested(wanted))

    def _cast(self, column: Any, name: str, wanted: Any) -> Any:
        for each in column.to_pylist():
            if more := undeclared_field(self._arrow, each, wanted):
                raise ComponentError(f"{name} has a field {more!r} that the table has not")
        try:
            return column.cast(wanted)
        except self._arrow.ArrowException as error:
            raise ComponentError(f"{name} is {wanted} in the table: {described(error)}") from None
