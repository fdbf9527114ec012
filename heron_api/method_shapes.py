"""What a user's method is: a function, a generator whose yields are emits, a coroutine, or both."""

import ast
import functools
import inspect
import textwrap
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from types import AsyncGeneratorType, CodeType, CoroutineType, GeneratorType
from typing import Any, TypeVar

from msgspec import Struct

from heron_api.emission import Emission
from heron_api.user_errors import display_path, is_users
from heron_core.errors import ComponentError

Method = Callable[..., Any]
T = TypeVar("T")
SendBolt = Callable[[Emission, Any], None]
"""Emits what was yielded for a tuple."""
SHOWN = 60
"""Characters of a value that was returned."""


class MethodShapeError(ComponentError):
    """A method is a coroutine, or yields, where nothing would run it."""


def is_async(method: Any) -> bool:
    """Whether a call of it has to be awaited."""
    found = _called(method)
    return inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found)


def yields(method: Any) -> bool:
    """Whether its yields are emits."""
    found = _called(method)
    return inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found)


def _called(method: Any) -> Any:
    """The function that a call runs: of an object that is callable, its class's `__call__`."""
    found = method
    while isinstance(found, functools.partial):
        found = found.func
    found = inspect.unwrap(found)
    if callable(found) and not inspect.isroutine(found) and not isinstance(found, type):
        return inspect.unwrap(type(found).__call__)
    return found


def refusal(what: str, method: Any, may_yield: bool = False) -> str | None:
    """Why the library cannot call a function or method, as one line with its place; None if it
    can. `what` it is, for people; `may_yield`: its yields are taken as a list of values."""
    if is_async(method):
        return (
            f"{location_of(method)}{what} is `async def`, but the engine does not await its "
            "coroutine: write `def`, and run coroutines with asyncio.run(…), or use a bolt with "
            "`async def process`"
        )
    if yields(method) and not may_yield:
        location = location_of(method)
        return f"{location}{what} has a `yield`, so its body would never run: `return` values"
    return None


def refuse_methods(
    what: str, thing: Any, names: Iterable[str], yielding: Sequence[str] = ()
) -> None:
    """MethodShapeError for the first method of an object that the library cannot call; those of
    `yielding` may be generators."""
    for name in names:
        problem = refusal(f"{what}.{name}", getattr(thing, name, None), name in yielding)
        if problem:
            raise MethodShapeError(problem)


def location_of(method: Any) -> str:
    """`FILE:LINE: ` of a function of the user's; empty if that cannot be told."""
    found = _called(method)
    try:
        file, (_, line) = inspect.getsourcefile(found), inspect.getsourcelines(found)
    except (OSError, TypeError):
        return ""
    return f"{display_path(file)}:{line}: " if file and is_users(file) else ""


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


def refuse_returned(method: Method, value: Any, name: str = "process") -> None:
    """ComponentError: nothing is sent of what `process` or `next_tuple` returns, so it would be
    lost. True and False are no values of a tuple; Storm's users end a call by them."""
    if isinstance(value, bool):
        return
    if isinstance(value, _UNRUN):
        raise ComponentError(_unrun(value, name, _HIDDEN))
    shown = f"{type(value).__name__} {value!r:.{SHOWN}}"
    raise ComponentError(f"{returned_at(method)}{RETURNED.format(shown, name)}")


RETURNED = (
    "{1} returns {0}, which the engine does not send: call self.emit(…), or `yield` the value (a "
    "coroutine: write `async def {1}`, and `await` the call)"
)


_AWAITABLE = (CoroutineType, AsyncGeneratorType)
_UNRUN = (*_AWAITABLE, GeneratorType)
"""What a call returns whose code has not begun."""
_WORDS = {CoroutineType: "a coroutine, which is not awaited",
          AsyncGeneratorType: "an async generator, which is not awaited",
          GeneratorType: "a generator, whose body has not run"}  # fmt: skip
_HIDDEN = (
    "its decorator hides its kind from the engine (functools.wraps does not), or the method was "
    "set on the object after its creation: define the method in the class"
)
_FUNCTION = "return values, of coroutines by asyncio.run(…), or use a bolt with `async def process`"


def refuse_coroutine(method: Method, result: Any) -> None:
    """ComponentError if a call that is over has returned a coroutine or a generator, which would
    not be run: a decorator hides from the engine what the method is."""
    if result is not None and isinstance(result, _UNRUN):
        raise ComponentError(_unrun(result, getattr(method, "__name__", "a method"), _HIDDEN))


def has_run(what: str, result: T, may_yield: bool = False) -> T:
    """What a user's function has returned; ComponentError if that is a coroutine or a generator, of
    which nothing has run: a filter would take it for true. `may_yield`: its yields are taken."""
    if isinstance(result, _AWAITABLE if may_yield else _UNRUN):
        raise ComponentError(_unrun(result, f"the function of {what}", _FUNCTION))
    return result


class CheckedCall(Struct, frozen=True):
    """A user's function whose results have to have run; see `has_run`."""

    what: str
    function: Method

    def __call__(self, *arguments: Any) -> Any:
        return has_run(self.what, self.function(*arguments))

    def check(self, result: Any) -> None:
        """ComponentError for a result of the function that has not run."""
        has_run(self.what, result)


def checked_call(what: str, function: Method) -> CheckedCall:
    """A function that the library calls; MethodShapeError, as one line with its place, for one
    that is a coroutine or yields."""
    if problem := refusal(f"the function of {what}", function):
        raise MethodShapeError(problem)
    return CheckedCall(what, function)


def _unrun(value: Any, name: str, remedy: str) -> str:
    """Why what was returned would be lost, with the line of the code that has not run."""
    code: CodeType = next(
        getattr(value, each) for each in ("cr_code", "ag_code", "gi_code") if hasattr(value, each)
    )
    if isinstance(value, CoroutineType):
        value.close()  # or Python warns that it was never awaited
    file, line = code.co_filename, code.co_firstlineno
    location = f"{display_path(file)}:{line}: " if is_users(file) else ""
    return f"{location}{name} returns {_WORDS[type(value)]}: {remedy}"


def returned_at(process: Method) -> str:
    """`FILE:LINE: ` of its first `return` of a value, or of itself; empty if unknown."""
    function = inspect.unwrap(process)
    try:
        file, (_, first) = inspect.getsourcefile(function), inspect.getsourcelines(function)
    except (OSError, TypeError):
        return ""
    returns = sorted(returns_of(function), key=lambda each: isinstance(each.value, ast.Call))
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
