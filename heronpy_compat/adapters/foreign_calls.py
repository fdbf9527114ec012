"""Emits, acks and fails of threads that are not the main one: the main thread makes them, in order.

Nothing is looked at as long as there is one thread: a component's emit, ack and fail are those of
its collector. The first thread that user code starts makes its process watch out (`share`): from
then on each emit and fail asks which thread it is in. An ack is only noted, in whichever thread;
before it counts, what its thread has emitted before it is emitted.
"""

import threading
from collections.abc import Callable
from typing import Any, NoReturn, Protocol
from weakref import WeakSet

from heron_core.errors import ComponentError, TopologyStopped
from heronpy_compat.adapters.thread_calls import ThreadCalls

Call = Callable[[], Any]
OUR_PACKAGES = ("heron_instance.", "heron_io.", "heron_spark.", "heron_tester.", "heron_core.")
"""Threads that run functions of these emit nothing."""


class ForeignCalls:
    """What other threads leave for the main thread of one component."""

    def __init__(
        self, call_soon: Callable[[Call], None], failed: Callable[[str, str], None], refusal: str
    ) -> None:
        """`call_soon` and `failed` as for ThreadCalls; `refusal`: why a thread may not emit at all,
        and the cure; empty if it may."""
        self._main_thread = threading.get_ident()
        self._call_soon = call_soon
        self._calls = ThreadCalls(call_soon, failed)
        self.refusal = refusal

    @property
    def is_here(self) -> bool:
        """Whether this thread is another one than the main thread."""
        return threading.get_ident() != self._main_thread

    @property
    def pending(self) -> bool:
        """Whether a call waits to be made."""
        return self._calls.pending

    def check_thread(self, anchors: Any, stream: str) -> None:
        """ComponentError if threads may not emit."""
        if self.refusal:
            self._refuse()

    def leave(self, call: Call) -> None:
        """Have the main thread make a call; ComponentError if threads may not."""
        self.check_thread((), "")
        self._calls.post(call)

    def ask(self, call: Call) -> Any:
        """What a call returns or raises, once the main thread has made it."""
        self.check_thread((), "")
        return self._calls.ask(call)

    def make_now(self) -> bool:
        """In the main thread: make all that wait; False in the middle of one."""
        if self._calls.is_making:
            return False
        self._calls.make_now()
        return True

    def _refuse(self) -> NoReturn:
        """A pool keeps what its work raises to itself, so the topology ends by it as well."""
        self._call_soon(self._stop)
        raise ComponentError(self.refusal)

    def _stop(self) -> NoReturn:
        raise TopologyStopped(self.refusal)


class Shareable(Protocol):
    """Something that several threads may call from now on."""

    def share(self) -> None:
        """Watch out for other threads."""


_shareables: "WeakSet[Shareable]" = WeakSet()
_start = threading.Thread.start


def watch_threads(shared: Shareable) -> None:
    """Let it know when user code starts a thread in this process."""
    _shareables.add(shared)
    if threading.Thread.start is _start:
        threading.Thread.start = _started  # type: ignore[assignment,method-assign]


def _started(thread: threading.Thread) -> None:
    if not _is_ours(thread):
        for each in list(_shareables):
            each.share()
    _start(thread)


def _is_ours(thread: threading.Thread) -> bool:
    """Whether it runs a function of the engine's, or says that it is the main thread's."""
    if getattr(thread, "is_main_threads", False):  # the simulation's, one of them at a time
        return True
    function: Any = getattr(thread, "function", None) or getattr(thread, "_target", None)
    module = getattr(type(thread) if function is None else function, "__module__", "") or ""
    return module.startswith(OUR_PACKAGES)
