"""Rows of CSV files and JSON-lines files: values are unchanged, invalid rows are left out and
reported.

A column has its declared type. An undeclared CSV column has the most specific type that restores
all of the file's values exactly: 007 is a text, and makes its column a text column. JSON values
have their own types.
"""

import json
import re
from codecs import BOM_UTF8, lookup
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

from heron_connectors.files.compressed import opened
from heron_connectors.tables.csv_properties import UTF8, CsvProperties, csv_properties
from heron_core.field_types import fits_of
from heron_core.optional_packages import needed

PURPOSE = "reading tables"
LATIN_1 = "latin-1"
"""Each byte is a character."""
BOM_AS_BYTES = BOM_UTF8.decode(LATIN_1)
OPEN_QUOTE = "a quote is not closed"
TOO_LONG = "straddling object"
"""How Arrow begins to tell of a row that is longer than a block."""
ASCII_BYTES = 128
BLOCK_BYTES = 1 << 20
"""Of a CSV file, parsed at once."""
FIRST_RECORDS = 1000
"""First objects of a JSON file, which determine the columns."""
ROWS_AT_ONCE = 1000
"""Of a JSON file, handed on together."""
INFERRED_FILES_MAX = 1024
"""Types are remembered of so many files."""
NOTHING = frozenset({"", "NULL", "null", "NA", "N/A", "NaN", "nan", "#N/A"})
"""Texts that stand for null in CSV columns other than text columns."""


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How a CSV file is written."""

    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    """False: the columns are called as the fields are, in their order, or f0, f1, …"""
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class BadRow:
    """Stands for a row that is left out."""

    why: str
    counts: bool = True
    """Whether the row has a row number: rows with a wrong number of columns lack one."""


Row = list[Any] | BadRow
Parse = Callable[[str], Any]


# --- texts as values of declared types ------------------------------------------------------------


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _wall(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def _bool(text: str) -> bool:
    known = {"true": True, "false": False}
    return known[text.lower()]


_PARSE: dict[str, Parse] = {
    "tinyint": int, "byte": int, "smallint": int, "short": int, "int": int, "integer": int,
    "bigint": int, "long": int, "float": float, "real": float, "double": float, "string": str,
    "boolean": _bool, "date": date.fromisoformat, "timestamp": _time, "timestamp_ntz": _wall,
    "decimal": Decimal,
}  # fmt: skip


_AT_ONCE = {
    "tinyint": "int8", "byte": "int8", "smallint": "int16", "short": "int16", "int": "int32",
    "integer": "int32", "bigint": "int64", "long": "int64", "double": "float64", "date": "date32",
}  # fmt: skip
"""Types whose texts Arrow reads as Python does, by its own names."""


class TypedValues:
    """Converts values to one declared type: from texts, or from JSON values."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._fits = fits_of(kind)
        name = re.split(r"[(<]", kind.strip().lower(), maxsplit=1)[0].strip()
        self._is_text = name == "string"
        self._parse = _PARSE.get(name, json.loads)
        self._at_once: str | None = _AT_ONCE.get(name)

    def of_text(self, text: str | None) -> Any:
        """Parse CSV values; ValueError if invalid."""
        if text is None or (not self._is_text and text in NOTHING):
            return None
        return self._checked(text, self._parse)

    def of_column(self, texts: Any) -> list[Any] | None:
        """The values of a text array; None if values must be parsed one by one."""
        if self._is_text:
            return list(texts.to_pylist())
        if self._at_once is None:
            return None
        arrow, compute = needed("pyarrow", PURPOSE), needed("pyarrow.compute", PURPOSE)
        try:
            is_nothing = compute.is_in(texts, arrow.array(sorted(NOTHING)))
            values = compute.if_else(is_nothing, arrow.scalar(None, texts.type), texts)
            return list(compute.cast(values, self._at_once).to_pylist())
        except arrow.ArrowException:
            return None

    def of_json(self, value: Any) -> Any:
        """Convert JSON values: times and decimals are texts in JSON, and a text is never a
        number."""
        if isinstance(value, str) and not self._is_text and self._parse not in (int, float, _bool):
            return self._checked(value, self._parse)
        if value is None or self._fits(value):
            return value
        raise ValueError(f"{value!r:.80} is not of type {self.kind}")

    def _checked(self, text: str, parse: Parse) -> Any:
        try:
            value = parse(text.strip() if not self._is_text else text)
        except (ValueError, KeyError, ArithmeticError):
            raise ValueError(f"{text!r:.80} is not of type {self.kind}") from None
        if not self._fits(value):
            raise ValueError(f"{text!r:.80} is not of type {self.kind}")
        return value


