"""Rows of Parquet, CSV and JSON files as tuples."""

import os
import time
from codecs import lookup
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heron_api.component.component_spec import HeronComponentSpec
from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_connectors.emitted_rows import EmitsRows, RowLeftOut
from heron_connectors.tables.split_watermarks import ROWS_BETWEEN, SplitWatermarks, event_ms
from heron_connectors.tables.table_files import (
    FileTable,
    TablePiece,
    lasting_share,
    share,
)
from heron_connectors.tables.text_tables import BadRow, CsvOptions, Row
from heron_core import config as keys
from heron_core.errors import ComponentError, TopologyError
from heron_core.field_types import UnknownType, fits_of

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

PATH = "table.path"
"""Config key: a file, a folder or a glob pattern."""
COLUMNS = "table.columns"
"""Config key: columns in order; default: all."""
FORMAT = "table.format"
"""Config key: parquet, csv or json (an object a line), where files' names do not end so."""
ROWS_PER_TUPLE = "table.rows.per.tuple"
"""Config key: so many rows in one tuple, whose only field is a list of lists."""
FOLLOW = "table.follow"
"""Config key: true to go on with files that appear; the spout never finishes then."""
FOLLOW_SECS = "table.follow.secs"
"""Config key: how often to look for them (1)."""
TYPES = "table.types"
"""Config key: {column: SQL type} for CSV and JSON; default: the spout's outputs. A row with an
invalid value is left out, with an error each."""
DELIMITER = "table.delimiter"
"""Config key: what is between two values of a CSV file (a comma)."""
QUOTE = "table.quote"
"""Config key: what stands around values of CSV ("); an empty text if nothing does."""
HEADER = "table.header"
"""Config key: whether the first line of a CSV file names its columns (true)."""
ENCODING = "table.encoding"
"""Config key: the encoding of CSV files (utf-8)."""
TIMESTAMP_FIELD = "table.timestamp.field"
"""Config key: the column with the time of an event, in ms since 1970 or a datetime: the spout gives
watermarks then, for windows with the strategy Given()."""
LAG_MS = "table.timestamp.lag.ms"
"""Config key: longest lag of an event behind the latest event of its file (0)."""

STATE_KEY = "heronpy.table_spout"
"""Under it the state has the position."""

Emission = tuple[Any, Row]
"""(tuple id, values)"""


@dataclass(frozen=True, slots=True)
class TableSource:
    """What `TableSpout.of` returns: a table, to be given a name and instances by `spec`.

    Example:

        from heronpy_compat.connectors.tables import TableSpout

        flights = TableSpout.of("flights.parquet", columns=["carrier", "dep_delay"])
        spec = flights.spec(name="flights", par=2)
    """

    outputs: tuple[str, ...]
    config: Mapping[str, Any]
    class_path: str = "heron_connectors.tables.source.TableSpout"

    def spec(
        self, name: str | None = None, par: int = 1, config: Mapping[str, Any] | None = None
    ) -> HeronComponentSpec:
        """The spout as a component of a topology; arguments as those of `Spout.spec`."""
        merged = {**self.config, **(config or {})}
        outputs = list(self.outputs)
        return HeronComponentSpec(name, self.class_path, True, par, None, outputs, merged)


