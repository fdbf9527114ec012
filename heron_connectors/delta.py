"""Tuples into a Delta table, each exactly once: by the table's own transaction ids.

    from heronpy_compat.connectors.delta import DeltaSink

A version of the table has the rows of one checkpoint and one instance, and says so (`txn` of
Delta's protocol): a checkpoint that is in the table is not written again.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heron_connectors.files.part_files import folder_of
from heron_connectors.tables.row_tables import REFUSE
from heron_connectors.tables.table_sink import RUN, TableKeys, TableSink
from heron_connectors.transactions import TransactionId
from heron_core.optional_packages import needed

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext
    from heron_api.tuple import Tuple

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


class DeltaSink(TableSink):
    """Writes all fields of its input into a Delta table.

    sink = DeltaSink.spec(inputs=[counts], config={"delta.table": "counts"})

    All inputs have the same fields. Settings may be attributes of a subclass instead.
    """

    keys = TableKeys(TABLE, PARTITION_BY, TYPES, SCHEMA_MODE, PURPOSE)
    needed_package = ("deltalake", PURPOSE)

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if they are wrong."""
        self._deltalake = needed("deltalake", PURPOSE)
        super().open(config, context)
        self._storage: dict[str, str] | None = config.get(STORAGE)
        self.check_columns()

    def unknown_output(self) -> str:
        """Rows that are there; the first instance looks."""
        if not self._is_first:
            return ""
        try:
            present = self.present()
            number = 0 if present is None else len(present.file_uris())
        except Exception:  # a table that is away is told of when it is to be written
            return ""
        return f"{self._table} has {number} files of other runs" if number else ""

    def output_of_another_run(self, run: str) -> str:
        """Rows that are there, if the newest version is another run's."""
        found = self.unknown_output()
        if not found:
            return ""
        (newest,) = self.present().history(1)
        return "" if newest.get(RUN) == run else found

    def write(self, transaction: list[Any], tup: "Tuple") -> None:
        """One row more; ValueError if its partition has no folder."""
        if self._partition_by and "://" not in self._table:
            values = dict(zip(tup.fields, tup.values, strict=True))
            folder_of(self._partition_by, tuple(values[name] for name in self._partition_by))
        super().write(transaction, tup)

    def unknown_type(self, kind: Any) -> str:
        """Why a table cannot have a column of a type; empty if it can."""
        is_kind = self._arrow.types
        if is_kind.is_time(kind) or is_kind.is_duration(kind) or is_kind.is_unsigned_integer(kind):
            return f"Delta has no {kind}"
        if isinstance(kind, self._arrow.BaseExtensionType):
            return f"Delta has no {kind.extension_name}"
        parts = range(kind.num_fields) if is_kind.is_nested(kind) else ()
        return next(
            (found for at in parts if (found := self.unknown_type(kind.field(at).type))), ""
        )

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Add a version with the rows, unless the table has it."""
        writer, number = transaction_id.writer, transaction_id.number
        present = self.present()
        if present is not None and (present.transaction_version(writer) or -1) >= number:
            return
        if not prepared:
            return
        table = self.as_present(*self._table_of(prepared))
        transaction = self._deltalake.Transaction(writer, number)
        self._deltalake.write_deltalake(
            self._table if present is None else present,
            table,
            mode="append",
            schema_mode=None if present is None or self._mode == REFUSE else "merge",
            partition_by=self._partition_by or None if present is None else None,
            storage_options=self._storage,
            commit_properties=self._deltalake.CommitProperties(
                custom_metadata={RUN: self._run}, app_transactions=[transaction]
            ),
        )

    def present(self) -> Any:
        """The newest version of the table; None if there is none."""
        if not self._deltalake.DeltaTable.is_deltatable(self._table, self._storage):
            return None
        found = self._deltalake.DeltaTable(self._table, storage_options=self._storage)
        columns = self._arrow.schema(found.schema().to_arrow())
        self._known = {each.name: each.type for each in columns}
        return found
