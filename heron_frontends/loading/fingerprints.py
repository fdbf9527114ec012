"""Fingerprint of a component's class: a short text that changes with the code.

Two versions of a file are compared class by class. The fingerprint covers the class with its bases,
and the user's functions, classes, constants and modules named by their code. Comments, the order in
the file and the module's name are ignored. Installed packages count by name only; files read at run
time are not covered.
"""

import hashlib
import inspect
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from heron_api.class_loading import load_class
from heron_api.method_shapes import is_async
from heron_api.state.keyed_state import declared_states
from heron_api.user_errors import is_users
from heron_core.errors import ComponentError
from heron_core.records import replace
from heron_core.topology import ComponentSpec
from heron_frontends.adapters.construct import is_storm_like

DIGITS = 16
_NOT_CODE = frozenset(
    ("__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__firstlineno__",
     "__static_attributes__", "__annotations__", "__abstractmethods__", "_abc_impl",
     "__parameters__", "__orig_bases__")
)  # fmt: skip
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_WRAPPERS = ("__func__", "fget", "fset", "fdel", "__wrapped__", "func", "args", "keywords")
"""What a static method, a property or a partial is made of."""


def described(component: ComponentSpec, folder: str = "") -> ComponentSpec:
    """The component with its class's facts; unchanged if the class cannot be loaded here.

    `folder`: the working folder of a Storm component in Storm.
    """
    try:
        kind = load_class(component.class_path)
    except ComponentError:
        return component
    keeps = callable(getattr(kind, "init_state", None)) or bool(declared_states(kind))
    own = folder if is_storm_like(kind) else ""
    awaited = not component.is_spout and is_async(getattr(kind, "process", None))
    return replace(
        component, code=fingerprint(kind), keeps_state=keeps, folder=own, is_async=awaited
    )


def fingerprint(kind: type) -> str:
    """Fingerprint of a class, stable as long as the code is unchanged."""
    digest = hashlib.sha256()
    for word in _Walk().words(kind):
        digest.update(word.encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()[:DIGITS]


class _Walk:
    """Words that describe a value and all values reachable from the first, each once."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []
        """Keeps visited objects alive: a freed id might be reused."""

    def words(self, value: Any) -> Iterator[str]:
        """Whatever the value is made of, in a fixed order."""
        if isinstance(value, _PLAIN):
            yield f"{type(value).__name__} {value!r}"
            return
        if id(value) in self._seen:
            yield f"seen {self._seen[id(value)]}"
            return
        self._seen[id(value)] = len(self._seen)
        self._alive.append(value)
        yield type(value).__name__
        yield from self._inside(value)

    def _inside(self, value: Any) -> Iterator[str]:
        match value:
            case type():
                yield from self._class(value)
            case FunctionType():
                yield from self._function(value)
            case CodeType():
                yield from self._code(value)
            case ModuleType():
                yield from _module(value)
            case list() | tuple():
                yield from self._each(value)
            case set() | frozenset():
                yield from sorted("".join(_Walk().words(item)) for item in value)
            case dict():
                yield from self._pairs(value.items())
            case _:
                yield from self._object(value)

    def _each(self, values: Iterable[Any]) -> Iterator[str]:
        for each in values:
            yield from self.words(each)
        yield "end"

    def _pairs(self, pairs: Iterable[tuple[Any, Any]]) -> Iterator[str]:
        for key, each in pairs:
            yield from self.words(key)
            yield from self.words(each)
        yield "end"

    def _class(self, kind: type) -> Iterator[str]:
        if not _is_users(kind):
            yield f"{kind.__module__}.{kind.__qualname__}"
            return
        yield from self._each(kind.__bases__)
        members = vars(kind).items()
        yield from self._pairs(sorted(each for each in members if each[0] not in _NOT_CODE))

    def _function(self, function: FunctionType) -> Iterator[str]:
        if not is_users(function.__code__.co_filename):
            yield f"{function.__module__}.{function.__qualname__}"
        else:
            yield from self._code(function.__code__)
            named = sorted(_names(function.__code__) & function.__globals__.keys())
            yield from self._pairs((name, function.__globals__[name]) for name in named)
        yield from self.words(function.__defaults__)
        yield from self.words(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                yield from self.words(cell.cell_contents)
            except ValueError:  # it is empty
                yield "nothing"

    def _code(self, code: CodeType) -> Iterator[str]:
        yield code.co_code.hex()
        yield from self._each((*code.co_names, *code.co_varnames, *code.co_freevars))
        yield from self._each(code.co_consts)

    def _object(self, value: Any) -> Iterator[str]:
        kind = type(value)
        if _is_users(kind):
            yield from self.words(kind)
        else:
            yield f"{kind.__module__}.{kind.__qualname__}"
        for name in _WRAPPERS:
            part = inspect.getattr_static(value, name, None)
            if part is not None and inspect.getattr_static(kind, "__getattr__", None) is None:
                yield from self.words(getattr(value, name, None))
        try:
            yield from self._pairs(sorted(vars(value).items()))
        except TypeError:  # it has no attributes of its own
            text = repr(value)
            yield "" if " at 0x" in text else text


def _names(code: CodeType) -> set[str]:
    """Names used by a function's code, including nested functions and classes."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return {*code.co_names, *(name for each in inner for name in _names(each))}


def _is_users(kind: type) -> bool:
    try:
        return is_users(inspect.getfile(kind))
    except (OSError, TypeError):
        return False


def _module(module: ModuleType) -> Iterator[str]:
    file = getattr(module, "__file__", None)
    if file is None or not is_users(file):
        yield module.__name__
        return
    with open(file, "rb") as source:
        yield hashlib.sha256(source.read()).hexdigest()
