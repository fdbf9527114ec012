"""How answers are wrapped: Heron's envelope, Storm's errors, and JSON that every reader takes."""

import json
import math
from collections.abc import Mapping
from typing import Any

from heron_core.errors import HeronError, StateStoreError, UsageError
from heron_core.state.questions import UnknownState
from heron_core.version import version_of_heronpy
from heron_io.state_queries import (
    AnswerTooLarge,
    NoSuchState,
    QueryTimedOut,
    StateUnavailable,
    TooManyQueries,
)

AGAIN = "try again in a few seconds"
"""Remedy where a process has only just started."""
NO_QUESTIONS = "this server does not ask the topology master of {name}: use the command line"
"""Of a server without connections to topology masters."""
SUCCESS, FAILURE = "success", "failure"


class NotFound(HeronError):
    """The requested object does not exist: status 404."""


class BadRequest(HeronError):
    """The arguments make no sense: answered 400."""


class Forbidden(HeronError):
    """The client has no right on the topology: status 403."""


class Unavailable(HeronError):
    """The object exists but is temporarily unavailable: status 503."""


STATUS_OF: tuple[tuple[type[Exception], int], ...] = (
    (NotFound, 404),
    (BadRequest, 400),
    (Forbidden, 403),
    (Unavailable, 503),
    (StateStoreError, 503),
    (TooManyQueries, 429),
    (QueryTimedOut, 504),
    (StateUnavailable, 503),
    (NoSuchState, 404),
    (UnknownState, 404),
    (AnswerTooLarge, 413),
    (UsageError, 400),
    (HeronError, 409),
)
"""An error -> HTTP status of the answer; the first match is used."""


def status_of(error: Exception) -> int:
    """The HTTP status of the answer to the client that caused the error."""
    return next((status for kind, status in STATUS_OF if isinstance(error, kind)), 500)


def success(result: Any, secs: float) -> dict[str, Any]:
    """Heron's envelope around a result; `secs`: how long it took."""
    return {**_envelope(SUCCESS, "", secs), "result": result}


def failure(message: str, secs: float) -> dict[str, Any]:
    """Heron's envelope around an error."""
    return _envelope(FAILURE, message, secs)


def _envelope(status: str, message: str, secs: float) -> dict[str, Any]:
    return {
        "status": status,
        "version": version_of_heronpy(),
        "executiontime": secs,
        "message": message,
    }


def storm_failure(message: str, kind: str) -> dict[str, Any]:
    """An error as Storm's UI tells it."""
    return {"error": kind, "errorMessage": message}


def encoded(value: Any) -> bytes:
    """JSON; values of user metrics and configs without JSON form become text or null."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"), default=str)
    except (ValueError, TypeError):
        text = json.dumps(_plain(value), allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return str(value)
