"""Tuples into a Delta table, each exactly once: by the table's own transaction ids.

    from heronpy_compat.connectors.delta import DeltaSink

A version of the table has the rows of one checkpoint and one instance, and says so (`txn` of
Delta's protocol): a checkpoint that is in the table is not written again.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heron_core.errors import ComponentError
from heron_core.optional_packages import needed
from heronpy_compat.connectors.part_files import table_of
from heronpy_compat.connectors.transactions import TransactionId
from heronpy_compat.connectors.two_phase import WriteAheadSink

if TYPE_CHECKING:
    from heronpy_compat.api.topology_context import TopologyContext

TABLE = "delta.table"
"""Config key: the folder or URL of the table, which is made if there is none."""
PARTITION_BY = "delta.partition.by"
"""Config key: fields that a new table is divided by."""
TYPES = "delta.types"
"""Config key: {field: Arrow's name of a type}; without it, those of the table, or of the values."""
STORAGE = "delta.storage.options"
"""Config key: what the package deltalake is to know of the storage behind a URL."""
PURPOSE = "writing Delta tables"


class DeltaSink(WriteAheadSink):
    """Writes all fields of its input into a Delta table.

    sink = DeltaSink.spec(inputs=[counts], config={"delta.table": "counts"})

    All inputs have the same fields. Settings may be attributes of a subclass instead.
    """

    table: str | None = None
    partition_by: Sequence[str] = ()
    types: Mapping[str, str] = {}
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
        self._types = dict(config.get(TYPES, self.types))
        self._storage: dict[str, str] | None = config.get(STORAGE)
        self._columns = self.fields_of_inputs(context)
        table_of(self._columns, self._types, [])  # so that a wrong type is told now

        self._is_first = context.get_component_tasks(self._name)[0] == context.get_task_id()

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

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Add a version with the rows, unless the table has it."""
        writer, number = transaction_id.writer, transaction_id.number
        present = self._present()
        if present is not None and (present.transaction_version(writer) or -1) >= number:
            return
        table, problems = table_of(self._columns, self._types, prepared)
        for problem in problems.values():
            self.delegate.record_error("a row that does not fit its table is left out", problem)
        if not table.num_rows:
            return
        if present is not None:
            table = self._as_present(table, present)
        transaction = self._deltalake.Transaction(writer, number)
        self._deltalake.write_deltalake(
            self._table if present is None else present,
            table,
            mode="append",
            partition_by=self._partition_by if present is None else None,
            storage_options=self._storage,
            commit_properties=self._deltalake.CommitProperties(app_transactions=[transaction]),
        )

    def _present(self) -> Any:
        """The newest version of the table; None if there is none."""
        if not self._deltalake.DeltaTable.is_deltatable(self._table, self._storage):
            return None
        return self._deltalake.DeltaTable(self._table, storage_options=self._storage)

    def _as_present(self, table: Any, present: Any) -> Any:
        """The rows with the types that the table has; what has another name is told by Delta."""
        types = {each.name: each.type for each in self._arrow.schema(present.schema().to_arrow())}
        fields = [(each.name, types.get(each.name, each.type)) for each in table.schema]
        return table.cast(self._arrow.schema(fields))
