"""Columns of sqlite. sqlite converts a value to the column's type where possible: a value that
would change is rejected."""

import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from heron_connectors.database.columns import (
    HALF_A_CHARACTER,
    DatabaseColumn,
    is_half_a_character,
)

LEAST = -(1 << 63)
STRICT_SINCE = (3, 37)
"""First version with STRICT tables, and with the pragma that reports them."""
_NUMBER = re.compile(r"[ \t-\r]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t-\r]*", re.ASCII)
"""A text converted to a number by a numeric column."""
_TEXT, _NUMERIC, _REAL, _ANY = "text", "numeric", "real", "any"
_STRICT: Mapping[str, Any] = {
    "int": int, "integer": int, "real": (int, float), "text": (str, date), "blob": bytes,
    "any": object,
}  # fmt: skip
"""Types stored unchanged by a STRICT table."""


def file_of(arguments: Any) -> str:
    """Path of the database in the connect arguments; empty for memory, or for any other form of
    arguments."""
    if isinstance(arguments, dict):
        first = "" if arguments.get("uri") else arguments.get("database", "")
    elif isinstance(arguments, (list, tuple)):
        first = arguments[0] if len(arguments) == 1 else ""
    else:
        first = arguments
    path = os.fsdecode(first) if isinstance(first, (str, bytes, os.PathLike)) else ""
    return "" if path.startswith(":") else path


class Sqlite:
    """See `Dialect`."""

    def columns(self, cursor: Any, table: str) -> list[DatabaseColumn]:
        """The columns of a table; empty without a table."""
        schema, _, name = table.rpartition(".")
        is_strict = False
        if sqlite3.sqlite_version_info >= STRICT_SINCE:
            cursor.execute(
                "SELECT strict FROM pragma_table_list WHERE lower(name) = ? AND schema = ?",
                [self.key(name), self.key(schema) if schema else "main"],
            )
            strictness = cursor.fetchone()
            is_strict = bool(strictness and strictness[0])
        cursor.execute(
            'SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?, ?)',
            [self.key(name), self.key(schema) if schema else None],
        )
        return [
            DatabaseColumn(
                column_name.lower(), kind.lower(), bool(required) and default is None, is_strict
            )
            for column_name, kind, required, default in cursor.fetchall()
        ]

    def key(self, name: str) -> str:
        """Names are equal without regard to case."""
        return name.strip('"`[]').lower()

    def problem(self, column: DatabaseColumn, value: Any) -> str:
        """Why a column would change or refuse a value; empty if it would not."""
        if why := problem_of_value(value):
            return why
        if column.is_strict and not isinstance(value, _STRICT[column.kind]):
            return f"the column is {column.kind}, in a STRICT table"
        affinity = _ANY if column.is_strict and column.kind == "any" else _affinity(column.kind)
        if affinity == _TEXT and isinstance(value, (int, float)):
            return f"sqlite makes a text of a number in a column of type {column.kind}"
        if affinity in (_NUMERIC, _REAL) and isinstance(value, str) and _NUMBER.fullmatch(value):
            return f"sqlite makes a number of such a text in a column of type {column.kind}"
        if affinity == _REAL and isinstance(value, int) and int(float(value)) != value:
            return f"a column of type {column.kind} has 53 bits for a number"
        return ""

    def value(self, column: DatabaseColumn, value: Any) -> Any:
        """The driver accepts the value unchanged."""
        return value

    def kind_of(self, declared: str | None, values: Sequence[Any]) -> str | None:
        """A column without a type keeps each value."""
        return ""


def problem_of_value(value: Any) -> str:
    """Why sqlite cannot store a value as it is, in whatever column; empty if it can."""
    if value != value:
        return "the value is NaN, which sqlite stores as NULL"
    if value is None or isinstance(value, (float, bytes, date)):
        return ""
    if isinstance(value, int):
        return "" if LEAST <= value <= -LEAST - 1 else "sqlite has whole numbers of 64 bits"
    if not isinstance(value, str):
        return f"sqlite has no type for a {type(value).__name__}: row_of(tup) of a subclass decides"
    return HALF_A_CHARACTER if is_half_a_character(value) else ""


def _affinity(kind: str) -> str:
    """Affinity of a column's type in sqlite."""
    if "int" in kind:
        return _NUMERIC
    if any(each in kind for each in ("char", "clob", "text")):
        return _TEXT
    if not kind or "blob" in kind:
        return _ANY
    return _REAL if any(each in kind for each in ("real", "floa", "doub")) else _NUMERIC
