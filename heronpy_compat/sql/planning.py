"""A query as stages of streamlets.

FROM a            map: the row of an element
JOIN b ON …       interval_join of two streams; flat_map with the rows of a table
WHERE             filter
GROUP BY window   window and aggregate, by event time
HAVING            filter
SELECT            map: the element of a row, a dict
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from heron_core.algorithms.event_windows.assigners import Session, Sliding, Tumbling
from heron_core.validation import choices
from heronpy_compat.sql.aggregates import WindowAggregates, aggregate_of
from heronpy_compat.sql.errors import SqlError
from heronpy_compat.sql.expressions import Compiled
from heronpy_compat.sql.joins import (
    all_true,
    both,
    has_key,
    is_interval,
    joined_with_table,
    key_of_row,
    plan_join,
    second,
)
from heronpy_compat.sql.queries import Joined, SelectQuery, TimeWindowCall, query_of
from heronpy_compat.sql.rows import (
    MILLISECONDS,
    Columns,
    GroupScope,
    Named,
    SourceScope,
    rows_of,
    time_ms_of,
)
from heronpy_compat.streamlet.streamlet import Streamlet

TOUCHING_MS = 1
Source = TypeVar("Source")


@dataclass(frozen=True, slots=True)
class SqlStream:
    """A streamlet as a source of a query: its elements are dicts, or tuples of `columns`."""

    streamlet: Streamlet
    columns: Columns = None
    lag_ms: int = 0
    """An element may be so much older than an element before it; see `with_event_time`."""


@dataclass(frozen=True, slots=True)
class SqlTable:
    """Rows that are there from the outset; each process of a join keeps them all."""

    rows: tuple[dict[str, Any], ...]
    columns: tuple[str, ...]


class Catalog(Protocol):
    """Sources by their names."""

    def stream(self, name: str) -> SqlStream:
        """SqlError if no stream has the name."""

    def table(self, name: str) -> SqlTable:
        """SqlError if no table has the name."""


@dataclass(frozen=True, slots=True)
class GivenSources:
    """Streams and tables of a program."""

    streams: Mapping[str, SqlStream]
    tables: Mapping[str, SqlTable]

    def stream(self, name: str) -> SqlStream:
        """See Catalog."""
        return _chosen("streams", name, self.streams)

    def table(self, name: str) -> SqlTable:
        """See Catalog."""
        if name in self.streams:
            raise SqlError(
                f"JOIN {name}: two streams need an interval, {name}.time BETWEEN a.time - INTERVAL "
                "5 SECONDS AND a.time + INTERVAL 5 SECONDS"
            )
        return _chosen("tables", name, self.tables)


def _chosen(what: str, name: str, given: Mapping[str, Source]) -> Source:
    if name not in given:
        raise SqlError(f"{what} have no {name}; {choices(what, name, given)}")
    return given[name]


def sql(
    text: str,
    streams: Mapping[str, "SqlStream | Streamlet"],
    tables: Mapping[str, Any] | None = None,
) -> Streamlet:
    """The rows of a SELECT over streams and tables, as dicts.

    A table is an iterable of dicts, a table of Arrow or a DataFrame of pandas. SqlError, in one
    line, for a syntax error, an unknown name and a clause that is not supported.
    """
    named = {
        name: stream if isinstance(stream, SqlStream) else SqlStream(stream)
        for name, stream in streams.items()
    }
    kept = {name: table_of(name, stream) for name, stream in (tables or {}).items()}
    return planned(query_of(text), GivenSources(named, kept))


def table_of(name: str, given: Any) -> SqlTable:
    """A table of a program; SqlError for rows that are not dicts."""
    if hasattr(given, "to_pylist"):
        given = given.to_pylist()
    elif type(given).__module__.partition(".")[0] == "pandas":
        given = given.to_dict("records")
    rows = tuple(given) if isinstance(given, Iterable) else ()
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise SqlError(f"the table {name} is not made of rows that are dicts: {given!r:.60}")
    return SqlTable(rows, tuple(dict.fromkeys(key for row in rows for key in row)))


def planned(query: SelectQuery, catalog: Catalog) -> Streamlet:
    """The stages of a query."""
    plan = _Plan(query, catalog)
    for join in query.joins:
        plan.join(join)
    if query.where is not None:
        plan.rows = plan.rows.filter(all_true([plan.scope.compiled(query.where)]))
    if query.window is None:
        return plan.rows.map(_projection(query, plan.scope.compiled))
    return plan.aggregated(query.window)


class _Plan:
    """The stages so far, and the columns of their rows."""

    def __init__(self, query: SelectQuery, catalog: Catalog) -> None:
        self._query, self._catalog = query, catalog
        source = catalog.stream(query.source.name)
        self.scope = SourceScope([Named(query.source.alias, source.columns)])
        self.rows = source.streamlet.map(rows_of(source.columns))
        self._lag_ms = source.lag_ms

    def join(self, join: Joined) -> None:
        """One more source."""
        if any(each.alias == join.source.alias for each in self.scope.sources):
            raise SqlError(f"two sources are called {join.source.alias}: rename one with AS")
        if is_interval(join):
            self._join_stream(join)
        else:
            self._join_table(join)

    def aggregated(self, window: TimeWindowCall) -> Streamlet:
        """The stages behind GROUP BY."""
        query, scope = self._query, GroupScope(self._query)
        if not query.items:
            raise SqlError("SELECT * is not supported with GROUP BY: name the columns")
        time = time_ms_of(self.scope.compiled(window.time), window.time.sql())
        timed = self.rows.with_event_time(time, self._lag_ms)
        keys = tuple(map(self.scope.compiled, query.keys))
        parts = [aggregate_of(each, self.scope.compiled) for each in query.aggregates]
        grouped = timed.key_by(key_of_row(keys)) if keys else timed
        results = grouped.window(_assigner(window)).aggregate(WindowAggregates(parts))
        is_session = window.name == "session_window"
        rows: Streamlet = results.map(_window_row(bool(keys), TOUCHING_MS if is_session else 0))
        if query.having is not None:
            rows = rows.filter(all_true([scope.compiled(query.having, knows_aliases=True)]))
        return rows.map(_projection(query, scope.compiled))

    def _join_table(self, join: Joined) -> None:
        table = self._catalog.table(join.source.name)
        self._add(join, table.columns)
        plan = plan_join(join, self.scope)
        self.rows = self.rows.flat_map(
            joined_with_table(plan, table.rows, table.columns, join.is_left)
        )

    def _join_stream(self, join: Joined) -> None:
        if join.is_left:
            raise SqlError(f"LEFT JOIN {join.source.name} is not supported: of tables alone")
        right_stream, left_scope = self._catalog.stream(join.source.name), self.scope
        self._add(join, right_stream.columns)
        plan = plan_join(join, self.scope)
        assert plan.times is not None
        right_scope = SourceScope(self.scope.sources[-1:])
        left = _keyed(self.rows, left_scope, plan.times.left, plan.left_keys, self._lag_ms)
        right_rows = right_stream.streamlet.map(rows_of(right_stream.columns))
        right = _keyed(
            right_rows, right_scope, plan.times.right, plan.right_keys, right_stream.lag_ms
        )
        lower_ms, upper_ms = plan.times.lower_ms, plan.times.upper_ms
        self.rows = left.interval_join(right, lower_ms, upper_ms, both).map(second)
        if plan.residual:
            self.rows = self.rows.filter(all_true(plan.residual))
        # A pair is as late as its older element.
        lag_ms = max(self._lag_ms, right_stream.lag_ms)
        self._lag_ms = lag_ms + max(abs(lower_ms), abs(upper_ms))

    def _add(self, join: Joined, columns: Columns) -> None:
        self.scope = SourceScope([*self.scope.sources, Named(join.source.alias, columns)])


def _keyed(
    rows: Streamlet, scope: SourceScope, time: Any, keys: tuple[Compiled, ...], lag_ms: int
) -> Any:
    key = key_of_row(keys)
    timed = rows.filter(has_key(key)).with_event_time(
        time_ms_of(scope.compiled(time), time.sql()), lag_ms
    )
    return timed.key_by(key)


def _assigner(window: TimeWindowCall) -> Any:
    if window.name == "session_window":
        # As Spark's, a session goes on where the gap is exactly so long; the row leaves it out.
        return Session(window.length_ms + TOUCHING_MS)
    if window.slide_ms is None:
        return Tumbling(window.length_ms)
    return Sliding(window.length_ms, window.slide_ms)


def _projection(
    query: SelectQuery, compile_item: Callable[[Any], Compiled]
) -> Callable[[Any], dict[str, Any]]:
    if not query.items:
        if query.joins:
            raise SqlError("SELECT * is not supported with JOIN: name the columns")
        return lambda row: dict(row[0])
    parts = tuple((name, compile_item(node)) for name, node in query.items)
    return lambda row: {name: part(row) for name, part in parts}


def _window_row(has_keys: bool, touching_ms: int) -> Callable[[Any], tuple[Any, ...]]:
    def row(element: Any) -> tuple[Any, ...]:
        window, values = element
        keys = window.key if has_keys else ()
        bounds = window.window if has_keys else window
        end_secs = bounds.end_time - touching_ms / MILLISECONDS
        return (*keys, _time(bounds.start_time), _time(end_secs), *values)

    return row


def _time(secs: float) -> datetime:
    return datetime.fromtimestamp(round(secs * MILLISECONDS) / MILLISECONDS, UTC)