class TableSpout(EmitsRows[Any], Spout, StatefulComponent):
    """Emits the rows of a table, in order of files and rows, and finishes.

        class Flights(TableSpout):
            path = "flights/*.parquet"
            outputs = ["carrier", "dep_delay"]

    Instances share the pieces of the table. The id of a tuple is (file, row), rows counting from 0,
    or (file, first row, rows) with several rows in a tuple; what fails is emitted again. With
    ATMOST_ONCE nothing is remembered. With checkpoints it goes on at the row where it was. Files
    must appear whole: written elsewhere or under a name that begins with a dot, then renamed.
    """

    path: str | None = None
    columns: Sequence[str] | None = None
    format: str | None = None
    types: Mapping[str, str] = {}
    rows_per_tuple: int | None = None
    follow = False
    needed_package = ("pyarrow", "reading tables")

    @staticmethod
    def of(
        path: str | os.PathLike[str],
        columns: Sequence[str] | None = None,
        *,
        format: str | None = None,  # noqa: A002 (the word that everybody looks for)
        rows_per_tuple: int | None = None,
        follow: bool = False,
        types: Mapping[str, str] | None = None,
        delimiter: str = ",",
        quote: str = '"',
        header: bool = True,
        encoding: str = "utf-8",
    ) -> TableSource:
        """A spout over `path` whose fields are `columns`, or all columns of its first file.

        With `rows_per_tuple` its one field is "rows", a list of lists. TopologyError if columns are
        not given and there is no file to learn them from.
        """
        config: dict[str, Any] = {PATH: os.path.abspath(path), FOLLOW: follow}
        given = {
            TYPES: None if types is None else dict(types),
            DELIMITER: None if delimiter == "," else delimiter,
            QUOTE: None if quote == '"' else quote,
            HEADER: None if header else False,
            ENCODING: None if encoding == "utf-8" else encoding,
        }
        config |= {key: value for key, value in given.items() if value is not None}
        table = table_of(config[PATH], config, format, types or {}, columns or ())
        names = list(columns) if columns is not None else columns_of_first_file(table)
        config[COLUMNS] = names
        if format is not None:
            config[FORMAT] = format
        if rows_per_tuple is not None:
            config[ROWS_PER_TUPLE] = rows_per_tuple
        return TableSource(tuple(names) if rows_per_tuple is None else ("rows",), config)

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start: missing files."""
        path = config.get(PATH, cls.path)
        if path is None or not runs_here or config.get(FOLLOW, cls.follow):
            return None
        try:
            files = FileTable(os.path.abspath(path), config.get(FORMAT, cls.format)).files()
        except ComponentError as error:
            return str(error)
        return None if files else f"file not found: {path}"

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Find the files; ComponentError if none exist, unless new files are awaited."""
        name = context.get_component_id()
        path = config.get(PATH, self.path)
        if path is None:
            raise ComponentError(f"{name}: no table to read: set its attribute 'path' or {PATH}")
        self._table = self._table_of(os.path.abspath(path), config, context)
        self._follow = bool(config.get(FOLLOW, self.follow))
        if self._follow and self._table.is_delta:
            raise ComponentError(f"{name}: {path} is a Delta table, which cannot be followed")
        self._follow_secs = float(config.get(FOLLOW_SECS, 1.0))
        rows = config.get(ROWS_PER_TUPLE, self.rows_per_tuple)
        self._rows_per_tuple = None if rows is None else int(rows)
        self._columns = config.get(COLUMNS, self.columns)
        if self._columns is None and rows is None:
            self._columns = [each for each in getattr(self, "outputs", ()) if isinstance(each, str)]
        tasks = context.get_component_tasks(name)
        self._index, self._instances = tasks.index(context.get_task_id()), len(tasks)
        # Under EFFECTIVELY_ONCE the position is sufficient: failed rows are read again.
        mode = config.get(keys.RELIABILITY_MODE)
        self._tracked = mode not in (keys.ATMOST_ONCE, keys.EFFECTIVELY_ONCE)
        self._has_emitted_none(config)
        self._timestamp_field = config.get(TIMESTAMP_FIELD)
        self._watermarks = SplitWatermarks(int(config.get(LAG_MS, 0)))
        self._timestamp_at, self._rows_unsent = self._column_of_times(name), 0
        self._start(name)
        saved = self._state.get(STATE_KEY)
        if saved is not None:
            self._restore(saved)

    def _table_of(
        self, path: str, config: Mapping[str, Any], context: "TopologyContext"
    ) -> FileTable:
        name = context.get_component_id()
        declared = dict(context.get_declared_types(name, "default"))
        types = {**declared, **config.get(TYPES, self.types)}
        columns = config.get(COLUMNS, self.columns) or []
        try:
            return table_of(path, config, self.format, types, columns)
        except (TypeError, ValueError, UnknownType) as error:
            raise ComponentError(f"{name}: {error}") from None

    def _column_of_times(self, name: str) -> int:
        if self._timestamp_field is None:
            return -1
        columns = list(self._columns or ())
        if self._timestamp_field not in columns:
            raise ComponentError(
                f"{name}: {TIMESTAMP_FIELD} is {self._timestamp_field!r}, which is not one of "
                f"its columns: {', '.join(columns)}"
            )
        return columns.index(self._timestamp_field)

    def _start(self, name: str) -> None:
        files = self._table.files()
        if not files and not self._follow:
            raise ComponentError(f"{name}: file not found: {self._table.path}")
        divide = lasting_share if self._follow else share
        self._pieces = divide(list(self._table.pieces(files)), self._index, self._instances)
        self._known = set(files)
        self._piece = 0
        self._row = 0
        """Where it is: rows emitted of the piece with this position in `_pieces`."""
        self._reading: Iterator[Emission] | None = None
        self._poll_at = 0.0

    def _restore(self, saved: dict[str, Any]) -> None:
        self._pieces = [TablePiece(*each) for each in saved["pieces"]]
        self._row = saved["row"]
        self._known = set(saved["files"])
        self._pending = {tuple(tup_id): values for tup_id, values in saved["pending"]}
        self._failed.add(self._pending)

    def pre_save(self, checkpoint_id: Any) -> None:
        """Remaining pieces, the position in the first piece, and unacked rows."""
        left = self._pieces[self._piece :]
        self._state.put(
            STATE_KEY,
            {
                "pieces": [[each.path, each.group, each.first_row] for each in left],
                "row": self._row,
                "files": sorted(self._known) if self._follow else [],
                "pending": [[list(tup_id), each] for tup_id, each in self._pending.items()],
            },
        )

    def next_tuple(self) -> None:
        """Emit failed rows, or else the next rows."""
        if self._emit_failed():
            return
        if self._reading is None:
            self._reading = self._emissions()
            self._read_first_events()
        emission = next(self._reading, None)
        if emission is not None:
            self._emit_new(*emission)
            self._tell_time(*emission)
        elif not self._follow:
            if not self._failed:
                self.finish()
        else:
            self._poll_files()

    def _emit_new(self, tup_id: Any, values: Row) -> None:
        if isinstance(values, BadRow):
            raise RowLeftOut(f"{tup_id[0]}: a row is left out: {values.why}")
        if self._tracked:
            self._pending[tup_id] = values
            self.emit(values, tup_id=tup_id)
        else:
            self.emit(values)

    def _read_first_events(self) -> None:
        """The first event of each piece that is left holds the watermark back."""
        if self._timestamp_field is None:
            return
        for at, piece in enumerate(self._pieces[self._piece :]):
            rows = self._table.rows(piece, [self._timestamp_field], 0 if at else self._row)
            good = (row[0] for some in rows for row in some if not isinstance(row, BadRow))
            first = next((each for each in good if each is not None), None)
            if first is not None:
                self._watermarks.first(piece, event_ms(first))
        self._tell_watermark()

    def _tell_time(self, tup_id: Any, values: Row) -> None:
        """How far the piece is that is read: told once in a while, behind the tuples."""
        if self._timestamp_field is None or isinstance(values, BadRow):
            return
        rows = [values] if self._rows_per_tuple is None else values[0]
        at = self._timestamp_at
        for row in rows:
            if row[at] is not None:
                self._watermarks.seen(self._pieces[self._piece], event_ms(row[at]))
        self._rows_unsent += len(rows)
        if self._rows_unsent >= ROWS_BETWEEN:
            self._tell_watermark()

    def _tell_watermark(self) -> None:
        self._rows_unsent = 0
        watermark_ms = self._watermarks.rises_to()
        if watermark_ms is not None:
            self.emit_watermark(watermark_ms)

    def _emissions(self) -> Iterator[Emission]:
        """From where it is to the end of the pieces known now."""
        while self._piece < len(self._pieces):
            piece = self._pieces[self._piece]
            columns = self._columns or self._table.columns(piece.path)
            for rows in self._table.rows(piece, columns, self._row):
                yield from self._of_rows(piece, rows)
            self._piece, self._row = self._piece + 1, 0
            self._watermarks.end(piece)

    def _of_rows(self, piece: TablePiece, rows: Sequence[Row]) -> Iterator[Emission]:
        size = self._rows_per_tuple
        if size is None:
            for row in rows:
                number = piece.first_row + self._row
                self._row += 1 if not isinstance(row, BadRow) else row.counts
                yield (piece.path, number), row
            return
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            number = piece.first_row + self._row
            bad = [each for each in some if isinstance(each, BadRow)]
            good = [each for each in some if not isinstance(each, BadRow)]
            self._row += len(good) + sum(each.counts for each in bad)
            yield from (((piece.path, number), each) for each in bad)
            if good:
                yield (piece.path, number, len(good)), [good]

    def _poll_files(self) -> None:
        now = time.monotonic()
        if now < self._poll_at:
            return
        self._poll_at = now + self._follow_secs
        new = [each for each in self._table.files() if each not in self._known]
        self._pieces += lasting_share(self._table.pieces(new), self._index, self._instances)
        self._known.update(new)
        self._reading = None

    def handle_exception(self, error: BaseException) -> None:
        """A file that cannot be read ends the process: going on would leave rows out."""
        if isinstance(error, RowLeftOut):
            return
        self._reading = None
        if isinstance(error, ComponentError):
            self.delegate.leave(str(error))

    def __getstate__(self) -> dict[str, Any]:
        """Where it is; files are opened again."""
        names = ("_pieces", "_known", "_piece", "_row", "_pending", "_failed", "_rows_unsent")
        return {name: getattr(self, name) for name in names} | {"_reading": None}


