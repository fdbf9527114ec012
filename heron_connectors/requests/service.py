"""The calls of a server, awaited: the table of requests on an event loop."""

import asyncio
from collections import deque
from collections.abc import Iterable

from heron_connectors.requests.table import (
    Ending,
    FunctionState,
    Request,
    RequestCounts,
    RequestLimits,
    RequestTable,
)

FETCH_MAX = 256
"""Most requests in one answer to a topology."""
FETCH_SECS_MAX = 10.0
"""A topology waits so long at most for a request, and then asks again: so it is known to serve."""


class RequestService:
    """Belongs to one event loop, and is called on the loop only."""

    def __init__(self, limits: RequestLimits, life: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._table = RequestTable(limits, life)
        self._callers: dict[str, asyncio.Future[Ending]] = {}
        self._fetchers: dict[str, deque[asyncio.Future[None]]] = {}
        """function -> topologies that wait for a request"""
        self._timer: asyncio.TimerHandle | None = None
        self._is_stopped = False

    # --- callers --------------------------------------------------------------------------------

    async def execute(self, function: str, arguments: str) -> Ending:
        """The end of a call, whatever it is; CallRefused if it is not taken. A cancelled one is
        abandoned."""
        request_id = self._table.call(function, arguments, self._loop.time())
        caller: asyncio.Future[Ending] = self._loop.create_future()
        self._callers[request_id] = caller
        if self._is_stopped:
            self._settle(self._table.stop())
        self._wake_fetcher(function)
        self._schedule()
        try:
            return await caller
        finally:
            del self._callers[request_id]
            self._table.abandon(request_id)  # ignored after the end

    # --- topologies -----------------------------------------------------------------------------

    async def fetch(self, function: str, most: int, wait_secs: float) -> list[Request]:
        """Up to the given number of requests; waits for the first if none is available."""
        most = max(1, min(most, FETCH_MAX))
        requests = self._table.fetch(function, most, self._loop.time())
        if requests or wait_secs <= 0 or self._is_stopped:
            return requests
        await self._call_or_timeout(function, min(wait_secs, FETCH_SECS_MAX))
        return self._table.fetch(function, most, self._loop.time())

    async def _call_or_timeout(self, function: str, wait_secs: float) -> None:
        fetcher: asyncio.Future[None] = self._loop.create_future()
        waiting = self._fetchers.setdefault(function, deque())
        waiting.append(fetcher)
        try:
            await asyncio.wait([fetcher], timeout=wait_secs)
        except asyncio.CancelledError:
            if fetcher.done():
                self._wake_fetcher(function)  # the call is another one's
            raise
        finally:
            if fetcher in waiting:
                waiting.remove(fetcher)
            if not waiting and self._fetchers.get(function) is waiting:
                del self._fetchers[function]

    def put_back(self, function: str, requests: list[Request]) -> None:
        """They could not be sent."""
        self._table.put_back(requests)
        self._wake_fetcher(function)

    def result(self, request_id: str, text: str) -> None:
        """A topology has a result."""
        self._settle_one(self._table.result(request_id, text, self._loop.time()))

    def fail(self, request_id: str, why: str | None) -> None:
        """A topology has none."""
        self._settle_one(self._table.fail(request_id, why, self._loop.time()))
        self._schedule()

    # --- the rest -------------------------------------------------------------------------------

    def stop(self) -> int:
        """End all calls, present and future; returns the number of open calls."""
        self._is_stopped = True
        endings = self._table.stop()
        self._settle(endings)
        for waiting in self._fetchers.values():
            for fetcher in waiting:
                if not fetcher.done():
                    fetcher.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
        return len(endings)

    @property
    def counts(self) -> RequestCounts:
        """Since it has begun."""
        return self._table.counts

    @property
    def pending(self) -> int:
        """Open calls."""
        return self._table.pending

    @property
    def limits(self) -> RequestLimits:
        """Limits of accepted calls."""
        return self._table.limits

    def functions(self) -> list[FunctionState]:
        """Functions served or called."""
        return self._table.functions(self._loop.time())

    def validate(self) -> None:
        """AssertionError if the parts do not fit together."""
        self._table.validate()
        assert len(self._callers) >= self._table.pending

    def _wake_fetcher(self, function: str) -> None:
        for fetcher in self._fetchers.get(function, ()):
            if not fetcher.done():
                fetcher.set_result(None)
                return

    def _settle_one(self, ending: Ending | None) -> None:
        if ending is not None:
            self._settle([ending])

    def _settle(self, endings: Iterable[Ending]) -> None:
        for ending in endings:
            caller = self._callers.get(ending.id)
            if caller is not None and not caller.done():
                caller.set_result(ending)

    def _schedule(self) -> None:
        """Come again when the next call's time is over."""
        due = self._table.next_deadline
        if due is None or (self._timer is not None and self._timer.when() <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._expire)

    def _expire(self) -> None:
        self._timer = None
        # A timer may come a little early, by the resolution of the clock.
        self._settle(self._table.expire(self._loop.time() + 1e-3))
        self._schedule()
