"""What adapters of all APIs have in common where a user's methods are coroutines or yield."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from heronpy_compat.adapters.shapes import (
    generating,
    is_async,
    refuse_returned,
    yielded_by,
    yields,
)
from heronpy_compat.api.emission import Emission

if TYPE_CHECKING:
    from heronpy_compat.adapters.coroutines import Coroutines

AWAITED = (
    "initialize", "process", "process_tick", "on_watermark", "on_finish", "next_tuple", "close",
)  # fmt: skip
"""Methods that may be coroutines."""
AWAITED_OF_SPOUTS = ("initialize", "next_tuple", "close")
"""Others are called while the topology is paused, and a coroutine of next_tuple would go on."""


def coroutines_of(user: Any) -> "Coroutines | None":
    """The event loop of a user's object; None if none of its methods is a coroutine."""
    if not any(is_async(getattr(user, name, None)) for name in AWAITED):
        return None
    # Late: it imports asyncio, and most components have no use for that.
    from heronpy_compat.adapters.coroutines import Coroutines

    return Coroutines()


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
