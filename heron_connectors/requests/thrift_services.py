"""Storm's two DRPC services: what callers ask (DistributedRPC), and what topologies do
(DistributedRPCInvocations).

Method names, numbers of fields and texts of errors are Storm's, so that its clients and topologies
find what they expect. Three methods are ours. `authenticate` comes first on a connection where the
server wants a token. `awaitRequests` waits for requests and brings several, where Storm's
`fetchRequest` is repeated a thousand times a second. `returnResults` takes those that have come
together. A server of Storm's answers each of them with an unknown method.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from heron_connectors.requests.service import RequestService
from heron_connectors.requests.table import CallRefused, CallState, Ending, Overloaded, Request
from heron_connectors.requests.thrift_constants import (
    AUTHENTICATE,
    AWAIT_REQUESTS,
    FAILED_REQUEST,
    INTERNAL_ERROR,
    PROTOCOL_ERROR,
    RETURN_RESULTS,
    SERVER_SHUTDOWN,
    SERVER_TIMEOUT,
    failed,
)
from heron_connectors.requests.thrift_messages import (
    MalformedMessage,
    MessageKind,
    ThriftMessage,
    list_of,
    number_of,
    struct_of,
    text_of,
)

EXCEPTION_TYPES = {
    CallState.FAILED: FAILED_REQUEST,
    CallState.UNSERVED: FAILED_REQUEST,
    CallState.TOO_LARGE: INTERNAL_ERROR,
    CallState.TIMED_OUT: SERVER_TIMEOUT,
    CallState.STOPPED: SERVER_SHUTDOWN,
}
"""How a call ends -> what Storm calls it."""

Fields = Mapping[int, Any]
Answer = dict[int, Any]
Method = Callable[[Fields], Answer | Awaitable[Answer]]


def application_error(call: ThriftMessage, kind: int, text: str) -> ThriftMessage:
    """The answer to a call that no method takes."""
    return ThriftMessage(call.method, MessageKind.EXCEPTION, call.number, {1: text, 2: kind})


def request_fields(request: Request) -> dict[int, Any]:
    """A DRPCRequest."""
    return {1: request.arguments, 2: request.id}


NO_REQUEST = Request("", "")
"""What Storm's server answers if there is none."""


class CallerService:
    """DistributedRPC, for one connection."""

    def __init__(self, service: RequestService) -> None:
        self._service = service
        self.methods: dict[str, Method] = {"execute": self._execute}

    async def _execute(self, fields: Fields) -> Answer:
        function, arguments = text_of(fields.get(1)), text_of(fields.get(2))
        try:
            ending = await self._service.execute(function, arguments)
        except CallRefused as error:
            kind = FAILED_REQUEST if isinstance(error, Overloaded) else INTERNAL_ERROR
            return {1: failed(str(error), kind)}
        return answer_of(ending)


def answer_of(ending: Ending) -> Answer:
    """The result of `execute`."""
    if ending.is_answer:
        return {0: ending.text}
    return {1: failed(ending.text, EXCEPTION_TYPES[ending.state])}


class TopologyService:
    """DistributedRPCInvocations, for one connection."""

    def __init__(self, service: RequestService, is_open: Callable[[], bool]) -> None:
        """`is_open`: whether the connection takes an answer still."""
        self._service = service
        self._is_open = is_open
        self.methods: dict[str, Method] = {
            "fetchRequest": self._fetch_request,
            AWAIT_REQUESTS: self._await_requests,
            "result": self._result,
            RETURN_RESULTS: self._results,
            "failRequest": self._fail_request,
            "failRequestV2": self._fail_request_with,
        }

    async def _fetch_request(self, fields: Fields) -> Answer:
        requests = await self._service.fetch(text_of(fields.get(1)), 1, 0)
        return {0: request_fields(requests[0] if requests else NO_REQUEST)}

    async def _await_requests(self, fields: Fields) -> Answer:
        function, most = text_of(fields.get(1)), number_of(fields.get(2))
        requests = await self._service.fetch(function, most, number_of(fields.get(3)) / 1000)
        if not self._is_open():
            self._service.put_back(function, requests)
        return {0: [request_fields(request) for request in requests]}

    def _result(self, fields: Fields) -> Answer:
        self._service.result(text_of(fields.get(1)), text_of(fields.get(2)))
        return {}

    def _results(self, fields: Fields) -> Answer:
        for each in list_of(fields.get(1)):
            self._result(struct_of(each))
        return {}

    def _fail_request(self, fields: Fields) -> Answer:
        self._service.fail(text_of(fields.get(1)), "Request failed")
        return {}

    def _fail_request_with(self, fields: Fields) -> Answer:
        error = struct_of(fields.get(2)) if 2 in fields else {1: b"Request failed"}
        self._service.fail(text_of(fields.get(1)), text_of(error.get(1)))
        return {}


class TokenGate:
    """Whether a connection may call: at once where there is no token, else once it has said it."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self.is_passed = token is None

    def refusal(self, call: ThriftMessage) -> Answer | None:
        """The answer to a call that may not pass, or that says the token; None for all others."""
        if call.method == AUTHENTICATE:
            given = text_of(call.fields.get(1))
            self.is_passed = self._token is None or secrets.compare_digest(
                given.encode(), self._token.encode()
            )
            if self.is_passed:
                return {}
        if self.is_passed:
            return None
        why = f"call {AUTHENTICATE} with this server's token first"
        # Each method numbers its AuthorizationException in its own way: Storm's are these.
        return {2 if call.method == "execute" else 1: {1: why}}


def protocol_error(call: ThriftMessage, error: MalformedMessage) -> ThriftMessage:
    """The answer to a call whose arguments are not those of its method."""
    return application_error(call, PROTOCOL_ERROR, f"{call.method}: {error}")
