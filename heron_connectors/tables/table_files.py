"""Files of a table: discovery, distribution over instances, rows.

A *piece* is the unit of distribution: a row group of a Parquet file, or any other file.
"""

import glob
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from heron_connectors.files.compressed import plain_name
from heron_connectors.files.text_files import NOT_READABLE
from heron_connectors.tables.text_tables import (
    BLOCK_BYTES,
    OPEN_QUOTE,
    TOO_LONG,
    BadRow,
    CsvOptions,
    Row,
    csv_columns,
    csv_rows,
    json_columns,
    json_rows,
)
from heron_core.errors import ComponentError
from heron_core.optional_packages import needed
from heron_core.validation import did_you_mean

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
HIDDEN = (".", "_")
"""Files and folders that begin so are no data: half-written files, Spark's and Delta's logs."""
COMMON_CSV = CsvOptions()
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,8}")
READABLE_FEATURES = {"timestampNtz", "vacuumProtocolCheck", "v2Checkpoint"}
"""Delta features without effect on data files."""
COLUMN_MAPPING_VERSION = 2
"""Of the protocol: its columns may have other names in the files."""
BATCH_ROWS = 4096
"""Rows turned into Python objects at a time: some hundred kilobytes."""


@dataclass(frozen=True, slots=True)
class TablePiece:
    """A part of a table."""

    path: str
    group: int | None
    """The row group; None for a whole file."""
    first_row: int
    """The number in the file of its first row, from 0."""


