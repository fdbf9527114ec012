"""The event loops of coroutines in a simulated cluster: in simulated time."""

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from heron_core.topology import ComponentSpec
from heron_frontends.adapters.construct import construct
from heron_instance.input.coroutine_bolt import CoroutineBoltDriver
from tests.sim.clock import Clock

if TYPE_CHECKING:
    from tests.sim.instances import Instance


_loops: list["VirtualLoop"] = []


class VirtualLoop(asyncio.base_events.BaseEventLoop):
    """An event loop in simulated time without waits and file descriptors."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._now = now
        self._clock_resolution = 1e-9
        self._selector = SimpleNamespace(select=lambda timeout: ())
        _loops.append(self)
        self.set_exception_handler(lambda loop, context: None)  # of tasks of a process that died

    def __del__(self) -> None:
        """A dying process does not close its loop, and this loop has no resources."""

    def time(self) -> float:
        """The cluster's."""
        return self._now()

    def _process_events(self, events: Any) -> None:
        """Without selectors."""

    def _write_to_self(self) -> None:
        """Wake-ups are not needed."""


def abandon_all() -> None:
    """No coroutine of a run is left to the garbage collector, with its warnings."""
    for loop in _loops:
        for task in asyncio.all_tasks(loop):
            coroutine: Any = task.get_coro()
            with suppress(BaseException):
                coroutine.close()
    _loops.clear()
    gc.collect()


def constructing(clock: Clock, pool: Any) -> Callable[..., Any]:
    """Factory of a component with coroutines in the cluster's time, and with the threads of
    `pool`."""

    def made(spec: ComponentSpec, bindings: Any) -> Any:
        component: Any = construct(spec, bindings)
        if component.coroutines is not None:
            component.coroutines.loop = VirtualLoop(lambda: clock.now)
        component.users_object.pool = pool
        return component

    return made


def have_ended(instance: "Instance") -> bool:
    """Let the coroutines of a waiting instance go on; whether any has ended."""
    driver = instance.core.driver
    if not isinstance(driver, CoroutineBoltDriver):
        return False
    driver.component.coroutines.turn()
    return bool(driver._ended)
