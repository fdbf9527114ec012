"""Expressions of SQL as Python functions of a row, with SQL's NULL: None.

A comparison or a calculation with NULL is NULL; AND and OR know three values; a WHERE keeps rows
for which the condition is TRUE. Functions are compiled when the topology is built, so an instance
needs no parser. A trial decided against an engine for each batch: docs/SQL.md has the figures.
"""

import math
import operator
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from heronpy_compat.sql.errors import SqlError, shown_sql

Row = Any
Compiled = Callable[[Row], Any]
Leaf = Callable[[Any], Compiled | None]
"""Function of a node: its value in a row, if the node is a column or another value of the row."""


def compiled(node: Any, leaf: Leaf) -> Compiled:
    """A function of a row for a node of sqlglot; SqlError for an unsupported expression."""
    result = leaf(node)
    if result is not None:
        return result
    make = _MAKERS.get(type(node).__name__)
    if make is None:
        raise SqlError(f"the expression {shown_sql(node)} is not supported")
    return make(node, lambda part: compiled(part, leaf))


Make = Callable[[Any], Compiled]


def _literal(node: Any, make: Make) -> Compiled:
    if node.is_string:
        value: Any = node.this
    else:
        value = float(node.this) if re.search(r"[.eE]", node.this) else int(node.this)
    return lambda row: value


def _constant(value: Any) -> Callable[[Any, Make], Compiled]:
    return lambda node, make: lambda row: value


def _boolean(node: Any, make: Make) -> Compiled:
    value = bool(node.this)
    return lambda row: value


def _same(node: Any, make: Make) -> Compiled:
    return make(node.this)


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Make], Compiled]:
    def make_binary(node: Any, make: Make) -> Compiled:
        left, right = make(node.this), make(node.expression)

        def value(row: Row) -> Any:
            one = left(row)
            if one is None:
                return None
            other = right(row)
            return None if other is None else function(one, other)

        return value

    return make_binary


def _unary(function: Callable[[Any], Any]) -> Callable[[Any, Make], Compiled]:
    def make_unary(node: Any, make: Make) -> Compiled:
        inner = make(node.this)

        def value(row: Row) -> Any:
            result = inner(row)
            return None if result is None else function(result)

        return value

    return make_unary


def _connective(decisive: bool) -> Callable[[Any, Make], Compiled]:
    """AND is decided by FALSE on either side, OR by TRUE; else NULL, if a side is NULL."""

    def make_connective(node: Any, make: Make) -> Compiled:
        left, right = make(node.this), make(node.expression)

        def value(row: Row) -> Any:
            one = left(row)
            if one is decisive:
                return decisive
            other = right(row)
            if other is decisive:
                return decisive
            return None if one is None or other is None else not decisive

        return value

    return make_connective


def _is(node: Any, make: Make) -> Compiled:
    if type(node.expression).__name__ not in ("Null", "Boolean"):
        raise SqlError(f"the expression {shown_sql(node)} is not supported")
    left, right = make(node.this), make(node.expression)
    return lambda row: left(row) is right(row)


def _between(node: Any, make: Make) -> Compiled:
    inner, low, high = (make(node.args[name]) for name in ("this", "low", "high"))

    def value(row: Row) -> bool | None:
        result, least, most = inner(row), low(row), high(row)
        if result is None or least is None or most is None:
            return None
        return bool(least <= result <= most)

    return value


def _in(node: Any, make: Make) -> Compiled:
    if node.args.get("query") is not None:
        raise SqlError(f"a query within IN is not supported: {shown_sql(node)}")
    inner, members = make(node.this), [make(each) for each in node.expressions]

    def value(row: Row) -> bool | None:
        result = inner(row)
        values = [member(row) for member in members]
        if result is None:
            return None
        if result in values:
            return True
        return None if None in values else False

    return value


def _like(node: Any, make: Make) -> Compiled:
    inner, pattern = make(node.this), node.expression
    if type(pattern).__name__ != "Literal" or not pattern.is_string:
        raise SqlError(f"the pattern of LIKE must be a text: {shown_sql(node)}")
    parts = [".*" if char == "%" else "." if char == "_" else re.escape(char)
             for char in pattern.this]  # fmt: skip
    matches = re.compile("".join(parts), re.DOTALL).fullmatch

    def value(row: Row) -> bool | None:
        result = inner(row)
        return None if result is None else matches(result) is not None

    return value


