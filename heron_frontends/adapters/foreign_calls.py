"""Emits, acks and fails of threads other than the main thread; the main thread makes the calls, in
order.

While a process has a single thread, the fast path of an emit skips the check of its thread. The
first thread of user code makes the process cautious (`share`): each later emit and fail checks its
thread. An ack is queued from any thread, and counts after the earlier emits of its thread.

Three events reveal a thread of user code: its start, from before user code is loaded
(`watch_starts`); the creation of a component, for a thread already running (`watch_threads`); and,
for a thread started by C code, its first call outside of the fast path of emits or with a full
message (`is_elsewhere`).
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
"""Packages whose threads never emit."""


class ForeignCalls:
    """Calls of other threads, queued for the main thread of one component."""

    def __init__(
        self, call_soon: Callable[[Call], None], failed: Callable[[str, str], None], refusal: str
    ) -> None:
        """`call_soon` and `failed` as for ThreadCalls; `refusal`: why a thread may not emit, with
        the remedy, or empty.
        """
        self.this_thread = threading.get_ident
        """Number of the calling thread."""
        main_thread = threading.main_thread().ident
        self._main_thread = main_thread if _stands_for_main() else self.this_thread()
        self._call_soon = call_soon
        self._calls = ThreadCalls(call_soon, failed)
        self.refusal = refusal

    @property
    def is_elsewhere(self) -> bool:
        """Whether the calling thread is not the main thread."""
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
        """Have the main thread make a call; returns or raises its outcome."""
        self.check()
        return self._calls.ask(call)

    def make_now(self) -> bool:
        """In the main thread: make all waiting calls; False during another call."""
        if self._calls.is_making:
            return False
        self._calls.make_now()
        return True

    def _refuse(self) -> NoReturn:
        """Stop the topology by a call too, because a thread pool keeps exceptions of its work to
        itself.
        """
        self._call_soon(self._stop)
        raise ComponentError(self.refusal)

    def _stop(self) -> NoReturn:
        raise TopologyStopped(self.refusal)


class Shareable(Protocol):
    """Object that several threads may call from now on."""

    def share(self) -> None:
        """Check the thread of each call from now on."""


_shareables: "WeakSet[Shareable]" = WeakSet()
_start = threading.Thread.start
_start_raw = _thread.start_new_thread


def watch_starts() -> None:
    """Notice each thread that user code starts; call before user code is loaded."""
    if threading.Thread.start is _start:
        threading.Thread.start = _started  # type: ignore[assignment,method-assign]
        # `threading` keeps its own reference; the patch catches code that starts raw threads.
        _thread.start_new_thread = _started_raw


def watch_threads(shared: Shareable) -> None:
    """Notify `shared` of threads of user code in the process: immediately if any run, since an
    import may have started threads, and otherwise at the first start.
    """
    watch_starts()
    _shareables.add(shared)
    if _raw_threads or not all(map(_is_ours, threading.enumerate())):
        shared.share()


_raw_threads: list[Any] = []
"""Functions of threads started without `threading`, whose list lacks them."""


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
    """Whether the thread runs a function of the engine, is the first thread of the process, or
    stands in for the main thread. A dummy thread counts as the engine's too: its origin is unknown.
    """
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
