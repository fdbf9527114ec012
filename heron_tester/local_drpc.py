"""LocalDRPC: requests to a topology in a TopologyTester."""

from typing import Protocol

from heron_connectors.requests.local import LocalRequests
from heron_connectors.requests.table import CallRefused, Ending, RequestLimits
from heron_connectors.requests.thrift_interface import INTERNAL_ERROR, DRPCExecutionException
from heron_connectors.requests.thrift_services import EXCEPTION_TYPES
from heron_core.errors import UsageError

STEP_SECS = 1.0
"""Of virtual time, while a request is not answered: ticks and time-outs come in it."""
REQUEST_SECS = 60.0


class SteppedTopology(Protocol):
    """What a LocalDRPC does with a TopologyTester."""

    def run_spouts(self) -> int:
        """Take the requests, and deliver."""

    def advance(self, secs: float) -> None:
        """Let virtual time pass."""

    @property
    def now(self) -> float:
        """The virtual time."""


class LocalDRPC:
    """Calls functions of a topology that a TopologyTester runs (Storm: LocalDRPC).

    Example:

        with LocalDRPC() as drpc:
            with TopologyTester(builder.create_local_topology(drpc), drpc=drpc) as tester:
                assert drpc.execute("reach", "foo.com/blog/1") == "16"
    """

    def __init__(self, timeout_secs: float = REQUEST_SECS) -> None:
        """`timeout_secs`: of virtual time."""
        self._requests = LocalRequests(
            RequestLimits(request_secs=timeout_secs, unserved_secs=timeout_secs)
        )
        self._tester: SteppedTopology | None = None

    def __enter__(self) -> "LocalDRPC":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def service_id(self) -> str:
        """Id by which spouts find the service."""
        return self._requests.id

    def attach(self, tester: SteppedTopology | None) -> None:
        """Let calls run this tester."""
        self._tester = tester

    def execute(self, function: str, arguments: str) -> str:
        """The result; DRPCExecutionException for a failed call. Time passes in the tester only if
        the result needs time.
        """
        return self._outcome(self.submit(function, arguments))

    def submit(self, function: str, arguments: str) -> str:
        """Take a call and return its id, for several calls at a time; see `result`.
        DRPCExecutionException if the spout fails."""
        self._now()
        try:
            return self._requests.table.call(function, arguments, self._requests.now)
        except CallRefused as error:
            raise DRPCExecutionException(str(error), INTERNAL_ERROR) from None

    def result(self, request_id: str) -> str:
        """The result of a call; DRPCExecutionException for a failed call."""
        return self._outcome(request_id)

    def close(self) -> None:
        """No spout finds it any more."""
        self._requests.close()

    def _outcome(self, request_id: str) -> str:
        ending = self._ended(request_id)
        if ending.is_answer:
            return ending.text
        raise DRPCExecutionException(ending.text, EXCEPTION_TYPES[ending.state])

    def _ended(self, request_id: str) -> Ending:
        requests, tester = self._requests, self._tester
        if tester is None:
            raise UsageError(
                "a LocalDRPC runs its topology in `with TopologyTester(topology, drpc=drpc)`"
            )
        self._now()
        tester.run_spouts()
        requests.settle()
        while request_id not in requests.endings:
            tester.advance(STEP_SECS)
            self._now()
            requests.expire()
            tester.run_spouts()
            requests.settle()
        return requests.endings.pop(request_id)

    def _now(self) -> None:
        if self._tester is not None:
            self._requests.now = self._tester.now
