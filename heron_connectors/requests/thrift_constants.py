"""What both sides of the DRPC services know: names, numbers and the limit of a frame. Pure."""

from typing import Any

AUTHENTICATE = "authenticate"
AWAIT_REQUESTS = "awaitRequests"
RETURN_RESULTS = "returnResults"

INTERNAL_ERROR, SERVER_SHUTDOWN, SERVER_TIMEOUT, FAILED_REQUEST = range(4)
"""Storm's DRPCExceptionType."""
UNKNOWN_METHOD = 1
"""Thrift's TApplicationException, as the next one."""
PROTOCOL_ERROR = 7
FRAMES_OF_TEXT = 4
"""A frame may be so many times as long as a text: a result above the limit has its call failed, by
its name; a frame above this one ends its connection."""


def failed(text: str, kind: int) -> dict[int, Any]:
    """A DRPCExecutionException."""
    return {1: text, 2: kind}
