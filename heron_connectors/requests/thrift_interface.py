"""What both sides of the DRPC services know: methods, structs and the limit of a frame. Pure.

Method names, numbers of fields and exceptions are those of Storm's storm.thrift, but for three
methods of ours. `authenticate` comes first on a connection where the server wants a token.
`awaitRequests` waits for requests and brings several, where Storm's `fetchRequest` is repeated a
thousand times a second. `returnResults` takes those that have come together. A server of Storm's
answers each of them with an unknown method.
"""

from collections.abc import Mapping
from typing import Any

from heron_core.errors import HeronError
from heron_core.thrift.calls import AuthorizationException, ThriftMethod, arguments
from heron_core.thrift.structs import I32, Bytes, ListOf, Reader, Struct, fields

AUTHENTICATE = "authenticate"
AWAIT_REQUESTS = "awaitRequests"
RETURN_RESULTS = "returnResults"

INTERNAL_ERROR, SERVER_SHUTDOWN, SERVER_TIMEOUT, FAILED_REQUEST = range(4)
"""Storm's DRPCExceptionType."""
FRAMES_OF_TEXT = 4
"""Ratio of frame limit to text limit: a result above the text limit fails its call by name; a
frame above the frame limit closes the connection."""
TEXT = Bytes(True, errors="replace")
"""Invalid surrogates in a result are replaced by a question mark for the waiting caller."""


class DRPCExecutionException(Struct, HeronError):
    """A call has no result; `type` is a number of Storm's DRPCExceptionType."""

    FIELDS = fields((1, "msg", TEXT, True), (2, "type", I32))

    def __init__(self, msg: str, type: int = FAILED_REQUEST) -> None:  # noqa: A002 (Thrift's name)
        """Reason and kind of a failure."""
        super().__init__(msg, type)

    @classmethod
    def read(cls, data: Reader) -> Any:
        """See Struct; an error without its kind is the topology's."""
        error = super().read(data)
        if error.type is None:
            error.type = FAILED_REQUEST
        return error

    def __str__(self) -> str:
        return str(self.msg)


class DRPCRequest(Struct):
    """A request that a topology fetches."""

    FIELDS = fields((1, "func_args", TEXT, True), (2, "request_id", TEXT, True))


class DRPCResult(Struct):
    """A result within a list."""

    FIELDS = fields((1, "id", TEXT, True), (2, "result", TEXT, True))


_FAILS = (DRPCExecutionException, AuthorizationException)
_MAY_NOT = (AuthorizationException,)
_FUNCTION = (1, "functionName", TEXT, True)
_ID = (1, "id", TEXT, True)
_OF_RESULT = arguments(_ID, (2, "result", TEXT, True))

METHODS: Mapping[str, ThriftMethod] = {
    AUTHENTICATE: ThriftMethod(arguments((1, "token", TEXT, True)), None, _MAY_NOT),
    "execute": ThriftMethod(arguments(_FUNCTION, (2, "funcArgs", TEXT, True)), TEXT, _FAILS),
    "fetchRequest": ThriftMethod(arguments(_FUNCTION), DRPCRequest, _MAY_NOT),
    AWAIT_REQUESTS: ThriftMethod(
        arguments(_FUNCTION, (2, "most", I32, True), (3, "waitMillis", I32, True)),
        ListOf(DRPCRequest),
        _MAY_NOT,
    ),
    "result": ThriftMethod(_OF_RESULT, None, _MAY_NOT),
    RETURN_RESULTS: ThriftMethod(
        arguments((1, "results", ListOf(DRPCResult), True)), None, _MAY_NOT
    ),
    "failRequest": ThriftMethod(arguments(_ID), None, _MAY_NOT),
    "failRequestV2": ThriftMethod(arguments(_ID, (2, "e", DRPCExecutionException)), None, _MAY_NOT),
}
"""Processor of both services; the server decides which service a port offers."""
