"""Shared part of the adapters of all APIs: user methods that are coroutines or generators."""

import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from heron_api.emission import Emission
from heron_api.method_shapes import (
    generating,
    is_async,
    refuse_returned,
    yielded_by,
    yields,
)
from heron_core.library import LIBRARIES
from heron_core.topology import DEFAULT_STREAM

if TYPE_CHECKING:
    from heron_frontends.adapters.coroutines import Coroutines

CONCURRENT = {True: "next_tuple", False: "process"}
"""Of a spout (True) and a bolt: the method whose calls are under way while the engine goes on."""
HOOKS = {
    True: ("initialize", "ack", "fail", "activate", "deactivate", "close"),
    False: (
        "initialize", "init_state", "process_tick", "on_watermark", "on_finish", "begin_batch",
        "end_batch", "pre_save", "post_save", "pre_restore", "migrate", "close",
    ),
}  # fmt: skip
"""Hooks of every class whose coroutine the engine runs to the end: the coroutine delays later
tuples as a function of the same name would. State hooks of spouts are excluded, because tuples
emitted by a user's task in the meantime would precede the barrier without being in the state.
"""
INNER = (
    "process_batch", "process_batches", "processWindow", "execute", "process_element", "on_timer",
)  # fmt: skip
"""Hooks that the library's bolts call, run to the end likewise: batches, windows, elements and
timers.
"""


_DESCRIPTORS = (staticmethod, classmethod, property)


def library_has(kind: type, name: str) -> bool:
    """Whether a class of the library that `kind` is derived from defines a method."""
    return any(
        callable(vars(each).get(name)) or isinstance(vars(each).get(name), _DESCRIPTORS)
        for each in kind.__mro__
        if each.__module__.startswith(LIBRARIES)
    )


def is_awaited(kind: type, name: str, is_spout: bool) -> bool:
    """Whether `name` may be a coroutine, to be run to its end."""
    return name in HOOKS[is_spout] or (
        not is_spout and name in INNER and library_has(kind, name)
    )  # fmt: skip


def coroutines_of(user: Any, is_spout: bool) -> "Coroutines | None":
    """Event loop of a user object; coroutine hooks of the object become functions. None without a
    coroutine.
    """
    awaited = [
        name
        for name in (*HOOKS[is_spout], *INNER)
        if is_async(getattr(user, name, None)) and is_awaited(type(user), name, is_spout)
    ]
    if not awaited and not is_async(getattr(user, CONCURRENT[is_spout], None)):
        return None
    # A late import: asyncio loads slowly, and most components do not use coroutines.
    from heron_frontends.adapters.coroutines import Coroutines

    coroutines = Coroutines()
    for name in awaited:
        setattr(user, name, coroutines.as_function(getattr(user, name)))
    return coroutines


def run_returned(component: Any, result: Any) -> Any:
    """Result of a hook, after the run of its coroutine if there is one. The check comes after the
    call, because a decorator may hide a coroutine, and user code may replace a method at run time.
    """
    if result is None or not inspect.iscoroutine(result):
        return result
    if component.coroutines is None:
        from heron_frontends.adapters.coroutines import Coroutines

        component.coroutines = Coroutines()
    return component.coroutines.run(result)


class ShapedBolt:
    """`process` in whichever shape it is; first base of a bolt's adapter."""

    users_object: Any
    coroutines: "Coroutines | None"
    is_async = False
    process_yields = False
    """Whether its yields are emits."""
    unnamed_stream: str | None = DEFAULT_STREAM
    """What its `emit` calls the stream of values alone."""

    def find_shape(self) -> None:
        """Find the shape of `process` before any wrapper hides the user's function."""
        process = getattr(self.users_object, "process", None)
        self.is_async, self.process_yields = is_async(process), yields(process)

    def process_coroutine(self, tup: Any) -> Coroutine[Any, Any, None] | None:
        """Start an async `process` with a tuple; None if `process` returned None."""
        found: Any = self.users_object.process(tup)
        return yielded_by(found, tup, self._send) if self.process_yields else found

    def refuse_returned(self, value: Any) -> None:
        """ComponentError: `process` returned something."""
        refuse_returned(self.users_object.process, value)

    def shaped_process(self) -> Callable[[Any], Any]:
        """`process` as a function: its yields are emits, anchored to the tuple."""
        process: Callable[[Any], Any] = self.users_object.process
        if not self.process_yields:
            return process
        return generating(process, self.users_object, self.unnamed_stream, self._send)

    def _send(self, emission: Emission, tup: Any) -> None:
        self.users_object.emit(
            emission.values,
            stream=emission.stream,
            anchors=[tup],
            direct_task=emission.direct_task,
        )
