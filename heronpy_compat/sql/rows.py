"""Rows of a query, and the names of their columns.

A row is a tuple of dicts, a dict for each source of the query in the order of FROM and JOINs. The
row of a window is a flat tuple: keys of the group, start, end, values of the aggregates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from heron_core.errors import ComponentError
from heron_core.validation import choices
from heronpy_compat.sql.errors import SqlError, shown_sql
from heronpy_compat.sql.expressions import Compiled, Row, compiled
from heronpy_compat.sql.queries import AGGREGATES, SelectQuery, is_window

MILLISECONDS = 1000
Columns = tuple[str, ...] | None
"""Declared names of columns; None: an element has whatever names its dict has."""


@dataclass(frozen=True, slots=True)
class Named:
    """A source of the query."""

    alias: str
    columns: Columns


class SourceScope:
    """Columns of the sources of a query."""

    def __init__(self, sources: Sequence[Named]) -> None:
        self.sources = tuple(sources)

    def compiled(self, node: Any) -> Compiled:
        """A function of a row; SqlError for an unknown column or an unsupported expression."""
        return compiled(node, self._leaf)

    def used(self, node: Any) -> set[int]:
        """Indices of the sources whose columns a node reads."""
        columns = (each for each in node.walk() if type(each).__name__ == "Column")
        return {self.index(each) for each in columns}

    def index(self, column: Any) -> int:
        """The source of a column."""
        names = [each.alias for each in self.sources]
        if column.table:
            if column.table not in names:
                hint = choices("names", column.table, names)
                raise SqlError(f"{shown_sql(column)}: nothing is called {column.table}; {hint}")
            return names.index(column.table)
        if len(names) == 1:
            return 0
        having = [index for index, named in enumerate(self.sources)
                  if column.name in (named.columns or ())]  # fmt: skip
        if len(having) != 1:
            tried = " or ".join(f"{name}.{column.name}" for name in names)
            raise SqlError(f"the column {column.name} needs its source: {tried}")
        return having[0]

    def _leaf(self, node: Any) -> Compiled | None:
        if type(node).__name__ in AGGREGATES or is_window(node):
            raise SqlError(f"{shown_sql(node)} is not supported here: SELECT and HAVING have it")
        if type(node).__name__ != "Column":
            return None
        index, name = self.index(node), node.name
        columns = self.sources[index].columns
        if columns is not None and name not in columns:
            alias = self.sources[index].alias
            raise SqlError(f"{alias} has no column {name}; {choices('columns', name, columns)}")
        return _declared(index, name) if columns is not None else _undeclared(index, name)


def _declared(index: int, name: str) -> Compiled:
    return lambda row: row[index].get(name)


def _undeclared(index: int, name: str) -> Compiled:
    def value(row: Row) -> Any:
        try:
            return row[index][name]
        except KeyError:
            raise ComponentError(f"SQL: an element has no column {name}: {row[index]!r}") from None

    return value


class GroupScope:
    """Columns of the row of a window."""

    def __init__(self, query: SelectQuery) -> None:
        assert query.window is not None
        self._query, self._window = query, query.window.name
        parts = [*query.keys, "start", "end", *query.aggregates]
        self._columns = {_text(part): index for index, part in enumerate(parts)}
        self._aliases = dict(query.items)

    def compiled(self, node: Any, knows_aliases: bool = False) -> Compiled:
        """A function of the row of a window; HAVING knows aliases of SELECT, too."""
        return compiled(node, lambda part: self._leaf(part, knows_aliases))

    def _leaf(self, node: Any, knows_aliases: bool) -> Compiled | None:
        is_column = type(node).__name__ == "Column"
        if is_column and node.table == self._window and node.name in ("start", "end"):
            return _value_at(self._columns[node.name])
        index = self._columns.get(_text(node))
        if index is not None:
            return _value_at(index)
        if not is_column:
            return None
        if knows_aliases and node.name in self._aliases:
            return self.compiled(self._aliases[node.name])
        raise SqlError(
            f"the column {shown_sql(node)} is neither in GROUP BY nor in an aggregate; the window "
            f"has {self._window}.start and {self._window}.end"
        )


def _text(part: Any) -> str:
    return part if isinstance(part, str) else f"({part.sql()})"


def _value_at(index: int) -> Compiled:
    return lambda row: row[index]


def rows_of(columns: Columns) -> Callable[[Any], Row]:
    """A function that makes the row of an element: a dict, or a tuple of the declared columns."""

    def row(element: Any) -> Row:
        if isinstance(element, dict):
            return (element,)
        is_tuple = columns is not None and isinstance(element, tuple | list)
        if is_tuple and len(element) == len(columns or ()):
            return (dict(zip(columns or (), element, strict=True)),)
        raise ComponentError(
            "SQL: an element is a dict, or a tuple of the declared columns "
            f"({', '.join(columns or ())}), not {element!r}"
        )

    return row


def time_ms_of(time: Compiled, name: str) -> Compiled:
    """Milliseconds since 1970 of a row: of a datetime (UTC without a zone), an ISO text, or a
    number of milliseconds."""

    def time_ms(row: Row) -> int:
        result = time(row)
        if isinstance(result, str):
            result = datetime.fromisoformat(result)
        if isinstance(result, datetime):
            zoned = result.replace(tzinfo=UTC) if result.tzinfo is None else result
            return round(zoned.timestamp() * MILLISECONDS)
        if type(result) is int:
            return result
        raise ComponentError(f"SQL: the time {name} is a timestamp or milliseconds, not {result!r}")

    return time_ms
