"""Calls of other threads, queued in order for the main thread."""

import threading
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

Call = Callable[[], Any]

CALLS_AHEAD_MAX = 10_000
"""Maximum of queued calls: some tenths of a second of the main thread's work."""
WAIT_SECS = 0.1
"""Delay of each further call of a thread beyond the maximum. The delay ends, because the main
thread may itself wait for the caller, inside user code.
"""
ANSWER_SECS_MAX = 10.0
"""How long a thread waits for the task ids of an emit, for the same reason."""


class ThreadCalls:
    """Accepts calls from any thread; the main thread makes the calls soon, in order."""

    def __init__(
        self,
        call_soon: Callable[[Call], None],
        failed: Callable[[str, str], None],
        wait_secs: float = WAIT_SECS,
    ) -> None:
        """failed(what happened, traceback) is called when a call raises."""
        self._call_soon = call_soon
        self._failed = failed
        self._wait_secs = wait_secs
        self._waiting: deque[Call] = deque()
        self._is_asked_for = False
        self.is_making = False
        """In the main thread: whether one is being made."""
        self._shorter = threading.Event()

    @property
    def pending(self) -> bool:
        """Whether a call waits to be made."""
        return bool(self._waiting)

    def post(self, call: Call) -> None:
        """Leave a call; a thread that is far ahead waits a little."""
        if len(self._waiting) >= CALLS_AHEAD_MAX:
            self._shorter.clear()
            self._shorter.wait(self._wait_secs)
        self._waiting.append(call)
        if not self._is_asked_for:
            self._is_asked_for = True
            self._call_soon(self.make_now)

    def ask(self, call: Call) -> Any:
        """Have the main thread make a call; returns or raises its outcome.

        TimeoutError if the main thread stays in user code.
        """
        answers: deque[tuple[Any, BaseException | None]] = deque()
        answered = threading.Event()

        def answering() -> None:
            try:
                answers.append((call(), None))
            except Exception as error:
                answers.append((None, error))
            answered.set()

        self.post(answering)
        if not answered.wait(ANSWER_SECS_MAX):
            raise TimeoutError(
                f"no task ids after {ANSWER_SECS_MAX:g} s: the main thread is in user code, or "
                "waits for back-pressure to end"
            )
        value, error = answers[0]
        if error is not None:
            raise error
        return value

    def make_now(self) -> None:
        """In the main thread: make all queued calls, including calls queued meanwhile; without
        effect during another call.
        """
        if self.is_making:
            return
        # First of all: a call that is left from here on, and not made below, asks again.
        self._is_asked_for = False
        self.is_making = True
        try:
            self._make_all()
        finally:
            self.is_making = False
        self._shorter.set()

    def _make_all(self) -> None:
        while self._waiting:
            try:
                # Removed only after the call: until then the call is pending, and its bolt is not
                # idle.
                self._waiting[0]()
            except Exception:
                self._failed("a call of another thread raised", traceback.format_exc())
            finally:
                self._waiting.popleft()
