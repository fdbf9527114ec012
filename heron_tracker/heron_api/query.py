"""Heron's query language of metrics: parsed into a tree, evaluated over timelines by minutes.

TS(component, instance or *, metric)      one timeline for each instance
DEFAULT(constant, series)                 fills its holes
SUM(…), MAX(…)                            over all timelines of all arguments, and constants
PERCENTILE(quantile, …)                   0 is the least, 100 the greatest
DIVIDE, MULTIPLY, SUBTRACT(a, b)          by instance; a constant or a sum goes with each
RATE(series)                              the difference to the minute before
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heron_tracker.envelope import BadRequest
from heron_tracker.model.history import MINUTE_SECS, MONTH_SECS

DEPTH_MAX = 20
"""Of nested operators: a person's query has three."""
CHARACTERS_MAX = 4000
NODES_MAX = 100
"""Operators and constants in one query."""
SPAN_SECS_MAX = MONTH_SECS
"""Of starttime to endtime: the length of the history."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Values by the beginning of their minute; `instance` is None for what was put together."""

    instance: str | None
    values: dict[int, float]


Fetch = Callable[[str, str | None, str, int, int], Sequence[Timeline]]
"""(component, instance or None for all, metric, start, end) -> timelines."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """TS."""

    component: str
    instance: str | None
    metric: str


@dataclass(frozen=True, slots=True)
class Operator:
    """Any other operator with its arguments."""

    name: str
    operands: tuple["Node", ...]


Node = Fetched | Operator | float

ARGUMENTS: dict[str, tuple[int, int | None]] = {
    "DEFAULT": (2, 2), "SUM": (0, None), "MAX": (1, None), "PERCENTILE": (2, None),
    "DIVIDE": (2, 2), "MULTIPLY": (2, 2), "SUBTRACT": (2, 2), "RATE": (1, 1),
}  # fmt: skip
"""Operator -> how many arguments it takes at least, and at most."""


def parse(text: str) -> Node:
    """The tree of a query; BadRequest says what is wrong with it."""
    if len(text) > CHARACTERS_MAX:
        raise BadRequest(f"a query has at most {CHARACTERS_MAX} characters")
    node, count = _parsed(text.strip(), 0)
    if isinstance(node, float):
        raise BadRequest(f"the query {text!r:.100} is a number: use an operator, such as TS(…)")
    if count > NODES_MAX:
        raise BadRequest(f"a query has at most {NODES_MAX} parts")
    return node


def _parsed(text: str, depth: int) -> tuple[Node, int]:
    """A node, and how many it consists of."""
    if depth > DEPTH_MAX:
        raise BadRequest(f"a query is nested at most {DEPTH_MAX} times")
    name, bracket, rest = text.partition("(")
    if not bracket:
        return _constant(text), 1
    if not rest.endswith(")"):
        raise BadRequest(f"{text!r:.100} does not end with its bracket")
    name, parts = name.strip(), _parts(rest[:-1])
    if not name and len(parts) == 1:
        return _parsed(parts[0], depth + 1)
    if name == "TS":
        return _fetched(parts), 1
    if name not in ARGUMENTS:
        known = ", ".join(("TS", *ARGUMENTS))
        raise BadRequest(f"{name!r:.50} is not an operator (operators: {known})")
    parsed_parts = [_parsed(part, depth + 1) for part in parts if part or len(parts) > 1]
    operator = Operator(name, tuple(node for node, _ in parsed_parts))
    _check(operator)
    return operator, 1 + sum(count for _, count in parsed_parts)


def _constant(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise BadRequest(f"{text!r:.100} is neither an operator nor a number") from None
    if found != found or abs(found) == float("inf"):
        raise BadRequest(f"{text!r:.20} is not a number to calculate with")
    return found


def _parts(text: str) -> list[str]:
    """Parts between commas, with bracketed parts intact."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            raise BadRequest("a bracket is closed that was not opened")
        if character == "," and not depth:
            parts.append(text[begin:at].strip())
            begin = at + 1
    if depth:
        raise BadRequest("a bracket is not closed")
    return [*parts, text[begin:].strip()]


def _fetched(parts: Sequence[str]) -> Fetched:
    if len(parts) != 3 or not all(parts):
        raise BadRequest("TS takes component, instance (or *) and metric")
    return Fetched(parts[0], None if parts[1] == "*" else parts[1], parts[2])


