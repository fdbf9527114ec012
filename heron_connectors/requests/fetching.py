"""A thread to fetch requests from a server, for a spout that must not block."""

import threading
from collections import deque
from collections.abc import Callable

from heron_connectors.requests.client import (
    DRPCInvocationsClient,
    ServerAddress,
    UnknownMethod,
)
from heron_connectors.requests.table import Request
from heron_core.algorithms.retries import pause_secs
from heron_core.errors import HeronError

WAIT_SECS = 5.0
"""Poll duration: the server answers by then without a request, and learns that the function is
served."""
FETCH_MAX = 256
WAITING_MAX = 512
"""Limit of requests in the spout: above, fetching stops, and requests wait at the server under
its time-out and limit."""
POLL_SECS = (0.001, 0.01)
"""Between two calls of Storm's servers, which do not wait: it doubles while no request comes."""
OF_CALLERS = (
    "its port is not that of topologies: drpc.servers takes what `heronpy drpc` prints behind"
    ' "topologies at" (--invocations-port), Storm\'s drpc.invocations.port'
)
RETRY_SECS = 0.1
RETRY_SECS_MAX = 5.0
"""Pause between two attempts to reach a server."""


class FetchingThread:
    """Requests of one function from one server, or the server's problem."""

    def __init__(
        self,
        address: ServerAddress,
        function: str,
        wake: Callable[[], None],
        report: Callable[[str], None],
    ) -> None:
        """`wake` and `report` are called in the thread: a request has come; a problem is new."""
        self.address = address
        self._client = DRPCInvocationsClient(address)
        self._function = function
        self._wake, self._report = wake, report
        self._waiting: deque[Request] = deque()
        self._has_capacity = threading.Event()
        self._is_active = threading.Event()
        self._is_closed = threading.Event()
        self._failures = 0
        self._waits = True
        """Whether the server brings several requests, and waits for the first one."""
        self._pause = POLL_SECS[0]
        self._thread = threading.Thread(target=self._run, name=f"drpc {address}", daemon=True)
        self._has_capacity.set()

    def resume(self) -> None:
        """Fetch, from now on or again."""
        self._is_active.set()
        if self._thread.ident is None:
            self._thread.start()

    def pause(self) -> None:
        """Fetch no more; what the server is just asked for, within seconds, still comes."""
        self._is_active.clear()

    def take(self) -> Request | None:
        """The next request, if available."""
        if not self._waiting:
            return None
        request = self._waiting.popleft()
        if len(self._waiting) < WAITING_MAX:
            self._has_capacity.set()
        return request

    def close(self) -> list[Request]:
        """End the thread; returns fetched requests not yet taken."""
        self._is_closed.set()
        self._is_active.set()
        self._has_capacity.set()
        self._client.interrupt()
        if self._thread.is_alive():
            self._thread.join(WAIT_SECS)
        return list(self._waiting)

    def _run(self) -> None:
        while not self._is_closed.is_set():
            self._is_active.wait()
            self._has_capacity.wait()
            try:
                self._fetch()
                self._failures = 0
            except HeronError as error:
                self._wait_after(str(error))
            except Exception as error:  # without the thread no request would come, and no error
                self._wait_after(f"{self.address}: {type(error).__name__}: {error}")
        self._client.close()

    def _fetch(self) -> None:
        requests = self._next_requests()
        if not requests:
            return
        self._waiting += requests
        if len(self._waiting) >= WAITING_MAX:
            self._has_capacity.clear()
            if len(self._waiting) < WAITING_MAX:  # some were taken meanwhile
                self._has_capacity.set()
        self._wake()

    def _next_requests(self) -> list[Request]:
        if self._waits:
            requests = self._client.await_requests(self._function, FETCH_MAX, WAIT_SECS)
            if requests is not None:
                return requests
            self._waits = False
        request = self._fetched()
        if request is not None:
            self._pause = POLL_SECS[0]
            return [request]
        self._is_closed.wait(self._pause)
        self._pause = min(2 * self._pause, POLL_SECS[1])
        return []

    def _fetched(self) -> Request | None:
        try:
            return self._client.fetch_request(self._function)
        except UnknownMethod as error:
            raise HeronError(f"{error}; {OF_CALLERS}") from None

    def _wait_after(self, problem: str) -> None:
        if self._is_closed.is_set():
            return
        if self._failures == 0:
            self._report(problem)
        self._failures += 1
        self._waits = True  # another server may come in its place
        secs = min(pause_secs(RETRY_SECS, self._failures), RETRY_SECS_MAX)
        self._is_closed.wait(secs)
