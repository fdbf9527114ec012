"""The open calls of a request server. Pure: time is an argument.

A call waits in the queue of its function until a topology fetches it; from then on it waits for its
result. It ends exactly once: by a result, by an error, or by its deadline. What ends it is handed
over as an `Ending`, and the call is forgotten, so that a result that comes later is of no call, and
is counted as that.

A function is served if some topology asks for it. Calls of one for which no topology asks wait a
shorter time: a topology that is being started again is not missed, and a misspelt name does not
wait for the whole time-out.
"""

import heapq
from collections import OrderedDict, deque

from msgspec import Struct

from heron_api.requests.basic_bolt import FAILED_TEXT
from heron_core.transitions import MachineState, Transitions

CALLS_MAX = 4096
"""Of one function, waiting to be fetched: further ones are refused. Four times the thousand calls
at once that a server is measured with."""
PENDING_BYTES_MAX = 256 * 1024 * 1024
"""Total size of open calls' arguments over all functions, so that invented function names do not
fill memory."""
PENDING_MAX = 4 * CALLS_MAX
"""Of all functions together: a call without arguments takes memory, too."""
FUNCTIONS_MAX = 1000
"""Limit of recently requested function names, evicting the oldest. A topology has a handful of
functions."""
REQUEST_SECS = 600.0
"""Storm's `drpc.request.timeout.secs`."""
REASON_SECS = 1.0
"""How long a failure without a reason waits for the reason: the spout learns that a tuple has
failed, and a bolt, on another way, why. A message of a busy topology takes less."""
UNSERVED_SECS = 30.0
"""A topology that is started again asks within some seconds."""
TEXT_BYTES_MAX = 16 * 1024 * 1024
"""Of the arguments or the result of a call: a frame of Thrift is read as a whole."""

DEADLINES_SPARE = 1000
"""Limit of stale deadlines beyond the number of calls, above which they are removed."""


class CallState(MachineState):
    """How far a call is."""

    WAITING = "waiting to be fetched"
    FETCHED = "fetched, its result is expected"
    UNEXPLAINED = "failed, its reason is expected"
    ANSWERED = "answered"
    FAILED = "failed by the topology"
    TOO_LARGE = "its result is too large"
    TIMED_OUT = "timed out"
    UNSERVED = "no topology serves its function"
    ABANDONED = "its caller is gone"
    STOPPED = "the server ends"


_EITHER = {
    CallState.TIMED_OUT: "its time-out has passed",
    CallState.ABANDONED: "the connection of its caller has ended",
    CallState.STOPPED: "the server ends",
}
CALL = Transitions(
    "call",
    {CallState.WAITING: "a caller asks, and the queue of the function is not full"},
    {
        CallState.WAITING: {
            CallState.FETCHED: "a topology fetches it",
            CallState.UNSERVED: "no topology has asked for its function meanwhile",
            **_EITHER,
        },
        CallState.FETCHED: {
            CallState.WAITING: "the connection that fetched it ended before it was sent",
            CallState.ANSWERED: "a result for its id",
            CallState.FAILED: "an error for its id",
            CallState.UNEXPLAINED: "an error for its id, without a reason",
            CallState.TOO_LARGE: "a result for its id, above the limit",
            **_EITHER,
        },
        CallState.UNEXPLAINED: {
            CallState.FAILED: "its reason, or none in time",
            CallState.ABANDONED: _EITHER[CallState.ABANDONED],
            CallState.STOPPED: _EITHER[CallState.STOPPED],
        },
    },
)


class RequestLimits(Struct, frozen=True, kw_only=True):
    """Limits and timeout of a server."""

    request_secs: float = REQUEST_SECS
    unserved_secs: float = UNSERVED_SECS
    calls_max: int = CALLS_MAX
    text_bytes_max: int = TEXT_BYTES_MAX
    pending_max: int = PENDING_MAX
    pending_bytes_max: int = PENDING_BYTES_MAX


class Request(Struct, frozen=True):
    """A request fetched by a topology."""

    id: str
    arguments: str


class Ending(Struct, frozen=True):
    """Outcome of a call: the result, or the reason of failure."""

    id: str
    state: CallState
    text: str

    @property
    def is_answer(self) -> bool:
        """Whether the text is a result."""
        return self.state is CallState.ANSWERED


class CallRefused(Exception):
    """A rejected call; `str(error)` is one line."""


class Overloaded(CallRefused):
    """The queue of the function is full, or the server has as many calls as it takes."""


class ArgumentsTooLarge(CallRefused):
    """The arguments are above the limit."""


class RequestCounts(Struct):
    """Since the server has begun."""

    calls: int = 0
    """Taken; each of them ends as one of the next seven, or has not ended."""
    answered: int = 0
    failed: int = 0
    too_large: int = 0
    timed_out: int = 0
    unserved: int = 0
    abandoned: int = 0
    stopped: int = 0
    overloaded: int = 0
    """Not taken: the queue was full."""
    arguments_too_large: int = 0
    """Not taken."""
    results_late: int = 0
    """Results and errors for ended calls of the server."""
    results_unknown: int = 0
    """Results and errors for ids unknown to the server."""
    answer_secs: float = 0.0
    """From the call to the result, of all that were answered."""


