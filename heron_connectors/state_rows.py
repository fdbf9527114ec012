"""Rows of tables as entries of states: the input of `write_state`.

Columns: key, value, and map_key for map states; expires_at for entries with a time to live;
key_group and task, present in exported tables, are recomputed. A text column with JSON
(heron_core.typed_values) is marked in its metadata, as in the output of read_state, or named
explicitly.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from heron_core.errors import UsageError, shown
from heron_core.optional_packages import needed
from heron_core.state.key_values import key_of
from heron_core.state.keys import shown_key
from heron_core.state.protocol import StateKind
from heron_core.typed_values import OBJECT, ShownObject, untyped
from heron_io.savepoint_writer import NewEntry

VALUES = ("key", "map_key", "value")
EXPIRES_AT = "expires_at"
COMPUTED = ("key_group", "task")
IS_JSON = {b"heronpy": b"json"}
"""The metadata of a column whose texts are JSON."""


def shown_in_table(key: Any) -> Any:
    """A key in table form: a tuple for several fields; a list for one field whose value is a
    tuple, so that both are restored unchanged."""
    if type(key) is tuple and len(key) == 1 and type(key[0]) is tuple:
        return list(key[0])
    return shown_key(key)


def key_in_table(shown_value: Any, kind: StateKind) -> Any:
    """The inverse, for a state of this kind; a struct is a key of several fields."""
    if isinstance(shown_value, Mapping):
        shown_value = tuple(shown_value.values())
    if kind is StateKind.PLAIN:
        return tuple(shown_value) if isinstance(shown_value, list) else shown_value
    if isinstance(shown_value, tuple) and len(shown_value) != 1:
        return key_of(shown_value)
    return key_of([shown_value])


def entries_of(table: Any, kind: StateKind, json_columns: Sequence[str]) -> Iterator[NewEntry]:
    """Of a table or a RecordBatchReader of Arrow, or a DataFrame of pandas or PySpark."""
    batches, schema = _batches(table)
    _check_columns(schema.names, "the table")
    is_json = [
        name
        for name in VALUES
        if name in schema.names
        and (name in json_columns or (schema.field(name).metadata or {}).items() >= IS_JSON.items())
    ]
    for batch in batches:
        for row in batch.to_pylist():
            for name in is_json:
                row[name] = None if row[name] is None else _read_json(name, row[name])
            yield entry_in(row, kind)


def _batches(table: Any) -> tuple[Iterable[Any], Any]:
    pa = needed("pyarrow", "a table of states")
    if hasattr(table, "toArrow"):  # PySpark's
        table = table.toArrow()
    elif type(table).__module__.partition(".")[0] == "pandas":
        table = pa.Table.from_pandas(table, preserve_index=False)
    if isinstance(table, pa.RecordBatchReader):
        return table, table.schema
    if isinstance(table, pa.RecordBatch):
        return [table], table.schema
    if not isinstance(table, pa.Table):
        raise UsageError(f"a {type(table).__qualname__} is not a table of states")
    return table.to_batches(), table.schema


def _check_columns(names: Sequence[str], where: str) -> None:
    known = (*VALUES, EXPIRES_AT, *COMPUTED)
    missing = [name for name in ("key", "value") if name not in names]
    others = [name for name in names if name not in known]
    if missing or others:
        what = f"has no column {missing[0]}" if missing else f"has a column {others[0]!r:.60}"
        raise UsageError(f"{where} {what}: its columns are key, value, and {', '.join(known[1:])}")


def _read_json(name: str, text: Any) -> Any:
    try:
        return untyped(json.loads(text))
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name} {shown(text, 60)} is not JSON of a value: {error}") from None


def entry_in(row: Mapping[str, Any], kind: StateKind) -> NewEntry:
    """An entry; UsageError for a value that requires a user class."""
    for name in VALUES:
        if isinstance(row.get(name), ShownObject):
            raise UsageError(
                f"the {name} of the key {shown(row['key'], 60)} is {OBJECT} {row[name].kind}, which"
                " only code of its topology can make"
            )
    expires_at = row.get(EXPIRES_AT)
    if isinstance(expires_at, str):
        expires_at = datetime.fromisoformat(expires_at)
    if isinstance(expires_at, datetime):
        expires_at = _in_utc(expires_at).timestamp()
    key = key_in_table(row["key"], kind)
    return NewEntry(key, row.get("map_key"), row["value"], expires_at)


def _in_utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def entries_in_file(path: str, kind: StateKind, json_columns: Sequence[str]) -> Iterator[NewEntry]:
    """Of a file of Arrow, Parquet, CSV or JSON lines, by its ending."""
    ending = os.path.splitext(path)[1].lower()
    if ending in (".json", ".jsonl"):
        return _entries_in_json(path, kind)
    return entries_of(_table_in(path, ending, json_columns), kind, json_columns)


def _table_in(path: str, ending: str, json_columns: Sequence[str]) -> Any:
    pa = needed("pyarrow", f"the table {path}")
    try:
        if ending == ".parquet":
            file = needed("pyarrow.parquet", "a Parquet file").ParquetFile(path)
            return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
        if ending == ".csv":
            csv = needed("pyarrow.csv", "a CSV file")
            texts = csv.ConvertOptions(
                column_types=dict.fromkeys(json_columns, pa.string()), strings_can_be_null=True,
                quoted_strings_can_be_null=False, null_values=[""],
            )  # fmt: skip
            return csv.open_csv(path, convert_options=texts)
        if ending in (".arrow", ".feather"):
            return pa.ipc.open_stream(path)
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    raise UsageError(f"{path} is not a table: .arrow, .parquet, .csv, .json or .jsonl")


def _entries_in_json(path: str, kind: StateKind) -> Iterator[NewEntry]:
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                row = _read_json(f"line {number} of {path}", line)
                if not isinstance(row, dict):
                    raise UsageError(f"line {number} of {path} is not an object")
                _check_columns(list(row), f"line {number} of {path}")
                yield entry_in(row, kind)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
