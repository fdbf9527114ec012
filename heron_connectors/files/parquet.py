"""Tuples into Parquet files, acked when their file is committed.

What holds (docs/CONNECTORS.md says more):
    at least once             every tuple is in a file; one that was replayed may be twice
    with `id_field`           every id is in exactly one row
    effectively once          every tuple is in exactly one file, when its checkpoint is complete
    on an engine of batches   every tuple of a batch is there once, however often it is repeated
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_connectors.files.part_file_sink import PartFileSink, PartTransaction
from heron_connectors.files.part_files import (
    PartFiles,
    Partition,
    check_id,
    folder_of,
)
from heron_connectors.folder_lock import FolderSuperseded
from heron_connectors.ids import Id, Ids
from heron_connectors.left_out_rows import fail_or_ack
from heron_connectors.tables.row_tables import (
    MERGE,
    PURPOSE,
    Row,
    file_of,
    is_null,
    schema_problem,
    table_of,
    types_called,
    types_for,
)
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

FOLDER = "parquet.folder"
"""Config key: where the files go, relative to the directory where the topology is started."""
PARTITION_BY = "parquet.partition.by"
"""Config key: fields that become folders (day=2013-01-01) instead of columns."""
ID_FIELD = "parquet.id.field"
"""Config key: a field with an id for each row (int, str or bytes), which is then written once."""
TYPES = "parquet.types"
"""Config key: {field: type name of Arrow or SQL}; default: the type declared by the stream, or
else derived from the values of each file."""
ROWS_PER_FILE = "parquet.rows.per.file"
"""Config key: so many rows, over all partitions, are committed at once (100000)."""
SCHEMA_MODE = "parquet.schema.mode"
"""Config key: what becomes of fields that the files in the folder do not have: `merge` (they are
columns of the next ones) or `refuse` (the sink does not begin). A column's type never changes."""
ROLL_SECS = "parquet.roll.secs"
"""Config key: the longest a row waits for its commit (5); less than topology.message.timeout.secs,
or it is replayed meanwhile."""

PARTITIONS_OPEN_MAX = 1000
"""Partitions with rows that wait: each costs a file at the next commit."""
RETRY_SECS = 1.0
"""How long to leave a disk alone that did not take a file: its rows come again at once."""


@dataclass(slots=True)
class _Part:
    """Rows of one partition that wait for a commit."""

    rows: list[Row] = field(default_factory=list)
    tuples: list[tuple[Any, int]] = field(default_factory=list)
    """(tuple, position of its row); tuples with equal ids share a row."""
    ids: list[Id] = field(default_factory=list)
    """Of each row, if there are ids."""
    values: list[Row] = field(default_factory=list)
    """Of the tuple of each row, all fields; in a batch, whose tuples are acked at once."""


