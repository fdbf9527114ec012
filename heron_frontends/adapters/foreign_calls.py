"""Emits, acks and fails of threads that are not the main one: the main thread makes them, in order.

The fast way of an emit does not ask which thread it is in as long as there is one. The first thread
of user code makes its process watch out (`share`): from then on each emit and fail asks. An ack is
only noted, in whichever thread; before it counts, what its thread has emitted before it is emitted.

A thread of user code is seen when it starts, from before user code is loaded (`watch_starts`); when
a component is made, if it runs by then (`watch_threads`); and one that C code has started by its
first call that is not an emit of the fast way, or that fills a message (`is_elsewhere`).
"""

import _thread
import threading
from collections.abc import Callable
from typing import Any, NoReturn, Protocol
from weakref import WeakSet

from heron_core.errors import ComponentError, TopologyStopped
from heron_frontends.adapters.thread_calls import ThreadCalls

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
        self.this_thread = threading.get_ident
        """The number of the thread that asks."""
        main_thread = threading.main_thread().ident
        self._main_thread = main_thread if _stands_for_main() else self.this_thread()
        self._call_soon = call_soon
        self._calls = ThreadCalls(call_soon, failed)
        self.refusal = refusal

    @property
    def is_elsewhere(self) -> bool:
        """Whether this thread is another one than the main thread."""
        return self.this_thread() != self._main_thread and not _stands_for_main()

    @property
    def pending(self) -> bool:
        """Whether a call waits to be made."""
        return self._calls.pending

    def check(self) -> None:
        """ComponentError if threads may not emit."""
        if self.refusal:
            self._refuse()

    def leave(self, call: Call) -> None:
        """Have the main thread make a call; ComponentError if threads may not."""
        self.check()
        self._calls.post(call)

    def ask(self, call: Call) -> Any:
        """What a call returns or raises, once the main thread has made it."""
        self.check()
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
_start_raw = _thread.start_new_thread


def watch_starts() -> None:
    """See each thread that user code starts from here on; before user code is loaded."""
    if threading.Thread.start is _start:
        threading.Thread.start = _started  # type: ignore[assignment,method-assign]
        # `threading` has the name of its own; this one is for whoever goes without it.
        _thread.start_new_thread = _started_raw


def watch_threads(shared: Shareable) -> None:
    """Let it know of threads of user code in this process: now if there are any, for the import of
    a module may have started them, and else when the first one starts."""
    watch_starts()
    _shareables.add(shared)
    if _raw_threads or not all(map(_is_ours, threading.enumerate())):
        shared.share()


_raw_threads: list[Any] = []
"""What threads run that were started without `threading`, which lists only its own."""


def _started(thread: threading.Thread) -> None:
    if not _is_ours(thread):
        _share_all()
    _start(thread)


def _started_raw(function: Any, *arguments: Any) -> int:
    def run(*given: Any, **named: Any) -> None:
        try:
            function(*given, **named)
        finally:
            _raw_threads.remove(run)

    _raw_threads.append(run)
    _share_all()
    return _start_raw(run, *arguments)


def _share_all() -> None:
    for each in list(_shareables):
        each.share()


def _is_ours(thread: threading.Thread) -> bool:
    """Whether it runs a function of the engine's, is the process's first thread, or says that it
    is the main thread's; or belongs to none of these, but was met in passing (a dummy)."""
    if _is_main_threads(thread) or thread is threading.main_thread():
        return True
    if isinstance(thread, threading._DummyThread):
        return True  # nobody knows whose: `is_elsewhere` sees what it calls
    function: Any = getattr(thread, "function", None) or getattr(thread, "_target", None)
    module = getattr(type(thread) if function is None else function, "__module__", "") or ""
    return module.startswith(OUR_PACKAGES)


def _is_main_threads(thread: threading.Thread) -> bool:
    return getattr(thread, "is_main_threads", False)  # the simulation's, one of them at a time


def _stands_for_main() -> bool:
    return _is_main_threads(threading.current_thread())