def _check(operator: Operator) -> None:
    least, most = ARGUMENTS[operator.name]
    operands = operator.operands
    if len(operands) < least or (most is not None and len(operands) > most):
        raise BadRequest(f"{operator.name} takes {least}{'' if most else ' or more'} arguments")
    if operator.name in ("DEFAULT", "PERCENTILE") and not isinstance(operands[0], float):
        raise BadRequest(f"the first argument of {operator.name} is a number")
    if operator.name in ("DEFAULT", "RATE") and isinstance(operands[-1], float):
        raise BadRequest(f"{operator.name} takes a series, not a number")
    if operator.name == "PERCENTILE" and not 0 <= float(operands[0]) <= 100:  # type: ignore[arg-type]
        raise BadRequest("the quantile of PERCENTILE is between 0 and 100")
    if operator.name == "DIVIDE" and operands[1] == 0.0:
        raise BadRequest("DIVIDE by zero")


def evaluate(node: Node, start: int, end: int, fetch: Fetch) -> list[Timeline]:
    """The timelines of a tree from `start` to `end`."""
    if isinstance(node, float):
        return [Timeline(None, dict.fromkeys(minutes(start, end), node))]
    if isinstance(node, Fetched):
        return list(fetch(node.component, node.instance, node.metric, start, end))
    if node.name == "RATE":
        return _rate(evaluate(node.operands[0], start - MINUTE_SECS, end, fetch), start)
    if node.name == "DEFAULT":
        return _with_default(evaluate(node.operands[1], start, end, fetch), node, start, end)
    arguments = [evaluate(operand, start, end, fetch) for operand in node.operands]
    if node.name in _PAIRS:
        return _by_instance(arguments[0], arguments[1], _PAIRS[node.name])
    return [Timeline(None, _together(node, arguments))]


def minutes(start: int, end: int) -> range:
    """The beginnings of the minutes in a time."""
    first = -(-start // MINUTE_SECS) * MINUTE_SECS
    return range(first, end + 1, MINUTE_SECS)


def _rate(timelines: Sequence[Timeline], start: int) -> list[Timeline]:
    return [
        Timeline(
            timeline.instance,
            {
                at: value - timeline.values[at - MINUTE_SECS]
                for at, value in timeline.values.items()
                if at >= start and at - MINUTE_SECS in timeline.values
            },
        )
        for timeline in timelines
    ]


def _with_default(
    timelines: Sequence[Timeline], node: Operator, start: int, end: int
) -> list[Timeline]:
    constant = float(node.operands[0])  # type: ignore[arg-type]
    holes = dict.fromkeys(minutes(start, end), constant)
    return [Timeline(each.instance, {**holes, **each.values}) for each in timelines]


def _together(node: Operator, arguments: Sequence[Sequence[Timeline]]) -> dict[int, float]:
    """All timelines combined into one."""
    cells: dict[int, list[float]] = {}
    for timelines in arguments[1:] if node.name == "PERCENTILE" else arguments:
        for timeline in timelines:
            for at, value in timeline.values.items():
                cells.setdefault(at, []).append(value)
    if node.name == "SUM":
        return {at: sum(values) for at, values in sorted(cells.items())}
    quantile = 100.0 if node.name == "MAX" else float(node.operands[0])  # type: ignore[arg-type]
    return {
        at: sorted(values)[int(quantile * (len(values) - 1) / 100)]
        for at, values in sorted(cells.items())
    }


def _divided(dividend: float, divisor: float) -> float | None:
    return dividend / divisor if divisor else None


_PAIRS: dict[str, Callable[[float, float], float | None]] = {
    "DIVIDE": _divided,
    "MULTIPLY": lambda one, other: one * other,
    "SUBTRACT": lambda one, other: one - other,
}


def _by_instance(
    one: Sequence[Timeline],
    other: Sequence[Timeline],
    calculate: Callable[[float, float], float | None],
) -> list[Timeline]:
    """Timelines of equal instances are paired; a timeline without instance is paired with each."""
    if not one or not other:
        return []
    if other[0].instance is None:
        pairs = [(timeline, other[0], timeline.instance) for timeline in one]
    elif one[0].instance is None:
        pairs = [(one[0], timeline, timeline.instance) for timeline in other]
    else:
        theirs = {timeline.instance: timeline for timeline in other}
        pairs = [(x, theirs[x.instance], x.instance) for x in one if x.instance in theirs]
    return [Timeline(name, _calculated(a.values, b.values, calculate)) for a, b, name in pairs]


def _calculated(
    one: dict[int, float],
    other: dict[int, float],
    calculate: Callable[[float, float], float | None],
) -> dict[int, float]:
    found = {at: calculate(value, other[at]) for at, value in one.items() if at in other}
    return {at: value for at, value in found.items() if value is not None}
