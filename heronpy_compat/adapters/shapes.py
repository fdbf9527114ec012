"""What a user's method is: a function, a generator whose yields are emits, a coroutine, or both."""

import ast
import inspect
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from heron_core.errors import ComponentError
from heronpy_compat.api.emission import Emission
from heronpy_compat.user_errors import display_path

Method = Callable[..., Any]
SendBolt = Callable[[Emission, Any], None]
"""Emits what was yielded for a tuple."""
SHOWN = 60
"""Characters of a value that was returned."""


def is_async(method: Any) -> bool:
    """Whether a call of it has to be awaited."""
    found = inspect.unwrap(method)
    return inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found)


def yields(method: Any) -> bool:
    """Whether its yields are emits."""
    found = inspect.unwrap(method)
    return inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found)


def emission_of(value: Any) -> Emission:
    """What was yielded: an Emission, the values of a tuple as a list or tuple, or one value."""
    if isinstance(value, Emission):
        return value
    return Emission(value if isinstance(value, (list, tuple)) else [value])


def generating(process: Method, send: SendBolt) -> Callable[[Any], None]:
    """`process` of a bolt that yields."""

    def run(tup: Any) -> None:
        yielded: Iterator[Any] | None = process(tup)
        for value in yielded or ():
            if value is not None:
                send(emission_of(value), tup)

    return run


async def yielded_by(yielded: AsyncIterator[Any] | None, tup: Any, send: SendBolt) -> None:
    """Emits what `process` yields for a tuple, of a bolt where it is an async generator."""
    if yielded is not None:
        async for value in yielded:
            if value is not None:
                send(emission_of(value), tup)


def refuse_returned(process: Method, value: Any) -> None:
    """ComponentError: nothing is sent of what `process` returns, so it would be lost. True and
    False are no values of a tuple; Storm's users end a call by them."""
    if isinstance(value, bool):
        return
    if inspect.iscoroutine(value):
        value.close()
    shown = f"{type(value).__name__} {value!r:.{SHOWN}}"
    raise ComponentError(f"{returned_at(process)}{RETURNED.format(shown, 'process')}")


RETURNED = (
    "{1} returns {0}, of which nothing is sent: call self.emit(…), or `yield` it (a coroutine:"
    " write `async def {1}`, and `await` it)"
)


def returned_at(process: Method) -> str:
    """`FILE:LINE: ` of its first `return` of a value, or of itself; empty if unknown."""
    found = inspect.unwrap(process)
    try:
        file, (_, first) = inspect.getsourcefile(found), inspect.getsourcelines(found)
    except (OSError, TypeError):
        return ""
    returns = sorted(returns_of(found), key=lambda each: isinstance(each.value, ast.Call))
    line = returns[0].lineno if returns else 1  # a call, of emit for instance, may give None
    return f"{display_path(str(file))}:{first + line - 1}: "


def returns_of(process: Any) -> Iterator[ast.Return]:
    """The `return` statements of a function's own that have a value; none if it has no source."""
    try:
        tree = ast.parse(textwrap.dedent("".join(inspect.getsourcelines(process)[0])))
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    left: list[ast.AST] = list(getattr(tree.body[0], "body", ())) if tree.body else []
    while left:
        node = left.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Return) and not _is_nothing(node.value):
            yield node
        left[:0] = ast.iter_child_nodes(node)


def _is_nothing(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)
