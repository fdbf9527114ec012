"""Calls that a component wants later: by other threads, or after some time; made in a batch."""

import heapq
import threading
from collections import deque
from collections.abc import Callable
from itertools import count

Call = Callable[[], None]


class CallbackQueue:
    """What `delegate.call_soon` and `delegate.call_later` ask for."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._soon: deque[Call] = deque()
        self._later: list[tuple[float, int, Call]] = []
        self._number = count()
        self._lock = threading.Lock()

    def soon(self, call: Call) -> None:
        """Make the call in the next pause between two tuples; from any thread."""
        self._soon.append(call)

    def later(self, secs: float, call: Call) -> None:
        """Make it in so many seconds, or in the first batch after them."""
        with self._lock:
            heapq.heappush(self._later, (self._clock() + secs, next(self._number), call))

    def run(self) -> None:
        """Make the calls that are due. What they add is made the next time."""
        for _ in range(len(self._soon)):
            self._soon.popleft()()
        now = self._clock()
        while self._later and self._later[0][0] <= now:
            with self._lock:
                call = heapq.heappop(self._later)[2]
            call()