@dataclass(frozen=True, slots=True)
class FileTable:
    """Files of a path: a file, a folder (recursively) or a glob pattern."""

    path: str
    format: str | None = None
    """parquet, csv or json; None for what the ending of each file says."""
    csv: CsvOptions = COMMON_CSV
    types: Mapping[str, str] = field(default_factory=dict)
    """Of columns of CSV and JSON, as SQL writes them."""
    fields: tuple[str, ...] = ()
    """What the columns of CSV files without a header are called."""
    _texts: list[frozenset[str]] = field(default_factory=list, compare=False, repr=False)
    """See `folder_texts`, once it has looked."""

    @property
    def is_delta(self) -> bool:
        """Whether the table is a Delta table, whose log lists the valid files."""
        return os.path.isdir(os.path.join(self.path, "_delta_log"))

    def files(self) -> list[str]:
        """Its files in order of their names; ComponentError where that cannot be said."""
        if self.is_delta:
            return _delta_files(self.path)
        if os.path.isdir(self.path):
            return sorted(_files_below(self.path))
        found = glob.glob(self.path, recursive=True)
        return sorted(each for each in found if os.path.isfile(each) and not _is_hidden(each))

    def pieces(self, files: Iterable[str]) -> Iterator[TablePiece]:
        """The pieces of files, in order."""
        for path in files:
            groups = self._group_rows(path)
            first_row = 0
            for number, rows in enumerate(groups or ()):
                yield TablePiece(path, number, first_row)
                first_row += rows
            if groups is None:
                yield TablePiece(path, None, 0)

    def columns(self, path: str) -> list[str]:
        """Column names of a file, partition columns (day=2013-01-01) last."""
        kind = self._format(path)
        if kind == "parquet":
            return list(self._opened(path).schema.names)
        return [*self._own_columns(path, kind), *self._folder_columns(path)]

    def _own_columns(self, path: str, kind: str) -> list[str]:
        try:
            return (
                json_columns(path) if kind == "json" else csv_columns(path, self.csv, self.fields)
            )
        except (*NOT_READABLE, ValueError) as error:
            raise _unreadable(path, error) from None

    def rows(self, piece: TablePiece, columns: Sequence[str], skip: int) -> Iterator[list[Row]]:
        """The rows of a piece behind the first `skip` ones, some at a time: a row that cannot be
        read is a BadRow. ComponentError if the file cannot be read at all."""
        kind = self._format(piece.path)
        if kind == "parquet":
            for batch in self.batches(piece, columns, skip):
                yield list[Row](rows_of(batch))
            return
        of_folders, own = self._folder_columns(piece.path), self._own_columns(piece.path, kind)
        if kind == "csv" or not own:
            _check_columns(piece.path, columns, [*own, *of_folders])
        # Without a column of the file its rows could not be counted.
        read = [each for each in columns if each not in of_folders] or own[:1]
        try:
            chunks = (
                json_rows(piece.path, self.types, read, skip)
                if kind == "json"
                else csv_rows(piece.path, self.csv, own, self.types, read, skip)
            )
            for some in chunks:
                yield some if not of_folders else _with_folders(some, columns, read, of_folders)
        except (*NOT_READABLE, ValueError) as error:
            raise _unreadable(piece.path, error) from None

    def _folder_columns(self, path: str) -> dict[str, Any]:
        """What the folders between the table's and a file say: a number, if all of the table's are
        written as numbers; else a text."""
        named = dict(self._named_by_folders(path))
        texts = self.folder_texts() if named else ()
        return {name: _folder_value(text, name in texts) for name, text in named.items()}

    def _named_by_folders(self, path: str) -> Iterator[tuple[str, str]]:
        base = self.path if os.path.isdir(self.path) else os.path.dirname(path)
        for each in os.path.relpath(os.path.dirname(path), base).split(os.sep):
            name, is_named, text = each.partition("=")
            if is_named:
                yield unquote(name), unquote(text)

    def folder_texts(self) -> frozenset[str]:
        """Partition columns of type text: a value that is not a number, a declared `string`, or
        a Delta table's text column. Determined once for a followed table."""
        if not self._texts:
            texts = {name for name, kind in self.types.items() if kind.strip().lower() == "string"}
            if self.is_delta:
                texts |= _delta_texts(self.path)
            for path in self.files():
                named = self._named_by_folders(path)
                texts |= {name for name, text in named if not _is_number(text)}
            self._texts.append(frozenset(texts))
        return self._texts[0]

    def batches(self, piece: TablePiece, columns: Sequence[str], skip: int) -> Iterator[Any]:
        """pyarrow.RecordBatches of a piece after its first `skip` rows."""
        dataset = self._opened(piece.path)
        _check_columns(piece.path, columns, dataset.schema.names)
        try:
            (fragment,) = dataset.get_fragments()
            if piece.group is not None:
                fragment = fragment.subset(row_group_ids=[piece.group])
            # One thread and little read ahead: instances are many, and each is one of the cores.
            for batch in fragment.to_batches(
                schema=dataset.schema,
                columns=list(columns),
                batch_size=BATCH_ROWS,
                batch_readahead=1,
                use_threads=False,
            ):
                if batch.num_rows > skip:
                    yield batch.slice(skip)
                skip = max(0, skip - batch.num_rows)
        except (OSError, ValueError) as error:
            raise _unreadable(piece.path, error) from None

    def _format(self, path: str) -> str:
        if self.format is not None or self.is_delta:
            return self.format or "parquet"
        ending = os.path.splitext(plain_name(path))[1].lower()
        if ending not in FORMATS:
            raise ComponentError(
                f"{path}: its name does not show its format; give parquet, csv or json"
            )
        return FORMATS[ending]

    def _group_rows(self, path: str) -> list[int] | None:
        """Rows of each row group; None for files without."""
        if self._format(path) != "parquet":
            return None
        parquet = needed("pyarrow.parquet", "reading tables")
        try:
            with parquet.ParquetFile(path) as file:
                data = file.metadata
                return [data.row_group(each).num_rows for each in range(data.num_row_groups)]
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None

    def _opened(self, path: str) -> Any:
        datasets = needed("pyarrow.dataset", "reading tables")
        base = self.path if os.path.isdir(self.path) else os.path.dirname(path)
        folder_values = self._folder_columns(path)
        arrow = needed("pyarrow", "reading tables")
        kinds = [
            (name, arrow.int32() if isinstance(value, int) else arrow.string())
            for name, value in folder_values.items()
        ]
        try:
            return datasets.dataset(
                [path],
                format=self._format(path),
                partitioning=datasets.partitioning(arrow.schema(kinds), flavor="hive"),
                partition_base_dir=base,
            )
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None


