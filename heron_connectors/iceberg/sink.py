"""Tuples into an Iceberg table, each exactly once: a snapshot says which checkpoint it has.

    from heronpy_compat.connectors.iceberg import IcebergSink

A snapshot of the table has the rows of one checkpoint and one instance, and their transaction's id
in its summary: a checkpoint that is among the snapshots is not written again.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heron_connectors.iceberg.history import (
    AWAY,
    EMPTY,
    has_transaction,
    refused_before,
    rows_of_other_runs,
    summary_of,
)
from heron_connectors.iceberg.nulls import nulls_kept
from heron_connectors.iceberg.partitions import (
    Division,
    divisions_of,
    misplaced,
    term_of,
    unwritable,
)
from heron_connectors.iceberg.types import PURPOSE, iceberg_form
from heron_connectors.tables.row_tables import MERGE
from heron_connectors.tables.table_sink import REFUSED, TableKeys, TableSink, note_of
from heron_connectors.transactions import LAST, TransactionId
from heron_connectors.two_phase import described
from heron_connectors.writable_folders import check_file, check_folder, local_path
from heron_core.errors import ComponentError
from heron_core.optional_packages import needed

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

TABLE = "iceberg.table"
"""Config key: NAMESPACE.TABLE; both are created if missing."""
CATALOG = "iceberg.catalog"
"""Config key: the catalog's name in pyiceberg's configuration (default)."""
CATALOG_PROPERTIES = "iceberg.catalog.properties"
"""Config key: what pyiceberg is to know of the catalog besides its configuration: type, uri, ..."""
PARTITION_BY = "iceberg.partition.by"
"""Config key: what a new table is divided by: `day`, `day(time)`, `bucket(16, id)`, ..."""
TYPES = "iceberg.types"
"""Config key: {field: type name of Arrow or SQL}; default: the stream's declared type, or the
table's, or derived from values."""
SCHEMA_MODE = "iceberg.schema.mode"
"""Config key: fields missing in the table: `merge` (add columns) or `refuse` (the sink does not
start)."""

STATE_KEY = "heronpy.iceberg_sink"
"""State key of the table's snapshot."""
COMMIT_ATTEMPTS = 10
"""How often a commit is started again because another writer's came first; each of them is another
one's success. As many instances as that may commit at once. After them the commit is told as failed
and is tried again a second later."""
NO_RETRIES = {"commit.retry.num-retries": "0"}
"""In this process alone: pyiceberg's own attempts do not look for our transaction, and so would
repeat one that the replacement of a frozen process has committed."""
ADDED = "added-records"
SQLITE = "sqlite:///"
"""Before the path of a catalog that is a file."""


