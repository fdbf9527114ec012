"""Shapes of user methods: functions, generators (each yield emits), coroutines, or both."""

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
"""Emits the yielded values for a tuple."""
SHOWN = 60
"""Characters of a returned value in a message."""


class MethodShapeError(ComponentError):
    """A method is a coroutine or a generator where the engine expects a plain method."""


def is_async(method: Any) -> bool:
    """Whether a call must be awaited."""
    found = _called(method)
    return inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found)


def yields(method: Any) -> bool:
    """Whether yields are emits."""
    found = _called(method)
    return inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found)


def _called(method: Any) -> Any:
    """The function behind a callable: for an object, `__call__` of its class."""
    found = method
    while isinstance(found, functools.partial):
        found = found.func
    found = inspect.unwrap(found)
    if callable(found) and not inspect.isroutine(found) and not isinstance(found, type):
        return inspect.unwrap(type(found).__call__)
    return found


def refusal(what: str, method: Any, may_yield: bool = False) -> str | None:
    """The reason why a function or method cannot be called by the library, as one line with its
    location; None for a callable shape. `what` describes the function; `may_yield`: yields are
    taken as a list of values."""
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
    """MethodShapeError for the first method of an object with a wrong shape; methods in
    `yielding` may be generators."""
    for name in names:
        problem = refusal(f"{what}.{name}", getattr(thing, name, None), name in yielding)
        if problem:
            raise MethodShapeError(problem)


def location_of(method: Any) -> str:
    """`FILE:LINE: ` of a user's function; empty if unknown."""
    found = _called(method)
    try:
        file, (_, line) = inspect.getsourcefile(found), inspect.getsourcelines(found)
    except (OSError, TypeError):
        return ""
    return f"{display_path(file)}:{line}: " if file and is_users(file) else ""


def emission_of(value: Any) -> Emission:
    """A yielded value: an Emission, the values of a tuple as a list or tuple, or one value."""
    if isinstance(value, Emission):
        return value
    return Emission(value if isinstance(value, (list, tuple)) else [value])


def generating(
    process: Method, user: Any, stream: str | None, send: SendBolt
) -> Callable[[Any], None]:
    """`process` of a bolt with yields. Values alone go to the `emit` of the user's object, without
    an Emission around them; `stream` is the one of values alone."""

    def run(tup: Any) -> None:
        yielded: Iterator[Any] | None = process(tup)
        anchors = [tup]
        for value in yielded or ():
            if value is None:
                continue
            if isinstance(value, Emission):
                send(value, tup)
                continue
            values = value if isinstance(value, (list, tuple)) else [value]
            user.emit(values, stream=stream, anchors=anchors, direct_task=None)

    return run


async def yielded_by(yielded: AsyncIterator[Any] | None, tup: Any, send: SendBolt) -> None:
    """Emits the yields of `process`, for a bolt with an async generator."""
    if yielded is not None:
        async for value in yielded:
            if value is not None:
                send(emission_of(value), tup)


def refuse_returned(method: Method, value: Any, name: str = "process") -> None:
    """ComponentError: values returned by `process` or `next_tuple` are not sent, and would be
    lost. True and False are accepted, because Storm's users return them."""
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
"""A call's result whose code has not started."""
_WORDS = {CoroutineType: "a coroutine, which is not awaited",
          AsyncGeneratorType: "an async generator, which is not awaited",
          GeneratorType: "a generator, whose body has not run"}  # fmt: skip
_HIDDEN = (
    "its decorator hides its kind from the engine (functools.wraps does not), or the method was "
    "set on the object after its creation: define the method in the class"
)
_FUNCTION = "return values, of coroutines by asyncio.run(…), or use a bolt with `async def process`"


def refuse_coroutine(method: Method, result: Any) -> None:
    """ComponentError if a finished call has returned a coroutine or generator, which would never
    run: a decorator hides the method's shape from the engine."""
    if result is not None and isinstance(result, _UNRUN):
        raise ComponentError(_unrun(result, getattr(method, "__name__", "a method"), _HIDDEN))


def has_run(what: str, result: T, may_yield: bool = False) -> T:
    """The result of a user's function; ComponentError for a coroutine or generator that has not
    started: a filter would treat the object as true. `may_yield`: yields are accepted."""
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
    """A function called by the library; MethodShapeError, as one line with its location, for a
    coroutine or generator function."""
    if problem := refusal(f"the function of {what}", function):
        raise MethodShapeError(problem)
    return CheckedCall(what, function)


def _unrun(value: Any, name: str, remedy: str) -> str:
    """The reason why a returned value would be lost, with the line of the code that has not run."""
    code: CodeType = next(
        getattr(value, each) for each in ("cr_code", "ag_code", "gi_code") if hasattr(value, each)
    )
    if isinstance(value, CoroutineType):
        value.close()  # avoids Python's "never awaited" warning
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
    line = returns[0].lineno if returns else 1  # a call, e.g. of emit, may return None
    return f"{display_path(str(file))}:{first + line - 1}: "


def returns_of(process: Any) -> Iterator[ast.Return]:
    """The function's own `return` statements with a value; none without source."""
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