def table_of(
    path: str,
    config: Mapping[str, Any],
    format_: str | None,
    types: Mapping[str, str],
    columns: Sequence[str],
) -> FileTable:
    """The table described by a config; ValueError, TypeError or UnknownType if invalid."""
    csv = CsvOptions(
        str(config.get(DELIMITER, ",")),
        str(config.get(QUOTE, '"')),
        bool(config.get(HEADER, True)),
        str(config.get(ENCODING, "utf-8")),
    )
    for key, text in ((DELIMITER, csv.delimiter), (QUOTE, csv.quote or '"')):
        if len(text) != 1:
            raise ValueError(f"{key} must be one character, not {text!r}")
    try:
        lookup(csv.encoding)
    except LookupError:
        raise ValueError(
            f"{ENCODING} is {csv.encoding!r}, which is not an encoding of Python"
        ) from None
    for type_text in types.values():
        fits_of(type_text)
    return FileTable(path, config.get(FORMAT, format_), csv, dict(types), tuple(columns))


def columns_of_first_file(table: FileTable) -> list[str]:
    """Names of the columns; TopologyError if there is no file, or if it cannot be read."""
    try:
        files = table.files()
        if not files:
            raise TopologyError(
                f"{table.path} does not exist, so its columns are unknown: give columns=[...]"
            )
        return table.columns(files[0])
    except ComponentError as error:
        raise TopologyError(str(error)) from None
