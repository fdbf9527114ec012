"""Each public function and class documents types, units and errors.

Parameters have annotations. A number of time or size has a unit in the name (`lag_ms`), or the
docstring of the function or the class names the unit. An exception raised by the body, or a base
class, is named in either docstring.
"""

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.test_name_examples import described, docstring_of

MEASURED = re.compile(
    r"(^|_)(timeout|delay|interval|lag|wait|period|ttl|duration|latency|lateness|size|length)(_|$)"
)
"""Words in the names of numbers with a unit."""
UNIT_OF_NAME = re.compile(r"_(ms|secs?|millis|seconds|bytes|kib|mib|tuples|rows)(_|$)")
UNIT_OF_TEXT = re.compile(
    r"\b(milliseconds?|ms|seconds?|secs|minutes?|hours?|days?|bytes|[KMG]i?B|tuples|rows|elements)\b"
)
NUMBERS = re.compile(r"\b(int|float)\b")
NOT_PROMISED = {"NotImplementedError", "AttributeError", "StopIteration"}
"""Errors of a missing method or attribute: messages to the author of a subclass."""


def is_generated(function: Callable[..., Any]) -> bool:
    """Whether `dataclass` made the function, from the annotations of the class."""
    return function.__code__.co_filename.startswith("<")


def functions_of(value: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A function, or the public methods and the constructor of a class."""
    if inspect.isfunction(value):
        yield "", value
    elif inspect.isclass(value) and not getattr(value, "_is_protocol", False):
        for name, member in vars(value).items():
            function = getattr(member, "__func__", member)
            is_public = name == "__init__" or not name.startswith("_")
            if inspect.isfunction(function) and is_public and not is_generated(function):
                yield f".{name}", function


def raised_by(function: Callable[..., Any]) -> Iterator[tuple[str, ...]]:
    """For each `raise` of the function itself: names of the class and its base classes."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name))):
                kind = function.__globals__.get(name, vars(builtins).get(name))
                if inspect.isclass(kind) and name not in NOT_PROMISED:
                    yield tuple(each.__name__ for each in kind.__mro__)


def gaps(function: Callable[..., Any], owner: object) -> Iterator[str]:
    """The kinds of missing descriptions: types, units, errors."""
    text = f"{docstring_of(function)}\n{docstring_of(owner)}"
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls") or parameter.name.startswith("_"):
            continue
        if parameter.annotation is parameter.empty:
            yield "types"
        is_number = NUMBERS.search(str(parameter.annotation))
        is_named = UNIT_OF_NAME.search(parameter.name) or UNIT_OF_TEXT.search(text)
        if is_number and MEASURED.search(parameter.name) and not is_named:
            yield "units"
    if not all(any(name in text for name in names) for names in raised_by(function)):
        yield "errors"


@pytest.mark.parametrize("kind", ["types", "units", "errors"])
def test_each_public_name_describes(kind: str) -> None:
    found = {
        f"{module}.{name}{member}"
        for module, name, value in described()
        for member, function in functions_of(value)
        if kind in gaps(function, value)
    }
    assert sorted(found) == []


def wait_for(timeout: float, size: int) -> None:
    """Wait."""
    raise ValueError(f"{timeout} {size}")


def wait_well(timeout_secs: float, size: int) -> None:
    """Wait for `size` bytes; ValueError at the end."""
    raise ValueError(f"{timeout_secs} {size}")


def untyped(value) -> None:  # type: ignore[no-untyped-def]
    """Take a value."""


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (wait_for, ["units", "units", "errors"]),
        (wait_well, []),
        (untyped, ["types"]),
    ],
)
def test_gaps_are_found(function: Callable[..., Any], found: list[str]) -> None:
    assert list(gaps(function, None)) == found
