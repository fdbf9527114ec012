"""What adapters of all APIs have in common where a user's methods are coroutines or yield."""

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
"""Methods that the engine calls of any class, and which it awaits to their end: as the function of
that name would, a coroutine holds up what comes behind it. State hooks of spouts are not among
them: what a user's task emits meanwhile would be in front of a barrier, and not in the state."""
INNER = (
    "process_batch", "process_batches", "processWindow", "execute", "process_element", "on_timer",
)  # fmt: skip
"""The same of methods that bolts of the library call: of batches, windows, elements and timers."""


_DESCRIPTORS = (staticmethod, classmethod, property)


def library_has(kind: type, name: str) -> bool:
    """Whether a class of the library that `kind` is derived from defines a method."""
    return any(
        callable(vars(each).get(name)) or isinstance(vars(each).get(name), _DESCRIPTORS)
        for each in kind.__mro__
        if each.__module__.startswith(LIBRARIES)
    )


def is_awaited(kind: type, name: str, is_spout: bool) -> bool:
    """Whether a method may be a coroutine that is run to its end."""
    return name in HOOKS[is_spout] or (
        not is_spout and name in INNER and library_has(kind, name)
    )  # fmt: skip


def coroutines_of(user: Any, is_spout: bool) -> "Coroutines | None":
    """The event loop of a user's object, of which the coroutines of its hooks are functions from
    here on; None if none of its methods is a coroutine."""
    awaited = [
        name
        for name in (*HOOKS[is_spout], *INNER)
        if is_async(getattr(user, name, None)) and is_awaited(type(user), name, is_spout)
    ]
    if not awaited and not is_async(getattr(user, CONCURRENT[is_spout], None)):
        return None
    # Late: it imports asyncio, and most components have no use for that.
    from heron_frontends.adapters.coroutines import Coroutines

    coroutines = Coroutines()
    for name in awaited:
        setattr(user, name, coroutines.as_function(getattr(user, name)))
    return coroutines


def run_returned(component: Any, result: Any) -> Any:
    """What a hook returned, or what its coroutine does: a decorator may hide that it is one, and a
    method may be replaced by one at run time."""
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

    def find_shape(self) -> None:
        """As it is before anybody puts something around it."""
        process = getattr(self.users_object, "process", None)
        self.is_async, self.process_yields = is_async(process), yields(process)

    def process_coroutine(self, tup: Any) -> Coroutine[Any, Any, None] | None:
        """Begin with a tuple, of one that is async; None if there is nothing to do."""
        found: Any = self.users_object.process(tup)
        return yielded_by(found, tup, self._send) if self.process_yields else found

    def refuse_returned(self, value: Any) -> None:
        """ComponentError: `process` returned something."""
        refuse_returned(self.users_object.process, value)

    def shaped_process(self) -> Callable[[Any], Any]:
        """`process` as a function: its yields are emits, anchored to the tuple."""
        process: Callable[[Any], Any] = self.users_object.process
        return generating(process, self._send) if self.process_yields else process

    def _send(self, emission: Emission, tup: Any) -> None:
        self.users_object.emit(
            emission.values,
            stream=emission.stream,
            anchors=[tup],
            direct_task=emission.direct_task,
        )
