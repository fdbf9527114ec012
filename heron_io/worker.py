"""Slow calls, one after the other in a thread, for a loop that must not block."""

import logging
import queue
import select
import threading
import time
from collections.abc import Callable
from typing import Any

from heron_io.waker import Waker

log = logging.getLogger("heron_io")

Call = Callable[[], Any]
Done = Callable[[Any], None]


class WorkerThread:
    """A thread; the loop takes results when `readable` is ready."""

    def __init__(self, name: str) -> None:
        self._waker = Waker()
        self._calls: queue.SimpleQueue[tuple[Call, Done] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[Done, Any]] = queue.SimpleQueue()
        self.unfinished = 0
        """Calls without a taken result."""
        # A hanging call must not delay the end of the process.
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def readable(self) -> int:
        """A file descriptor, readable when results are available."""
        return self._waker.readable

    def begin(self, call: Call, done: Done) -> None:
        """Run `call` in the thread and pass its result to `done` in the loop. The call handles
        its own errors; after an unexpected exception `done` receives None."""
        self.unfinished += 1
        self._calls.put((call, done))

    def finish(self) -> None:
        """In the loop: pass the available results on."""
        self._waker.clear()
        while not self._results.empty():
            done, result = self._results.get()
            self.unfinished -= 1
            done(result)

    def close(self, wait_secs: float) -> None:
        """Wait `wait_secs` for unfinished calls, and end the thread."""
        deadline = time.monotonic() + wait_secs
        while self.unfinished and (left := deadline - time.monotonic()) > 0:
            select.select([self.readable], [], [], left)
            self.finish()
        self._calls.put(None)

    def _run(self) -> None:
        while (item := self._calls.get()) is not None:
            call, done = item
            result = None
            try:
                result = call()
            except Exception:
                log.exception("a bug of ours in a thread")
            self._results.put((done, result))
            self._waker.wake()