class ParquetSink(PartFileSink):
    """Writes all fields of its input into Parquet files below a folder.

    sink = ParquetSink.spec(
        inputs={rows: Grouping.fields("id")},
        config={"parquet.folder": "out", "parquet.partition.by": ["day"], "parquet.id.field": "id"},
    )

    All inputs have the same fields. Settings may be attributes of a subclass instead.
    """

    folder: str | None = None
    folder_key = FOLDER
    partition_by: Sequence[str] = ()
    id_field: str | None = None
    types: Mapping[str, str] = {}
    schema_mode = MERGE
    rows_per_file = 100_000
    roll_secs = 5.0
    needed_package = ("pyarrow", PURPOSE)

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if they do not go together."""
        folder = config.get(FOLDER, self.folder)
        if folder is None:
            raise self._wrong(f"no folder to write into: set its attribute 'folder' or {FOLDER}")
        self._fields = self.fields_of_inputs(context)
        self._partition_by = _names(config.get(PARTITION_BY, self.partition_by))
        self._id_field = config.get(ID_FIELD, self.id_field)
        declared, said = self.types_of_inputs(context), dict(config.get(TYPES, self.types))
        self._buffer_size = int(config.get(ROWS_PER_FILE, self.rows_per_file))
        self._roll_secs = float(config.get(ROLL_SECS, self.roll_secs))
        tasks = context.get_component_tasks(self._name)
        self._check(context, len(tasks), said)
        self._types = types_called({**declared, **said})
        self._columns = [each for each in self._fields if each not in self._partition_by]
        self._column_at = [self._fields.index(each) for each in self._columns]
        self._partition_at = [self._fields.index(each) for each in self._partition_by]
        index = tasks.index(context.get_task_id())
        self._files = PartFiles(
            str(folder), self._name, index, incarnation=context.get_incarnation()
        )
        self._mode = config.get(SCHEMA_MODE, self.schema_mode)
        self._known = self._known_types()
        self._is_open = False
        self._committed = Ids()
        self._batch: int | None = None
        self._last_batch: int | None = None
        self._not_before = 0.0
        self._clear()

    def _known_types(self) -> dict[str, Any]:
        """Column types of the existing files; ComponentError if incompatible with the run's
        types."""
        known: dict[str, Any] = self._files.schema()
        problem = schema_problem(self._mode, SCHEMA_MODE, known, self._types, self._columns)
        if problem:
            raise self._wrong(f"the files in {self._files.folder} have {problem}")
        return known

    def _table_of(self, rows: Sequence[Row]) -> tuple[Any, dict[int, str]]:
        """As `table_of`, by the types that are declared, or else those of the files before."""
        types = types_for(self._mode, self._known, self._types, self._columns, rows)
        table, problems = table_of(self._columns, types, rows)
        for each in table.schema if table.num_rows else ():
            if not is_null(each.type):
                self._known[each.name] = each.type
        return table, problems

    def _clear(self) -> None:
        self._parts: dict[str, _Part] = {}
        """Pending rows by folder: values with equal folders, such as 1 and "1", share a file."""
        self._waiting: dict[Id, tuple[str, int]] = {}
        """id -> pending row"""
        self._rows = 0

    def _wrong(self, text: str) -> ComponentError:
        return ComponentError(f"{self._name}: {text}")

    def _check(self, context: Any, tasks: int, types: Mapping[str, str]) -> None:
        ids = [self._id_field] if self._id_field is not None else []
        for name in (*self._partition_by, *ids, *types):
            if name not in self._fields:
                raise self._wrong(f"no field {name!r} in {', '.join(self._fields)}")
        if set(self._fields) == set(self._partition_by) or set(ids) & set(self._partition_by):
            raise self._wrong("the id, and at least one field, must stay columns of the files")
        groupings = context.to_storm()["source->stream->grouping"].values()
        kinds = {each["type"] for streams in groupings for each in streams.values()}
        if ids and tasks > 1 and kinds != {"FIELDS"}:
            raise self._wrong(
                f"rows with the same {self._id_field} must go to the same of its {tasks} "
                f"instances: group its inputs by fields({self._id_field!r}), or use one instance"
            )

    def output_of_another_run(self, run: str) -> str:
        """With ids, existing rows are known, regardless of their writer."""
        return "" if self._id_field is not None else super().output_of_another_run(run)

    # --- taking rows -----------------------------------------------------------------------------

    def process(self, tup: Any) -> None:
        """Add a row; the tuple is acked when the file is committed."""
        if self._batch is not None:
            self._keep(tup.values)
            self.ack(tup)
            return
        if self.is_two_phase:
            super().process(tup)
            return
        self._open()
        row_id = None if self._id_field is None else self._id_of(tup)
        if row_id is not None and row_id in self._committed:
            self.ack(tup)
            return
        if row_id is not None and row_id in self._waiting:
            folder, position = self._waiting[row_id]
        else:
            folder, position = self._keep(tup.values)
        part = self._parts[folder]
        if row_id is not None and row_id not in self._waiting:
            self._waiting[row_id] = folder, position
            part.ids.append(row_id)
        part.tuples.append((tup, position))
        if self._is_full and time.monotonic() >= self._not_before:
            self._commit()

    def _open(self) -> None:
        """Before the first row: take the lock and read the existing ids."""
        if self._is_open:
            return
        try:
            self._files.lock()
        except ComponentError as error:
            # A lock held by another process is not the tuple's fault: the process ends and retries.
            self.delegate.call_soon(partial(self.delegate.leave, str(error)))
            raise
        if self._id_field is not None:
            self._committed = self._files.ids(self._id_field)
        self._is_open = True

    def _id_of(self, tup: Any) -> Id:
        assert self._id_field is not None
        return check_id(self._id_field, tup.values[self._fields.index(self._id_field)])

    def _folder_of(self, values: Row) -> str:
        partition: Partition = tuple(values[at] for at in self._partition_at)
        return folder_of(self._partition_by, partition)

    def _keep(self, values: Row) -> tuple[str, int]:
        """Let a row wait for the commit; where it is. ValueError if it has no folder."""
        folder = self._folder_of(values)
        if not self._parts:
            self._roll_later(self._roll_secs)
        part = self._parts.setdefault(folder, _Part())
        part.rows.append([values[at] for at in self._column_at])
        if self._batch is not None:
            part.values.append(list(values))
        self._rows += 1
        return folder, len(part.rows) - 1

    @property
    def _is_full(self) -> bool:
        return self._rows >= self._buffer_size or len(self._parts) >= PARTITIONS_OPEN_MAX

    def _roll_later(self, secs: float) -> None:
        if self._batch is None:
            self._window += 1
            window = self._window
            self.delegate.call_later(secs, partial(self._roll, window))

    def _roll(self, window: int) -> None:
        """Timer: commit if the rows of the timer are still pending."""
        if window == self._window and self._parts:
            self._commit()

    # --- checkpoints: a transaction's buffer has the rows of each partition ----------------------

    def write(self, transaction: PartTransaction, tup: Any) -> None:
        """Let a row wait for its file."""
        self.keep(transaction, self._folder_of(tup.values), list(tup.values), 1)

    def contents(self, buffer: dict[Any, list[Any]]) -> Mapping[str, Any]:
        """A file of each partition, of the rows that fit."""
        files = {}
        self._unfit: list[tuple[str, list[Any]]] = []
        for folder, tuples in buffer.items():
            rows = [[values[at] for at in self._column_at] for values in tuples]
            table, problems = self._table_of(rows)
            self._unfit += [(why, tuples[at]) for at, why in problems.items()]
            if table.num_rows:
                files[folder] = file_of(table)
        return files

    def flushed(self) -> None:
        """The rows that are not in the files will never be."""
        why = {at: problem for at, (problem, _) in enumerate(self._unfit)}
        rows = {at: values for at, (_, values) in enumerate(self._unfit)}
        self.leave_out(why, self._fields, rows)

    # --- committing at once -----------------------------------------------------------------------

    def _commit(self) -> str:
        """Write what waits; tuples are acked, or failed if that did not work. Returns the error."""
        parts = self._parts
        self._clear()
        error = ""
        for folder, part in parts.items():
            error = self._commit_part(folder, part) or error
        if not error:
            self._is_failing = False
        return error

    def _commit_part(self, folder: str, part: _Part) -> str:
        table, problems = self._table_of(part.rows)
        error = self._add(folder, table)
        if error:
            self._not_before = time.monotonic() + RETRY_SECS
            for tup, _ in part.tuples:
                self.fail(tup)
            return self._reported_once(
                f"{self._name}: cannot write into {self._files.folder}: {error}; {len(part.rows)}"
                " rows are failed, so that their spouts emit them again"
            )
        for position, row_id in enumerate(part.ids):
            if position not in problems:
                self._committed.add(row_id)
        for tup, position in part.tuples:
            fail_or_ack(self, tup, problems.get(position))
        for problem in problems.values():
            self.delegate.record_error("a row that does not match its file", problem)
        return ""

    def _add(self, where: str, table: Any) -> str:
        """Write a file of the pending rows, if any; returns the error, or None."""
        try:
            if table.num_rows:
                self._files.add(where, file_of(table))
        except OSError as error:
            return error.strerror or str(error)
        except FolderSuperseded as error:
            self.leave(str(error))
        return ""

    def on_finish(self) -> None:
        """The end of the data: commit the rest; ComponentError if that fails."""
        if self.is_two_phase:
            super().on_finish()
        elif self._batch is None:
            error = self._commit()
            if error:
                raise ComponentError(error)

    def close(self) -> None:
        """Commit the remaining rows and release the lock."""
        if self._is_open:
            self._commit()
            self._is_open = False
        super().close()

    # --- engines of batches: heron_api.batch_aware.BatchAware ---------------------------

    def begin_batch(self, batch_id: int) -> None:
        """Start of a batch: later rows belong to the batch."""
        super().begin_batch(batch_id)
        self._batch = batch_id
        self._clear()

    def end_batch(self) -> None:
        """Commit the rows under the batch's name; ComponentError on failure, which voids the
        batch. Invalid rows are left out, reported and counted."""
        assert self._batch is not None, "end_batch without begin_batch"
        tables = {}
        for folder, part in self._parts.items():
            table, problems = self._table_of(part.rows)
            self._left_out_of_batch(problems, part.values)
            if table.num_rows:
                tables[folder] = file_of(table)
        is_replay = self._last_batch is None or self._batch != self._last_batch + 1
        try:
            self._files.put_batch(self._batch, tables, is_replay)
        except OSError as error:
            raise self._wrong(f"cannot write into {self._files.folder}: {error.strerror}") from None
        self._last_batch = self._batch
        self._clear()

    def _left_out_of_batch(self, problems: Mapping[int, str], tuples: Sequence[Row]) -> None:
        for problem in problems.values():
            self.delegate.record_error("dropped a row that does not match its file", problem)
        if problems:
            rows = [(list(tuples[at]), why) for at, why in problems.items()]
            self.delegate.abandon_rows(self._fields, rows)

    def __getstate__(self) -> dict[str, Any]:
        """Nothing has to be remembered: between two batches no row waits."""
        return {}


def _names(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
