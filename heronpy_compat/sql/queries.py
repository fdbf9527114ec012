"""The parts of a SELECT, checked: what is not supported is refused with the name of its clause."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from heron_core.optional_packages import needed
from heronpy_compat.sql.errors import SqlError, shown_sql

CLAUSES = {
    "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "distinct": "SELECT DISTINCT",
    "with_": "WITH", "windows": "WINDOW", "qualify": "QUALIFY", "laterals": "LATERAL VIEW",
    "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY", "hint": "a hint",
    "pivots": "PIVOT", "sample": "TABLESAMPLE",
}  # fmt: skip
"""Argument of sqlglot's Select -> the clause."""
SUPPORTED = frozenset({"expressions", "from_", "joins", "where", "group", "having"})
AGGREGATES = ("Count", "Sum", "Avg", "Min", "Max")
GROUPINGS = ("Rollup", "Cube", "GroupingSets")
UNITS_MS = {
    "MILLISECOND": 1, "SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceName:
    """A name behind FROM or JOIN, and its alias."""

    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Joined:
    """A JOIN: conditions are the parts of ON."""

    source: SourceName
    is_left: bool
    conditions: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TimeWindowCall:
    """window(time, length, slide) or session_window(time, gap)."""

    name: str
    time: Any
    length_ms: int
    slide_ms: int | None


@dataclass(frozen=True, slots=True)
class SelectQuery:
    """A SELECT."""

    items: tuple[tuple[str, Any], ...]
    """(name, expression); empty for *."""
    source: SourceName
    joins: tuple[Joined, ...]
    where: Any
    keys: tuple[Any, ...]
    window: TimeWindowCall | None
    having: Any
    aggregates: tuple[Any, ...]


def statements(text: str) -> list[Any]:
    """The statements of a text; SqlError for a syntax error."""
    sqlglot = needed("sqlglot", "SQL")
    try:
        return [each for each in sqlglot.parse(text, read=_dialect()) if each is not None]
    except sqlglot.errors.SqlglotError as error:
        first = re.sub(r"\x1b\[\d*m", "", str(error)).strip().partition("\n")[0]
        raise SqlError(f"the query cannot be parsed: {first or type(error).__name__}") from None


@cache
def _dialect() -> Any:
    """Spark's, in which WINDOW is a name, not the beginning of a WINDOW clause: behind GROUP BY the
    parser would take window(…) for the clause."""
    spark = needed("sqlglot.dialects.spark", "SQL").Spark
    keywords = {name: kind for name, kind in spark.Tokenizer.KEYWORDS.items() if name != "WINDOW"}
    tokenizer = type("Tokenizer", (spark.Tokenizer,), {"KEYWORDS": keywords})
    return type("StreamSql", (spark,), {"Tokenizer": tokenizer})


def query_of(text: str) -> SelectQuery:
    """The only statement of a text, a SELECT."""
    result = statements(text)
    if len(result) != 1:
        raise SqlError(f"a query is one SELECT, but the text has {len(result)} statements")
    return checked_query(result[0])


def checked_query(select: Any) -> SelectQuery:
    """The parts of a SELECT; SqlError for a clause that is not supported."""
    kind = type(select).__name__
    if kind != "Select":
        raise SqlError(f"{kind.upper()} is not supported: a query is a SELECT")
    for name, value in select.args.items():
        if value and name not in SUPPORTED:
            raise SqlError(f"{CLAUSES.get(name, name.upper())} is not supported in a stream")
    if select.args.get("from_") is None:
        raise SqlError("FROM is missing")
    _refuse_nested(select)
    group = select.args.get("group")
    keys, window = _grouped(group)
    aggregates = tuple(_unique(_aggregates_of(select)))
    if aggregates and window is None:
        raise SqlError(
            f"{shown_sql(aggregates[0])} has no end in a stream: add GROUP BY window(time, "
            "'10 seconds') or session_window(time, '5 minutes')"
        )
    where, having = select.args.get("where"), select.args.get("having")
    if having is not None and window is None:
        raise SqlError("HAVING needs GROUP BY window(…) or session_window(…)")
    return SelectQuery(
        _items(select.expressions), _source(select.args["from_"].this),
        tuple(map(_joined, select.args.get("joins") or ())),
        None if where is None else where.this, keys, window,
        None if having is None else having.this, aggregates,
    )  # fmt: skip


def _refuse_nested(select: Any) -> None:
    for node in select.walk():
        if node is not select and type(node).__name__ in ("Select", "Subquery", "Union"):
            raise SqlError(f"a query within a query is not supported: {shown_sql(node)}")
        if type(node).__name__ == "Window":
            raise SqlError(f"OVER is not supported: {shown_sql(node)}")


def _items(expressions: list[Any]) -> tuple[tuple[str, Any], ...]:
    if len(expressions) == 1 and type(expressions[0]).__name__ == "Star":
        return ()
    items = [(_name_of(each), each.unalias()) for each in expressions]
    names = [name for name, _ in items]
    for name in names:
        if names.count(name) > 1:
            raise SqlError(f"two columns of the result are called {name}: rename one with AS")
    return tuple(items)


def _name_of(item: Any) -> str:
    is_star = item.is_star and not item.alias and type(item).__name__ != "Count"
    if is_star:
        raise SqlError("* beside other columns is not supported: name the columns")
    return str(item.alias_or_name or shown_sql(item))


def _source(table: Any) -> SourceName:
    if type(table).__name__ != "Table" or table.args.get("db"):
        raise SqlError(f"FROM takes the name of a stream or a table, not {shown_sql(table)}")
    return SourceName(table.name, table.alias_or_name)


def _joined(join: Any) -> Joined:
    side, kind = join.args.get("side") or "", join.args.get("kind") or ""
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or join.args.get("method"):
        raise SqlError(f"{side or kind or 'NATURAL'} JOIN is not supported: JOIN or LEFT JOIN")
    on = join.args.get("on")
    if on is None:
        raise SqlError(f"JOIN {shown_sql(join.this)} needs ON with equal columns")
    return Joined(_source(join.this), side == "LEFT", tuple(_conditions(on)))


def _conditions(node: Any) -> Iterator[Any]:
    if type(node).__name__ == "And":
        yield from _conditions(node.this)
        yield from _conditions(node.expression)
    elif type(node).__name__ == "Paren":
        yield from _conditions(node.this)
    else:
        yield node


def _grouped(group: Any) -> tuple[tuple[Any, ...], TimeWindowCall | None]:
    if group is None:
        return (), None
    further = [name for name, value in group.args.items() if value and name != "expressions"]
    further += [name for each in group.expressions if (name := type(each).__name__) in GROUPINGS]
    if further:
        raise SqlError(f"GROUP BY {further[0].upper()} is not supported in a stream")
    windows = [each for each in group.expressions if is_window(each)]
    if len(windows) != 1:
        raise SqlError(
            "GROUP BY in a stream needs one window(time, '10 seconds'), window(time, '10 seconds', "
            f"'5 seconds') or session_window(time, '5 minutes'), not {len(windows)}"
        )
    keys = tuple(each for each in group.expressions if not is_window(each))
    return keys, _window_call(windows[0])


def is_window(node: Any) -> bool:
    """Whether a node is window(…) or session_window(…)."""
    return type(node).__name__ == "Anonymous" and node.name.lower() in ("window", "session_window")


def _window_call(node: Any) -> TimeWindowCall:
    name, arguments = node.name.lower(), node.expressions
    most = 3 if name == "window" else 2
    if not 2 <= len(arguments) <= most:
        raise SqlError(f"{name} takes a time and {most - 1} durations at most: {shown_sql(node)}")
    spans_ms = [_span_ms(each) for each in arguments[1:]]
    return TimeWindowCall(name, arguments[0], spans_ms[0], spans_ms[1] if spans_ms[1:] else None)


def _span_ms(node: Any) -> int:
    text = node.this if type(node).__name__ == "Literal" and node.is_string else ""
    return span_ms(text, shown_sql(node))


def span_ms(text: str, where: str) -> int:
    """Milliseconds of a duration like 10 seconds; SqlError otherwise."""
    number, _, unit = text.strip().partition(" ")
    return _in_ms(number, unit.strip(), where)


def interval_ms(node: Any) -> int:
    """Of INTERVAL 5 SECONDS."""
    return _in_ms(str(getattr(node.this, "this", "")), str(node.args["unit"]), shown_sql(node))


def _in_ms(number: str, unit: str, where: str) -> int:
    factor = UNITS_MS.get(unit.upper().rstrip("S"))
    if factor is None or not number.isdecimal():
        raise SqlError(
            f"{where} is not a duration: a whole number of milliseconds, seconds, minutes, hours "
            "or days"
        )
    return int(number) * factor


def _aggregates_of(select: Any) -> Iterator[Any]:
    parts = [*select.expressions]
    if select.args.get("having") is not None:
        parts.append(select.args["having"])
    for part in parts:
        for node in part.walk():
            if type(node).__name__ in AGGREGATES:
                yield node


def _unique(nodes: Iterator[Any]) -> Iterator[Any]:
    seen = set()
    for node in nodes:
        if node.sql() not in seen:
            seen.add(node.sql())
            yield node