def _case(node: Any, make: Make) -> Compiled:
    subject = None if node.this is None else make(node.this)
    branches = [(make(each.this), make(each.args["true"])) for each in node.args["ifs"]]
    default = node.args.get("default")
    otherwise = (lambda row: None) if default is None else make(default)

    def value(row: Row) -> Any:
        wanted = True if subject is None else subject(row)
        for condition, branch in branches:
            tested = condition(row)
            if tested is not None and tested == wanted:
                return branch(row)
        return otherwise(row)

    return value


def _if(node: Any, make: Make) -> Compiled:
    condition, result = make(node.this), make(node.args["true"])
    default = node.args.get("false")
    otherwise = (lambda row: None) if default is None else make(default)
    return lambda row: result(row) if condition(row) is True else otherwise(row)


def _coalesce(node: Any, make: Make) -> Compiled:
    values = [make(each) for each in (node.this, *node.expressions)]
    return lambda row: next((result for each in values if (result := each(row)) is not None), None)


def _concat(node: Any, make: Make) -> Compiled:
    values = [make(each) for each in node.expressions]

    def value(row: Row) -> str | None:
        result = [each(row) for each in values]
        return None if None in result else "".join(map(_text, result))

    return value


def _round(node: Any, make: Make) -> Compiled:
    digits = node.args.get("decimals")
    if digits is not None and type(digits).__name__ != "Literal":
        raise SqlError(f"the digits of ROUND must be a number: {shown_sql(node)}")
    number = 0 if digits is None else int(digits.this)
    return _unary(lambda result: _rounded(result, number))(node, make)


def _rounded(result: Any, digits: int) -> Any:
    exact = Decimal(str(result)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return type(result)(exact)


def _substring(node: Any, make: Make) -> Compiled:
    inner, start = make(node.this), make(node.args["start"])
    length = None if node.args.get("length") is None else make(node.args["length"])

    def value(row: Row) -> str | None:
        result, first = inner(row), start(row)
        size = None if length is None else length(row)
        if result is None or first is None or (length is not None and size is None):
            return None
        begin = first - 1 if first > 0 else max(len(result) + first, 0) if first < 0 else 0
        return str(result[begin:] if size is None else result[begin : begin + max(size, 0)])

    return value


def _cast(node: Any, make: Make) -> Compiled:
    kind = node.to.this.name
    if kind not in _CASTS:
        raise SqlError(f"CAST to {shown_sql(node.to)} is not supported: {', '.join(_CASTS)}")
    return _unary(_CASTS[kind])(node, make)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _division(left: Any, right: Any) -> float:
    return float(left / right)


def _whole_division(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return left - right * _whole_division(left, right)
    return math.fmod(left, right)


_CASTS: dict[str, Callable[[Any], Any]] = {
    "TEXT": _text, "VARCHAR": _text, "INT": int, "BIGINT": int, "SMALLINT": int,
    "FLOAT": float, "DOUBLE": float,
}  # fmt: skip
_MAKERS: dict[str, Callable[[Any, Make], Compiled]] = {
    "Literal": _literal, "Boolean": _boolean, "Null": _constant(None), "Paren": _same,
    "And": _connective(False), "Or": _connective(True),
    "Not": _unary(operator.not_), "Neg": _unary(operator.neg),
    "EQ": _binary(operator.eq), "NEQ": _binary(operator.ne), "GT": _binary(operator.gt),
    "GTE": _binary(operator.ge), "LT": _binary(operator.lt), "LTE": _binary(operator.le),
    "Add": _binary(operator.add), "Sub": _binary(operator.sub), "Mul": _binary(operator.mul),
    "Div": _binary(_division), "IntDiv": _binary(_whole_division), "Mod": _binary(_remainder),
    "DPipe": _binary(lambda left, right: _text(left) + _text(right)),
    "Is": _is, "Between": _between, "In": _in, "Like": _like, "Case": _case, "If": _if,
    "Coalesce": _coalesce, "Concat": _concat, "Round": _round, "Substring": _substring,
    "Upper": _unary(str.upper), "Lower": _unary(str.lower), "Length": _unary(len),
    "Trim": _unary(str.strip), "Abs": _unary(abs), "Floor": _unary(math.floor),
    "Ceil": _unary(math.ceil), "Cast": _cast, "TryCast": _cast,
}  # fmt: skip
"""Class of a node in sqlglot -> its compiler."""