# --- CSV ------------------------------------------------------------------------------------------


def csv_columns(path: str, options: CsvOptions, fields: Sequence[str]) -> list[str]:
    """The names of a file's columns; OSError or ValueError if it cannot be read."""
    with _csv_reader(path, options, None, []) as reader:
        names: list[str] = reader.schema.names
    if not options.header and fields:
        return [*fields, *names[len(fields) :]]
    if options.header and _is_as_bytes(path, options):
        as_bytes = [each.removeprefix(BOM_AS_BYTES).encode(LATIN_1) for each in names]
        return [each.decode(options.encoding) for each in as_bytes]
    return names


def _properties(path: str, options: CsvOptions) -> CsvProperties:
    encoding = None if is_decoded_here(options.encoding) else options.encoding
    return csv_properties(path, encoding, options.delimiter, options.quote)


def _is_as_bytes(path: str, options: CsvOptions) -> bool:
    """Whether Arrow reads each byte of the file as one character: Arrow aborts at an
    undisplayable row, i.e. a row with a wrong number of columns that is not UTF-8."""
    return is_decoded_here(options.encoding) and not _properties(path, options).is_utf8


def _csv_reader(path: str, options: CsvOptions, names: Sequence[str] | None, bad: list[str]) -> Any:
    csv, arrow = needed("pyarrow.csv", PURPOSE), needed("pyarrow", PURPOSE)
    is_as_bytes = _is_as_bytes(path, options)
    encoding = UTF8 if is_decoded_here(options.encoding) else options.encoding

    def leave_out(row: Any) -> str:
        many = f"{row.actual_columns} columns where {row.expected_columns} are expected"
        shown = row.text.encode(LATIN_1) if is_as_bytes else row.text
        bad.append(f"{many}: {shown!r:.80}")
        return "skip"

    called = list(names or ())
    if is_as_bytes and options.header:
        called = [each.encode(options.encoding).decode(LATIN_1) for each in called]
        called += [f"{BOM_AS_BYTES}{each}" for each in called[:1]]
    # Every ending that is not told here, Arrow knows by itself.
    source = arrow.PythonFile(opened(path)) if path.lower().endswith(".xz") else path
    return csv.open_csv(
        source,
        read_options=csv.ReadOptions(
            use_threads=False,
            block_size=BLOCK_BYTES,
            encoding=LATIN_1 if is_as_bytes else encoding,
            column_names=None if options.header or names is None else list(names),
            autogenerate_column_names=not options.header and names is None,
        ),
        parse_options=csv.ParseOptions(
            delimiter=options.delimiter,
            quote_char=options.quote or False,
            newlines_in_values=bool(options.quote),
            invalid_row_handler=leave_out,
        ),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(called, arrow.binary()), strings_can_be_null=False
        ),
    )


def _csv_batches(
    path: str, options: CsvOptions, names: Sequence[str], bad: list[str]
) -> Iterator[Any]:
    """The columns of some rows at a time, as bytes; why rows are left out is in `bad` then."""
    is_as_bytes = _is_as_bytes(path, options)
    waiting = None
    with _csv_reader(path, options, names, bad) as reader:
        for batch in reader:
            if waiting is not None:
                yield waiting
            waiting = _bytes_again(batch, names) if is_as_bytes else batch
    if waiting is None:
        return
    quote = _properties(path, options).open_quote
    if quote is not None and waiting.num_rows:
        last = [each[-1].as_py() for each in waiting.columns]
        if quote.is_of(last[-1]):
            bad.append(f"{OPEN_QUOTE}, so it takes all following lines: {last[-1]!r:.80}")
            waiting = waiting.slice(0, waiting.num_rows - 1)
    yield waiting