def share(pieces: Sequence[TablePiece], index: int, count: int) -> list[TablePiece]:
    """What instance `index` of `count` reads of a table that is complete: every n-th piece."""
    return list(pieces[index::count])


def lasting_share(pieces: Iterable[TablePiece], index: int, count: int) -> list[TablePiece]:
    """Assignment for a growing table: a file's name determines its instance, independent of
    later files."""
    return [
        each
        for each in pieces
        if (zlib.crc32(os.fsencode(each.path)) + (each.group or 0)) % count == index
    ]


def _with_folders(
    rows: Iterable[Row], columns: Sequence[str], read: Sequence[str], folders: Mapping[str, Any]
) -> list[Row]:
    """Rows of the selected columns, with partition columns inserted."""
    order = [(name in folders, name if name in folders else read.index(name)) for name in columns]
    return [
        row
        if isinstance(row, BadRow)
        else [folders[at] if is_folders else row[at] for is_folders, at in order]  # type: ignore[index]
        for row in rows
    ]


def _folder_value(text: str, is_text: bool) -> Any:
    if text == HIVE_NULL:
        return None
    return text if is_text else int(text)


def _is_number(text: str) -> bool:
    """Whether a folder's value is a number, or none at all."""
    return text == HIVE_NULL or _NUMBER.fullmatch(text) is not None


def rows_of(batch: Any) -> list[list[Any]]:
    """A RecordBatch as a list of rows, values as Python objects: maps as dicts."""
    if not batch.num_columns:
        return [[] for _ in range(batch.num_rows)]
    from heron_core.wire.columns import rows_of as rows_of_columns  # late: it needs pyarrow

    return rows_of_columns(batch)


def _files_below(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(HIDDEN)]
        yield from (os.path.join(here, each) for each in files if not each.startswith(HIDDEN))


def _is_hidden(path: str) -> bool:
    return os.path.basename(path).startswith(HIDDEN)


def _delta_files(path: str) -> list[str]:
    table = needed("deltalake", "reading Delta tables").DeltaTable(path)
    protocol = table.protocol()
    features = set(protocol.reader_features or ()) - READABLE_FEATURES
    if features or protocol.min_reader_version == COLUMN_MAPPING_VERSION:
        raise ComponentError(
            f"Delta table {path} asks for readers of version {protocol.min_reader_version}"
            f" ({', '.join(sorted(features)) or 'renamed columns'}): write a copy without these"
            " features, or read it with Spark"
        )
    # The table's folder is quoted; the path below is used as on disk.
    root = urlsplit(table.table_uri).path
    return sorted(os.path.join(path, each.removeprefix(root)) for each in table.file_uris())


def _delta_texts(path: str) -> set[str]:
    fields = needed("deltalake", "reading Delta tables").DeltaTable(path).schema().fields
    return {each.name for each in fields if getattr(each.type, "type", "") == "string"}


def _check_columns(path: str, wanted: Iterable[str], present: Sequence[str]) -> None:
    for name in wanted:
        if name not in present:
            close = did_you_mean(name, present)
            hint = f"did you mean {close!r}?" if close else f"it has {', '.join(present)}"
            raise ComponentError(f"{path} has no column {name!r}; {hint}")


def _unreadable(path: str, error: Exception) -> ComponentError:
    text = str(error).strip().splitlines()
    if text and text[0].startswith(TOO_LONG):
        text = [f"a row is longer than {BLOCK_BYTES} bytes, or {OPEN_QUOTE}"]
    return ComponentError(f"{path} cannot be read: {text[0] if text else type(error).__name__}")