class IcebergSink(TableSink):
    """Writes all fields of its input into an Iceberg table.

    sink = IcebergSink.spec(
        inputs=[counts],
        config={
            "iceberg.table": "shop.counts",
            "iceberg.catalog.properties": {
                "type": "sql", "uri": "sqlite:///catalog.db", "warehouse": "file:///warehouse",
            },
        },
    )

    All inputs have the same fields. Settings may be attributes of a subclass instead.
    """

    keys = TableKeys(TABLE, PARTITION_BY, TYPES, SCHEMA_MODE, PURPOSE)
    needed_package = ("pyiceberg", PURPOSE)
    catalog = "default"
    catalog_properties: Mapping[str, str] = {}
    _catalog: Any = None

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if they are wrong."""
        self._errors = needed("pyiceberg.exceptions", PURPOSE)
        super().open(config, context)
        if "." not in self._table:
            raise ComponentError(f"{self._name}: {TABLE} is {self._table}, not NAMESPACE.TABLE")
        try:
            self._terms = [term_of(each) for each in self._partition_by]
        except ValueError as error:
            raise ComponentError(f"{self._name}: {PARTITION_BY}: {error}") from None
        self._types = {name: self._declared(name, kind) for name, kind in self._types.items()}
        self._catalog_name = str(config.get(CATALOG, self.catalog))
        self._properties = dict(config.get(CATALOG_PROPERTIES, self.catalog_properties))
        self._divisions: list[Division] = []
        self._location = ""
        """Where the table is."""
        self._seen = AWAY
        """Last known snapshot of the table."""
        self._saved: int | None = None
        """The same at the last checkpoint."""
        if self._is_two_phase:
            self._saved = self._two_phase_state.get(STATE_KEY)
        self._connect()
        self.check_columns()

    def _declared(self, name: str, kind: Any) -> Any:
        try:
            return iceberg_form(kind)
        except ValueError as error:
            raise ComponentError(f"{self._name}: field {name!r}: {error}") from None

    def _connect(self) -> None:
        """ComponentError for an unconfigured catalog; an unreachable catalog is reported at the
        first write."""
        try:
            self._loaded_catalog()
        except (ValueError, self._errors.NotInstalledError) as error:
            raise ComponentError(
                f"{self._name}: catalog {self._catalog_name!r}: {described(error)}"
                f" ({CATALOG}, {CATALOG_PROPERTIES})"
            ) from None
        except Exception as error:
            self.logger.warning("the Iceberg catalog is away: %s", described(error))

    def check_target(self) -> None:
        """ComponentError if the catalog is a file that may not be written, or if the table, or the
        warehouse for a new one, is in a folder of this machine that takes no file."""
        uri = str(self._properties.get("uri", ""))
        if uri.startswith(SQLITE):
            check_file(self._name, uri.removeprefix(SQLITE), CATALOG_PROPERTIES)
        if self._seen == AWAY:
            return  # a catalog that is away is told of when it is to be written
        location = self._location or str(self._loaded_catalog().properties.get("warehouse", ""))
        if path := local_path(location):
            check_folder(self._name, path, CATALOG_PROPERTIES)

    def _loaded_catalog(self) -> Any:
        if self._catalog is None:
            made = needed("pyiceberg.catalog", PURPOSE).load_catalog
            self._catalog = made(self._catalog_name, **self._properties)
        return self._catalog

    def problem_of_table(self) -> str:
        """Reason why the known table rejects all rows; empty if none."""
        for name in self._columns:
            if name in self._known and (why := self.unknown_type(self._known[name])):
                return f"has a column {name!r} that cannot be written: {why}"
        found = self.absent_column() or super().problem_of_table()
        return found or unwritable(self._divisions)

    # --- the table --------------------------------------------------------------------------------

    def present(self) -> Any:
        """The newest version of the table, or None."""
        try:
            table = self._loaded_catalog().load_table(self._table)
        except (self._errors.NoSuchTableError, self._errors.NoSuchNamespaceError):
            self._known, self._required = {}, frozenset()
            self._divisions, self._seen, self._location = [], EMPTY, ""
            return None
        schema = table.schema()
        self._known = {each.name: _form_or_itself(each.type) for each in schema.as_arrow()}
        self._required = frozenset(each.name for each in schema.fields if each.required)
        self._divisions, self._location = divisions_of(table), table.location()
        self._note_seen(table)
        return table

    def _note_seen(self, table: Any) -> None:
        snapshot = table.current_snapshot()
        self._seen = EMPTY if snapshot is None else snapshot.snapshot_id

    def unknown_output(self) -> str:
        """Number of existing rows; checked by the first instance."""
        return self._rows_of_others("")

    def output_of_another_run(self, run: str) -> str:
        """Number of existing rows, if the newest were written by a different run."""
        return self._rows_of_others(run)

    def _rows_of_others(self, run: str) -> str:
        if not self._is_first:
            return ""
        try:
            table = self.present()
        except Exception:  # a table that is away is told of when it is to be written
            return ""
        found = 0 if table is None else rows_of_other_runs(table, run)
        return f"{self._table} has {found} rows of other runs" if found else ""

    def unknown_type(self, kind: Any) -> str:
        """Why a table cannot have a column of a type; empty if it can."""
        try:
            iceberg_form(kind)
        except ValueError as error:
            return str(error)
        return ""

    # --- rows -------------------------------------------------------------------------------------

    def pre_save(self, checkpoint_id: Any) -> None:
        """The state has the snapshot that the table was at, too: what the end of the data commits
        is behind it."""
        super().pre_save(checkpoint_id)
        if self._is_two_phase:
            self._saved = self._seen
            self._two_phase_state.put(STATE_KEY, self._saved)

    def pre_commit(self, transaction: list[Any], transaction_id: TransactionId) -> list[Any]:
        """The valid rows, and the table's snapshot before the commit. ComponentError for an unfit
        table."""
        try:
            self.present()
        except Exception:
            if not self._known:
                raise
            # Rows wait in checkpoints until the catalog is back; its snapshot was seen before.
        if problem := self.problem_of_table():
            raise ComponentError(f"{self._table} {problem}")
        rows = super().pre_commit(transaction, transaction_id)
        return [rows, self._base_of(transaction_id)] if rows else []

    def _base_of(self, transaction_id: TransactionId) -> int:
        """The latest snapshot known to precede the transaction: batches and the end of the data
        may already be committed when prepared again."""
        if self.is_in_batch:
            return AWAY
        if transaction_id.number == LAST and self._saved is not None:
            return self._saved
        return self._seen

    def problems_of(self, rows: Sequence[Any]) -> Mapping[int, str]:
        """Check rows for missing required values, missing partitions and, for a new table, rows
        without any column."""
        if why := self.no_table_of(rows, [each.field for each in self._terms]):
            return dict.fromkeys(range(len(rows)), why)
        found = self.without_required(rows)
        for position, row in enumerate(rows) if self._divisions else ():
            if position not in found and (why := misplaced(self._divisions, self._columns, row)):
                found[position] = why
        return found

    def _table_of(self, rows: Sequence[Any]) -> tuple[Any, dict[int, str]]:
        """In Iceberg's types, as far as there are any."""
        table, problems = super()._table_of(rows)
        for at, name in enumerate(table.column_names):
            kind = table.schema.field(at).type
            form = _form_or_itself(kind)
            if form != kind:
                table = table.set_column(at, name, table[name].cast(form))
        return table, problems

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Add a snapshot with the rows, unless already committed. Rows rejected by the current
        table are left out, reported and counted. ComponentError after repeated conflicts."""
        if not prepared:
            return
        rows, base = prepared
        for _ in range(COMMIT_ATTEMPTS):
            table = self.present()
            if table is None:
                table = self._created(rows)
            elif self.repeats and has_transaction(
                table, transaction_id, base, must_know=not self.is_in_batch
            ):
                self.refuse_rows(refused_before(table, transaction_id), rows)
                return
            try:
                self.refuse_rows(self._append(table, rows, transaction_id), rows)
                return
            except self._errors.CommitFailedException as error:
                problem = described(error)
        raise ComponentError(
            f"commits of others to {self._table} came first {COMMIT_ATTEMPTS} times: {problem}"
        )

    def _created(self, rows: Sequence[Any]) -> Any:
        """A new table with the columns of rows."""
        catalog = self._loaded_catalog()
        schema = self.as_present(*self._table_of(rows)).schema
        parsed = needed("pyiceberg.transforms", PURPOSE).parse_transform
        catalog.create_namespace_if_not_exists(self._table.rpartition(".")[0])
        try:
            with (
                catalog.create_table_transaction(self._table, schema) as transaction,
                transaction.update_spec() as spec,
            ):
                for term in self._terms:
                    spec.add_field(term.field, parsed(term.transform))
        except (self._errors.TableAlreadyExistsError, self._errors.CommitFailedException):
            self.logger.info("%s was made by another writer just now", self._table)
        return self.present()

    def _append(
        self, table: Any, rows: Sequence[Any], transaction_id: TransactionId
    ) -> dict[int, str]:
        """Position -> why, of the rows that are left out of the snapshot."""
        fitting, refused = self.fitting(rows)
        if len(refused) == len(rows):
            return refused
        self.check_target()
        columns = self._with_required(fitting)
        said = summary_of(self._run, transaction_id)
        if refused:
            said[REFUSED] = note_of(refused, transaction_id)
        local = {**table.properties, **NO_RETRIES}
        table.metadata = table.metadata.model_copy(update={"properties": local})
        with table.transaction() as transaction:
            changes = any(self._known.get(each.name) != each.type for each in columns.schema)
            if changes and self._mode == MERGE:
                with transaction.update_schema() as update:
                    update.union_by_name(columns.schema)
            with nulls_kept():
                transaction.append(columns, said)
            added = transaction.table_metadata.current_snapshot().summary[ADDED]
            if int(added) != columns.num_rows:
                raise ComponentError(f"pyiceberg has written {added} of {columns.num_rows} rows")
        self._note_seen(table)
        return refused

    def close(self) -> None:
        """Disconnect from the catalog."""
        try:
            super().close()
        finally:
            catalog, self._catalog = self._catalog, None
            if catalog is not None:
                catalog.close()

    def _with_required(self, table: Any) -> Any:
        """Mark required columns of the table as required in the rows."""
        fields = [each.with_nullable(each.name not in self._required) for each in table.schema]
        return self._arrow.Table.from_arrays(table.columns, schema=self._arrow.schema(fields))


def _form_or_itself(kind: Any) -> Any:
    try:
        return iceberg_form(kind)
    except ValueError:
        return kind