class FunctionState(Struct, frozen=True):
    """Summary of one function."""

    name: str
    waiting: int
    fetched: int
    idle_secs: float | None
    """Time since a topology fetched the function; None: not lately."""


class _Call(Struct):
    id: str
    function: str
    arguments: str
    size_bytes: int
    began: float
    deadline: float
    state: CallState = CallState.WAITING

    def follow(self, state: CallState) -> None:
        self.state = CALL.follow(self.state, state)


class RequestTable:
    """The calls of one server; `life` is unique to the server's process: ids of an earlier
    process are unknown, so a result cannot reach a wrong caller."""

    def __init__(self, limits: RequestLimits, life: str) -> None:
        self.limits = limits
        self.counts = RequestCounts()
        self._life = life
        self._issued = 0
        self._calls: dict[str, _Call] = {}
        self._pending_bytes = 0
        """Total size of the arguments of open calls."""
        self._queues: dict[str, deque[_Call]] = {}
        self._asked: OrderedDict[str, float] = OrderedDict()
        """function -> when a topology has asked for it last, the longest ago first"""
        self._deadlines: list[tuple[float, str]] = []
        """Heap of deadlines, including ended calls until due."""

    # --- callers --------------------------------------------------------------------------------

    def call(self, function: str, arguments: str, now: float) -> str:
        """Accept a call and return its id. CallRefused for a rejected call."""
        size_bytes = len(arguments.encode("utf-8", "surrogatepass"))
        if size_bytes > self.limits.text_bytes_max:
            self.counts.arguments_too_large += 1
            raise ArgumentsTooLarge(
                f"the arguments of a call have at most {self.limits.text_bytes_max} bytes"
            )
        if problem := self._overload(function, size_bytes):
            self.counts.overloaded += 1
            raise Overloaded(problem)
        self._issued += 1
        self.counts.calls += 1
        CALL.begin(CallState.WAITING)
        deadline = now + self.limits.request_secs
        call = _Call(f"{self._life}-{self._issued}", function, arguments, size_bytes, now, deadline)
        self._calls[call.id] = call
        self._pending_bytes += size_bytes
        self._queues.setdefault(function, deque()).append(call)
        first_check = min(deadline, now + self.limits.unserved_secs)
        heapq.heappush(self._deadlines, (first_check, call.id))
        return call.id

    def _overload(self, function: str, size_bytes: int) -> str:
        """Reason for the refusal of a call; empty for an accepted call."""
        waiting, limits = len(self._queues.get(function, ())), self.limits
        if waiting >= limits.calls_max:
            return f"{waiting} calls of {function!r:.100} wait already, which is the limit"
        if len(self._calls) >= limits.pending_max:
            return f"{len(self._calls)} calls of all functions are not answered, which is the limit"
        if self._pending_bytes + size_bytes > limits.pending_bytes_max:
            return (
                f"the arguments of calls that are not answered have {self._pending_bytes} bytes,"
                f" and {limits.pending_bytes_max} is the limit"
            )
        return ""

    def abandon(self, request_id: str) -> None:
        """Forget a call without a caller."""
        if (call := self._calls.get(request_id)) is not None:
            self._end(call, CallState.ABANDONED, "the caller is gone")

    # --- topologies -----------------------------------------------------------------------------

    def fetch(self, function: str, most: int, now: float) -> list[Request]:
        """Up to so many calls of a function, the oldest first."""
        self._asked[function] = now
        self._asked.move_to_end(function)
        if len(self._asked) > FUNCTIONS_MAX:
            self._asked.popitem(last=False)
        queue = self._queues.get(function)
        requests: list[Request] = []
        while queue and len(requests) < most:
            call = queue.popleft()
            call.follow(CallState.FETCHED)
            requests.append(Request(call.id, call.arguments))
        if queue is not None and not queue:
            del self._queues[function]
        return requests

    def put_back(self, requests: list[Request]) -> None:
        """Requeue calls whose delivery to the fetching topology failed, at the front."""
        for request in reversed(requests):
            call = self._calls.get(request.id)
            if call is not None and call.state is CallState.FETCHED:
                call.follow(CallState.WAITING)
                self._queues.setdefault(call.function, deque()).appendleft(call)

    def result(self, request_id: str, text: str, now: float) -> Ending | None:
        """Accept a result; None for an unknown or ended call."""
        call = self._fetched(request_id)
        if call is None:
            return None
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > self.limits.text_bytes_max:
            most = self.limits.text_bytes_max
            return self._end(
                call, CallState.TOO_LARGE, f"the result has {size} bytes, and {most} is the limit"
            )
        self.counts.answer_secs += now - call.began
        return self._end(call, CallState.ANSWERED, text)

    def fail(self, request_id: str, why: str | None, now: float) -> Ending | None:
        """Accept a failure. Without a reason the call ends `REASON_SECS` later, or by a failure
        with a reason until then; None also for an unknown or ended call."""
        call = self._fetched(request_id, is_failure=True)
        if call is None:
            return None
        if why is not None:
            return self._end(call, CallState.FAILED, why)
        if call.state is CallState.FETCHED:
            call.follow(CallState.UNEXPLAINED)
            call.deadline = now + REASON_SECS
            heapq.heappush(self._deadlines, (call.deadline, call.id))
        return None

    # --- time -----------------------------------------------------------------------------------

    @property
    def next_deadline(self) -> float | None:
        """When `expire` has something to do, at the earliest; None: never."""
        return self._deadlines[0][0] if self._deadlines else None

    def expire(self, now: float) -> list[Ending]:
        """The calls whose time is over by now."""
        endings = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, request_id = heapq.heappop(self._deadlines)
            call = self._calls.get(request_id)
            if call is None:
                continue
            if now >= call.deadline and call.state is CallState.UNEXPLAINED:
                endings.append(self._end(call, CallState.FAILED, FAILED_TEXT))
            elif now >= call.deadline:
                endings.append(self._end(call, CallState.TIMED_OUT, "Timed Out"))
            elif call.state is CallState.WAITING and not self._is_asked_since(call):
                endings.append(self._end(call, CallState.UNSERVED, self._unserved_text(call)))
            else:
                heapq.heappush(self._deadlines, (call.deadline, request_id))
        return endings

    def settle(self) -> list[Ending]:
        """End the failed calls that wait for their reason: it will not come."""
        return [
            self._end(call, CallState.FAILED, FAILED_TEXT)
            for call in list(self._calls.values())
            if call.state is CallState.UNEXPLAINED
        ]

    def _unserved_text(self, call: _Call) -> str:
        return (
            f"the function {call.function!r:.100} is not served: no topology has asked for it in"
            f" {self.limits.unserved_secs:g} s"
        )

    def _is_asked_since(self, call: _Call) -> bool:
        return self._asked.get(call.function, call.began - 1) >= call.began

    def stop(self) -> list[Ending]:
        """The server ends: so do all calls."""
        return [
            self._end(call, CallState.STOPPED, "Server Shutting Down")
            for call in list(self._calls.values())
        ]

    # --- statistics -------------------------------------------------------------------------------

    def functions(self, now: float) -> list[FunctionState]:
        """Functions fetched lately or called, by name."""
        fetched: dict[str, int] = {}
        for call in self._calls.values():
            is_fetched = call.state is CallState.FETCHED
            fetched[call.function] = fetched.get(call.function, 0) + is_fetched
        names = sorted(self._asked.keys() | fetched.keys())
        return [
            FunctionState(
                name,
                len(self._queues.get(name, ())),
                fetched.get(name, 0),
                now - self._asked[name] if name in self._asked else None,
            )
            for name in names
        ]

    @property
    def pending(self) -> int:
        """Number of open calls."""
        return len(self._calls)

    def validate(self) -> None:
        """AssertionError if the parts do not fit together."""
        counts = self.counts
        ended = (
            counts.answered + counts.failed + counts.too_large + counts.timed_out
            + counts.unserved + counts.abandoned + counts.stopped
        )  # fmt: skip
        assert counts.calls == ended + len(self._calls)
        assert self._pending_bytes == sum(call.size_bytes for call in self._calls.values())
        queued = {call.id for queue in self._queues.values() for call in queue}
        waiting = {call.id for call in self._calls.values() if call.state is CallState.WAITING}
        assert queued == waiting, (queued, waiting)
        assert all(self._queues.values()), "an empty queue is dropped"
        assert self._calls.keys() <= {request_id for _, request_id in self._deadlines}

    def _fetched(self, request_id: str, is_failure: bool = False) -> _Call | None:
        call = self._calls.get(request_id)
        if call is not None and (
            call.state is CallState.FETCHED or (is_failure and call.state is CallState.UNEXPLAINED)
        ):
            return call
        life, _, number = request_id.rpartition("-")
        is_ours = (
            life == self._life and number.isdecimal() and len(number) <= len(str(self._issued))
        )
        is_over = call is None or call.state is CallState.UNEXPLAINED
        if is_ours and is_over and 0 < int(number) <= self._issued:
            self.counts.results_late += 1
        else:
            self.counts.results_unknown += 1
        return None

    def _end(self, call: _Call, state: CallState, text: str) -> Ending:
        if call.state is CallState.WAITING:
            queue = self._queues[call.function]
            queue.remove(call)
            if not queue:
                del self._queues[call.function]
        call.follow(state)
        del self._calls[call.id]
        self._pending_bytes -= call.size_bytes
        if len(self._deadlines) > 2 * len(self._calls) + DEADLINES_SPARE:
            self._deadlines = [each for each in self._deadlines if each[1] in self._calls]
            heapq.heapify(self._deadlines)
        name = state.name.lower()
        setattr(self.counts, name, getattr(self.counts, name) + 1)
        return Ending(call.id, state, text)
