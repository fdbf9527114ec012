"""Storm's two DRPC services: what callers ask (DistributedRPC), and what topologies do
(DistributedRPCInvocations). `thrift_interface.py` has their methods.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from heron_connectors.requests.service import RequestService
from heron_connectors.requests.table import CallRefused, CallState, Ending, Overloaded, Request
from heron_connectors.requests.thrift_interface import (
    AWAIT_REQUESTS,
    FAILED_REQUEST,
    INTERNAL_ERROR,
    RETURN_RESULTS,
    SERVER_SHUTDOWN,
    SERVER_TIMEOUT,
    DRPCExecutionException,
    DRPCRequest,
)

EXCEPTION_TYPES = {
    CallState.FAILED: FAILED_REQUEST,
    CallState.UNSERVED: FAILED_REQUEST,
    CallState.TOO_LARGE: INTERNAL_ERROR,
    CallState.TIMED_OUT: SERVER_TIMEOUT,
    CallState.STOPPED: SERVER_SHUTDOWN,
}
"""Outcome of a call -> Storm's error type."""

Given = Mapping[str, Any]
Handler = Callable[[Given], Any]
"""Name of an argument -> value; the result, or an awaitable of it."""


NO_REQUEST = Request("", "")
"""Answer of Storm's server without a request."""


class CallerService:
    """The DistributedRPC service of one connection."""

    def __init__(self, service: RequestService) -> None:
        self._service = service
        self.methods: dict[str, Handler] = {"execute": self._execute}

    async def _execute(self, given: Given) -> str:
        try:
            ending = await self._service.execute(given["functionName"], given["funcArgs"])
        except CallRefused as error:
            kind = FAILED_REQUEST if isinstance(error, Overloaded) else INTERNAL_ERROR
            raise DRPCExecutionException(str(error), kind) from None
        return result_of(ending)


def result_of(ending: Ending) -> str:
    """The result of `execute`; DRPCExecutionException for a failure."""
    if ending.is_answer:
        return ending.text
    raise DRPCExecutionException(ending.text, EXCEPTION_TYPES[ending.state])


class TopologyService:
    """The DistributedRPCInvocations service of one connection."""

    def __init__(self, service: RequestService, is_open: Callable[[], bool]) -> None:
        """`is_open`: whether the connection takes an answer still."""
        self._service = service
        self._is_open = is_open
        self.methods: dict[str, Handler] = {
            "fetchRequest": self._fetch_request,
            AWAIT_REQUESTS: self._await_requests,
            "result": self._result,
            RETURN_RESULTS: self._results,
            "failRequest": self._fail_request,
            "failRequestV2": self._fail_request,
        }

    async def _fetch_request(self, given: Given) -> DRPCRequest:
        requests = await self._service.fetch(given["functionName"], 1, 0)
        return _as_struct(requests[0] if requests else NO_REQUEST)

    async def _await_requests(self, given: Given) -> list[DRPCRequest]:
        function, wait_secs = given["functionName"], given["waitMillis"] / 1000
        requests = await self._service.fetch(function, given["most"], wait_secs)
        if not self._is_open():
            self._service.put_back(function, requests)
        return [_as_struct(request) for request in requests]

    def _result(self, given: Given) -> None:
        self._service.result(given["id"], given["result"])

    def _results(self, given: Given) -> None:
        for result in given["results"]:
            self._service.result(result.id, result.result)

    def _fail_request(self, given: Given) -> None:
        error = given.get("e")
        self._service.fail(given["id"], None if error is None else error.msg)


def _as_struct(request: Request) -> DRPCRequest:
    return DRPCRequest(request.arguments, request.id)


class TokenGate:
    """Whether a connection is authorised: always without a token, else after the token was sent."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self.is_passed = token is None

    def present(self, given: str) -> None:
        """The connection says a token."""
        self.is_passed = self._token is None or secrets.compare_digest(
            given.encode(), self._token.encode()
        )