def _bytes_again(batch: Any, names: Sequence[str]) -> Any:
    arrow = needed("pyarrow", PURPOSE)
    columns = [
        arrow.array([each.decode().encode(LATIN_1) for each in column.to_pylist()], arrow.binary())
        for column in batch.columns
    ]
    return arrow.RecordBatch.from_arrays(columns, names=list(names))


@lru_cache
def is_decoded_here(encoding: str) -> bool:
    """Whether delimiters, quotes and line ends are single ASCII bytes in the encoding: the file
    is split first, and a decoding error costs only its row."""
    if lookup(encoding).name == UTF8:
        return True
    plain = bytes(range(ASCII_BYTES))
    has_a_character_for_each = len(bytes(range(256)).decode(encoding, "replace")) == 256
    return has_a_character_for_each and plain.decode(encoding, "replace") == plain.decode("ascii")


def _texts(values: Any, encoding: str) -> tuple[Any, dict[int, str]]:
    """(a text array, reasons by position of nulls)."""
    arrow = needed("pyarrow", PURPOSE)
    own = encoding if is_decoded_here(encoding) else UTF8
    if lookup(own).name == UTF8:
        try:
            return values.cast(arrow.string()), {}
        except arrow.ArrowInvalid:
            pass
    texts: list[str | None] = []
    problems = {}
    for at, value in enumerate(values.to_pylist()):
        try:
            texts.append(value.decode(own))
        except UnicodeDecodeError:
            texts.append(None)
            problems[at] = f"{value!r:.80} is not {encoding}"
    return arrow.array(texts, arrow.string()), problems


def csv_rows(
    path: str,
    options: CsvOptions,
    names: Sequence[str],
    types: Mapping[str, str],
    columns: Sequence[str],
    skip: int,
) -> Iterator[list[Row]]:
    """The rows behind the first `skip` ones, some at a time; `names` are all columns of the file.

    OSError or ValueError if it cannot be read."""
    kinds = csv_types(path, options, tuple(names)) if set(columns) - set(types) else {}
    typed_columns = [TypedValues(types.get(each) or kinds[each]) for each in columns]
    bad: list[str] = []
    for batch in _csv_batches(path, options, names, bad):
        if batch.num_rows > skip:
            some = batch.slice(skip)
            rows = _rows(columns, typed_columns, some, options.encoding)
            yield [*(BadRow(each, counts=False) for each in bad), *rows]
            bad.clear()
        elif batch.num_rows:
            bad.clear()
        skip = max(0, skip - batch.num_rows)
    if bad:
        yield [BadRow(each, counts=False) for each in bad]


def _rows(
    columns: Sequence[str], typed_columns: Sequence[TypedValues], batch: Any, encoding: str
) -> list[Row]:
    """At once where every value is one of its column's type, else row by row."""
    decoded = [_texts(batch.column(each), encoding) for each in columns]
    arrays = [texts for texts, _ in decoded]
    undecoded = {
        at: f"{name}={why}"
        for name, (_, problems) in zip(columns, decoded, strict=True)
        for at, why in problems.items()
    }
    whole = (
        [] if undecoded else [e.of_column(a) for e, a in zip(typed_columns, arrays, strict=True)]
    )
    if not undecoded and all(each is not None for each in whole):
        return list(map(list, zip(*whole, strict=True)))
    rows = _values(columns, typed_columns, [each.to_pylist() for each in arrays])
    return [BadRow(undecoded[at]) if at in undecoded else row for at, row in enumerate(rows)]


