"""Checks for coroutine and generator methods in places where the engine would not run them.

A call of a coroutine method returns at once: its tuple would be acked and lost, with exit code 0.
"""

import ast
import inspect
import pickletools
from collections.abc import Iterator
from typing import Any

from heron_api.class_loading import load_class, load_grouping
from heron_api.method_shapes import (
    RETURNED,
    SHOWN,
    MethodShapeError,
    is_async,
    location_of,
    refusal,
    returned_at,
    returns_of,
    yields,
)
from heron_api.state.keyed_state import declared_states
from heron_api.user_errors import display_path, is_users
from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_core.library import LIBRARIES, PACKAGES
from heron_core.topology import TopologySpec
from heron_frontends.adapters.awaiting import (
    CONCURRENT,
    HOOKS,
    INNER,
    is_awaited,
    library_has,
)

STATE_HOOKS = ("init_state", "pre_save", "post_save", "pre_restore", "migrate")
CALLED = {*HOOKS[True], *HOOKS[False], *STATE_HOOKS, *CONCURRENT.values(),
          "ack", "fail", "emit", "emit_batch", "is_idle"}  # fmt: skip
"""Methods that the engine calls on every class. The library also calls its own methods of a derived
class.
"""
_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.JoinedStr, ast.GeneratorExp)
"""Expressions with a value other than None."""


def shape_problems(label: str, kind: type, is_spout: bool) -> Iterator[str]:
    """One line for each called method whose coroutine or generator would not be run."""
    for name, owner in _own_methods(kind):
        method = inspect.unwrap(getattr(owner, name))
        is_called = name in CALLED or library_has(kind, name)
        where = f"{location_of(method)}{label}: {name} of class {owner.__name__}"
        if name == CONCURRENT[is_spout]:
            if is_async(method) and (problem := _not_concurrent(kind, is_spout)):
                yield f"{where} is `async def`{problem}"
            yield from _value_problems(label, kind, method, name)
        elif is_called and is_async(method) and not is_awaited(kind, name, is_spout):
            yield f"{where} is `async def`{_remedy(name, is_spout)}"
        elif is_called and yields(method) and name in {*CALLED, *INNER}:
            yield f"{where} has a `yield`, so its body would never run: call self.emit(…) instead"


def helper_problems(topology: TopologySpec) -> Iterator[str]:
    """Shape problems of task hooks, the serializer and custom groupings. A class that cannot be
    loaded is reported at its creation.
    """
    config = topology.config
    hooks = config.get(keys.AUTO_TASK_HOOKS) or ()
    serializer = config.get(keys.SERIALIZER_CLASSNAME)
    for path in [*(hooks if isinstance(hooks, (list, tuple)) else ()), serializer]:
        if isinstance(path, str):
            yield from _class_problems(path)
    for bolt in topology.components:
        for entry in bolt.inputs:
            if entry.grouping.custom is not None:
                yield from _grouping_problems(bolt.label, entry.grouping.custom)


def _class_problems(path: str) -> Iterator[str]:
    try:
        kind = load_class(path)
    except ComponentError:
        return
    for name, owner in _own_methods(kind):
        problem = refusal(f"{name} of class {owner.__name__}", getattr(owner, name))
        if problem and library_has(kind, name):
            yield problem


def _grouping_problems(label: str, custom: bytes) -> Iterator[str]:
    try:
        if not _is_of_library(custom):
            load_grouping(custom)
    except MethodShapeError as error:
        yield f"{label}: {error}"
    except Exception:
        return


def _is_of_library(custom: bytes) -> bool:
    """Whether a pickled grouping names a module of ours."""
    names = (argument for _, argument, _ in pickletools.genops(custom) if isinstance(argument, str))
    return any(name.startswith(PACKAGES) for name in names)


def _own_methods(kind: type) -> Iterator[tuple[str, type]]:
    """(name, class) of the user's methods that are coroutines or yield, or are to be looked at."""
    seen: set[str] = set()
    for owner in kind.__mro__:
        is_ours = owner.__module__.startswith(LIBRARIES)
        for name in vars(owner):
            if name in seen or (name.startswith("__") and name.endswith("__")):
                continue
            seen.add(name)
            if not is_ours and _is_function(vars(owner)[name]):
                yield name, owner


def _is_function(found: Any) -> bool:
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    return callable(found) and not isinstance(found, type)


def _remedy(name: str, is_spout: bool) -> str:
    if is_spout and name in STATE_HOOKS:
        return (
            f", and a spout's state is saved and set between two of its emits: write `def {name}`,"
            " and await in next_tuple"
        )
    return (
        f", but the engine does not await its coroutine: write `def {name}`, and run "
        "coroutines with asyncio.run(…)"
    )


def _not_concurrent(kind: type, is_spout: bool) -> str | None:
    """Why calls of `process` or `next_tuple` cannot run concurrently; None if possible."""
    name = CONCURRENT[is_spout]
    library = next((owner for owner in _library_owners(kind, name)), None)
    if library is not None and not only_raises(vars(library)[name]):
        return (
            f", but process of {library.__name__} takes tuples one by one (they are acked with "
            f"their batch or window): write `async def {_instead(kind)}`"
        )
    if not is_spout and getattr(kind, "acks_later", False):
        return (
            ", whose tuple is acked at its end, but acks_later is True: remove acks_later, and "
            "await the work that precedes the ack"
        )
    return None


def _library_owners(kind: type, name: str) -> Iterator[type]:
    for each in kind.__mro__:
        if each.__module__.startswith(LIBRARIES) and name in vars(each):
            yield each


def _instead(kind: type) -> str:
    return next((name for name in INNER if library_has(kind, name)), "process in a plain Bolt")


def _value_problems(label: str, kind: type, method: Any, name: str) -> Iterator[str]:
    """Visible problems of a `process` that returns values, or mixes keys across an await."""
    for node in returns_of(method):
        if isinstance(node.value, _DISPLAYS):
            shown = ast.unparse(node.value)[:SHOWN]
            yield f"{returned_at(method)}{label}: {RETURNED.format(shown, name)}"
            return
    if name == "process" and is_async(method) and (states := declared_states(kind)):
        yield (
            f"{location_of(method)}{label}: process is `async def`, but {', '.join(states)} "
            "belongs to the key of one tuple, and after an await another tuple is current: move "
            "the state to the bolt before or after this one"
        )


def only_raises(method: Any) -> bool:
    """Whether a method of the library is to be defined by the user's class."""
    code = getattr(method, "__code__", None)
    return code is not None and "NotImplementedError" in code.co_names


def line_of(thing: Any, owner: type) -> str:
    """`FILE:LINE: ` of a class or a function; empty if unknown."""
    try:
        file, line = inspect.getsourcefile(owner), inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):
        return ""
    return f"{display_path(file)}:{line}: " if file and is_users(file) else ""
