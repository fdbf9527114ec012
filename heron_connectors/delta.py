"""Tuples into a Delta table, each exactly once: by the table's own transaction ids.

    from heronpy_compat.connectors.delta import DeltaSink

A version of the table has the rows of one checkpoint and one instance, and says so (`txn` of
Delta's protocol): a checkpoint that is in the table is not written again.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heron_connectors.delta_checks import refused_rows, rows_refused
from heron_connectors.files.part_files import folder_of
from heron_connectors.tables.row_tables import REFUSE
from heron_connectors.tables.table_sink import (
    REFUSED,
    RUN,
    TableKeys,
    TableSink,
    note_of,
    noted_in,
)
from heron_connectors.transactions import TransactionId
from heron_connectors.writable_folders import check_folder, local_path
from heron_core.optional_packages import needed

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext
    from heron_api.tuple import Tuple

TABLE = "delta.table"
"""Config key: folder or URL of the table, created if missing."""
PARTITION_BY = "delta.partition.by"
"""Config key: fields that a new table is divided by."""
TYPES = "delta.types"
"""Config key: {field: Arrow's or SQL's name of a type}; without it, that which the stream declares,
or that of the table, or of the values."""
SCHEMA_MODE = "delta.schema.mode"
"""Config key: fields missing in the table: `merge` (add columns) or `refuse` (the sink does not
start)."""
STORAGE = "delta.storage.options"
"""Config key: what the package deltalake is to know of the storage behind a URL."""
PURPOSE = "writing Delta tables"
COMPUTED = {"delta.generationExpression", "delta.identity.start"}
"""In the metadata of a column whose values are the table's own."""


class DeltaSink(TableSink):
    """Writes all fields of its input into a Delta table.

    sink = DeltaSink.spec(inputs=[counts], config={"delta.table": "counts"})

    All inputs have the same fields. Settings may be attributes of a subclass instead.
    """

    keys = TableKeys(TABLE, PARTITION_BY, TYPES, SCHEMA_MODE, PURPOSE)
    needed_package = ("deltalake", PURPOSE)
    _computed: Collection[str] = ()

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if they are wrong."""
        self._deltalake = needed("deltalake", PURPOSE)
        super().open(config, context)
        self._storage: dict[str, str] | None = config.get(STORAGE)
        self.check_columns()

    def check_target(self) -> None:
        """ComponentError if the table's folder is on this machine, and takes no file."""
        path = local_path(self._table)
        if path is None:
            return
        check_folder(self._name, path, TABLE)
        if os.path.isdir(log := os.path.join(path, "_delta_log")):
            check_folder(self._name, log, TABLE)

    def unknown_output(self) -> str:
        """Number of existing rows; checked by the first instance."""
        if not self._is_first:
            return ""
        try:
            present = self.present()
            number = 0 if present is None else len(present.file_uris())
        except Exception:  # a table that is away is told of when it is to be written
            return ""
        return f"{self._table} has {number} files of other runs" if number else ""

    def output_of_another_run(self, run: str) -> str:
        """Number of existing rows, if the newest version was written by a different run."""
        found = self.unknown_output()
        if not found:
            return ""
        (newest,) = self.present().history(1)
        return "" if newest.get(RUN) == run else found

    def write(self, transaction: list[Any], tup: "Tuple") -> None:
        """Add a row; ValueError if the partition value cannot name a folder."""
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
            (reason for at in parts if (reason := self.unknown_type(kind.field(at).type))), ""
        )

    def problem_of_table(self) -> str:
        """What of the table keeps all rows out, in words; empty if nothing does."""
        by_letters = {name.lower(): name for name in self._known}
        for name in self._columns:
            there = by_letters.setdefault(name.lower(), name)
            if there != name:
                return f"has {there!r}, which Delta does not distinguish from {name!r}"
        return self.absent_column(self._computed) or super().problem_of_table()

    def problems_of(self, rows: Sequence[Any]) -> Mapping[int, str]:
        """Check rows for missing required values and, for a new table, rows without any column."""
        if why := self.no_table_of(rows, self._partition_by):
            return dict.fromkeys(range(len(rows)), why)
        return self.without_required(rows, self._computed)

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Add a version with the rows, unless already committed. Rows rejected by the table's
        constraints or changed columns are left out, reported and counted."""
        writer, number = transaction_id.writer, transaction_id.number
        present = self.present()
        if present is not None and (present.transaction_version(writer) or -1) >= number:
            self.refuse_rows(self._refused_before(present, transaction_id), prepared)
        elif prepared:
            self.refuse_rows(self._write(present, prepared, transaction_id), prepared)

    def _write(
        self, present: Any, rows: Sequence[Any], transaction_id: TransactionId
    ) -> dict[int, str]:
        """Position -> why, of the rows that are left out of the version."""
        table, refused = self.fitting(rows)
        if len(refused) == len(rows):
            return refused
        try:
            self._append(present, table, refused, transaction_id)
            return refused
        except Exception as error:
            if present is None or not rows_refused(error):
                raise
            more = refused_rows(self._deltalake, present, table)
            if not more:
                raise
        kept = [at for at in range(len(rows)) if at not in refused]
        refused |= {kept[at]: why for at, why in more.items()}
        if left := [at for at in range(table.num_rows) if at not in more]:
            self._append(present, table.take(left), refused, transaction_id)
        return refused

    def _append(
        self, present: Any, table: Any, refused: Mapping[int, str], transaction_id: TransactionId
    ) -> None:
        self.check_target()  # the package itself panics over a folder that takes no file
        said = {RUN: self._run}
        if refused:
            said[REFUSED] = note_of(refused, transaction_id)
        transaction = self._deltalake.Transaction(transaction_id.writer, transaction_id.number)
        self._deltalake.write_deltalake(
            self._table if present is None else present,
            table,
            mode="append",
            schema_mode=None if present is None or self._mode == REFUSE else "merge",
            partition_by=self._partition_by or None if present is None else None,
            storage_options=self._storage,
            commit_properties=self._deltalake.CommitProperties(
                custom_metadata=said, app_transactions=[transaction]
            ),
        )

    def _refused_before(self, present: Any, transaction_id: TransactionId) -> dict[int, str]:
        """Rows left out of a committed transaction."""
        for version in present.history():
            if (found := noted_in(version.get(REFUSED), transaction_id)) is not None:
                return found
        return {}

    def present(self) -> Any:
        """The newest version of the table, or None."""
        if not self._deltalake.DeltaTable.is_deltatable(self._table, self._storage):
            self._known, self._required, self._computed = {}, frozenset(), ()
            return None
        table = self._deltalake.DeltaTable(self._table, storage_options=self._storage)
        schema = table.schema()
        columns = self._arrow.schema(schema.to_arrow())
        self._computed = {each.name for each in schema.fields if COMPUTED & set(each.metadata)}
        self._known = {each.name: each.type for each in columns}
        self._required = frozenset(each.name for each in columns if not each.nullable)
        return table