def _values(
    columns: Sequence[str], made: Sequence[TypedValues], texts: Sequence[Sequence[str]]
) -> Iterator[Row]:
    for row in zip(*texts, strict=True):
        try:
            yield [each.of_text(text) for each, text in zip(made, row, strict=True)]
        except ValueError:
            yield BadRow(_problem(columns, made, row))


def _problem(columns: Sequence[str], made: Sequence[TypedValues], row: Sequence[str]) -> str:
    for name, each, text in zip(columns, made, row, strict=True):
        try:
            each.of_text(text)
        except ValueError as error:
            return f"{name}={error}"
    raise AssertionError("each value of the row is one")


_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
_DOUBLE = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_WALL = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?$"
_ZONED = _WALL[:-1] + r"(Z|[+-][0-9]{2}:?[0-9]{2})$"
INFERRED = {
    "bigint": _INTEGER,
    "boolean": r"^(true|false|True|False|TRUE|FALSE)$",
    "date": _DATE,
    "timestamp_ntz": _WALL,
    "timestamp": _ZONED,
    "double": _DOUBLE,
}
"""Type -> requirement on every value of a column; the first match is used."""


def csv_types(path: str, options: CsvOptions, names: tuple[str, ...]) -> dict[str, str]:
    """Types of all columns, by all values of an unchanged file."""
    from os import stat

    found = stat(path)
    return _csv_types(path, found.st_mtime_ns, found.st_size, options, names)


@lru_cache(maxsize=INFERRED_FILES_MAX)
def _csv_types(
    path: str, changed_ns: int, size: int, options: CsvOptions, names: tuple[str, ...]
) -> dict[str, str]:
    arrow, compute = needed("pyarrow", PURPOSE), needed("pyarrow.compute", PURPOSE)
    nothing = arrow.array(sorted(NOTHING))
    left = {name: list(INFERRED) for name in names}
    seen: set[str] = set()
    for batch in _csv_batches(path, options, names, []):
        for name, kinds in left.items():
            if not kinds:
                continue
            values = _texts(batch.column(name), options.encoding)[0].drop_null()
            values = values.filter(compute.invert(compute.is_in(values, nothing)))
            seen.update([name] if len(values) else [])
            left[name] = [each for each in kinds if _are(compute, values, each)]
    return {
        name: (kinds[0] if kinds and name in seen else "string") for name, kinds in left.items()
    }


def _are(compute: Any, values: Any, kind: str) -> bool:
    matches = compute.match_substring_regex(values, INFERRED[kind])
    return bool(compute.all(matches, min_count=0).as_py())


# --- JSON -----------------------------------------------------------------------------------------


def json_columns(path: str) -> list[str]:
    """Keys of the first objects of a file, in order of appearance; OSError."""
    found: dict[str, None] = {}
    for line in islice(_lines(path), FIRST_RECORDS):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        found |= dict.fromkeys(value if isinstance(value, dict) else ())
    return list(found)


def _lines(path: str) -> Iterator[bytes]:
    with opened(path) as file:
        yield from (line for line in file if line.strip())


def json_rows(
    path: str, types: Mapping[str, str], columns: Sequence[str], skip: int
) -> Iterator[list[Row]]:
    """The rows behind the first `skip` ones, some at a time; what an object lacks is None."""
    made = [(each, TypedValues(types[each]) if each in types else None) for each in columns]
    lines = islice(_lines(path), skip, None)
    while some := list(islice(lines, ROWS_AT_ONCE)):
        yield [_json_row(made, line) for line in some]


def _json_row(typed_fields: Sequence[tuple[str, TypedValues | None]], line: bytes) -> Row:
    name = ""
    try:
        value = json.loads(line)
        if not isinstance(value, dict):
            return BadRow(f"no object: {line!r:.80}")
        row = []
        for name, kind in typed_fields:
            field = value.get(name)
            row.append(field if kind is None else kind.of_json(field))
        return row
    except (ValueError, RecursionError) as error:
        return BadRow(f"{name}={error}" if name else f"{error}: {line!r:.80}")
