"""Requests over HTTP, as Storm's DRPC server takes them, and what the server says of itself.

    POST /drpc/FUNCTION           the body is the arguments, the answer's body is the result
    GET /drpc/FUNCTION/ARGUMENTS  the same; without the last part the arguments are empty
    GET /functions                what is served and called, as JSON
    GET /metrics                  counts in Prometheus' text format
    GET /health                   whether the server runs

An error is JSON with the members `error` and `errorMessage`, as Storm's.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Struct

from heron_connectors.requests.options import RequestServerOptions
from heron_connectors.requests.service import RequestService
from heron_connectors.requests.table import (
    ArgumentsTooLarge,
    CallRefused,
    CallState,
    Ending,
    Overloaded,
)
from heron_core.loopback import host_of, is_loopback

ERRORS = {
    CallState.FAILED: (400, "FAILED_REQUEST"),
    CallState.UNSERVED: (404, "FAILED_REQUEST"),
    CallState.TOO_LARGE: (500, "INTERNAL_ERROR"),
    CallState.TIMED_OUT: (504, "SERVER_TIMEOUT"),
    CallState.STOPPED: (503, "SERVER_SHUTDOWN"),
}
"""Status codes and texts of Storm; Storm lacks a status for an unserved function."""
REFUSALS: dict[type[CallRefused], tuple[int, str]] = {
    Overloaded: (429, "OVERLOADED"),
    ArgumentsTooLarge: (413, "ARGUMENTS_TOO_LARGE"),
}
RETRY_SECS = b"1"
"""What a caller is told that comes while the queue is full."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class HttpCounts(Struct):
    """Since a server has begun."""

    refused: int = 0
    """Requests without the token, of another site's page, or for another name."""
    malformed: int = 0
    """Requests rejected with 400, 404, 405 or 413 before a call started."""


class HttpAnswer(Struct, frozen=True):
    """A response."""

    status: int
    body: bytes
    content_type: bytes = b"text/plain; charset=utf-8"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Unacceptable(Exception):
    """A request that is no call."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class CallerGone(Exception):
    """The connection has ended."""


def error_answer(status: int, error: str, text: str) -> HttpAnswer:
    """An error, as Storm's server writes it."""
    body = msgspec.json.encode({"error": error, "errorMessage": text})
    headers = ((b"retry-after", RETRY_SECS),) if status == 429 else ()
    return HttpAnswer(status, body, b"application/json", headers)


def answer_of(ending: Ending) -> HttpAnswer:
    """The end of a call."""
    if ending.is_answer:
        return HttpAnswer(200, ending.text.encode("utf-8", "replace"))
    status, error = ERRORS[ending.state]
    return error_answer(status, error, ending.text)


def refusal(headers: Mapping[str, str], options: RequestServerOptions) -> tuple[int, str] | None:
    """Why a request may not pass; names of headers in small letters. On loopback a browser must not
    be a way in: names that are not this machine's, and pages of other sites, are refused."""
    if options.token is not None:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not secrets.compare_digest(
            given.strip().encode("utf-8", "replace"), options.token.encode()
        ):
            return 401, "send the server's token: `Authorization: Bearer TOKEN`"
    elif is_loopback(options.host) and not is_loopback(host_of(headers.get("host", ""))):
        return 421, "this server accepts local requests only: use 127.0.0.1 or localhost"
    site = headers.get("sec-fetch-site", "none")
    origin = headers.get("origin")
    is_own = origin is None or origin.partition("://")[2] == headers.get("host", "")
    if site not in ("same-origin", "none") or not is_own:
        return 403, "requests from the pages of other sites are rejected"
    return None


def call_of(method: str, raw_path: bytes) -> tuple[str, str | None]:
    """Function and arguments of a request below /drpc/; None: the arguments are the body."""
    parts = raw_path.split(b"/", 3)
    try:
        function, *rest = (unquote_to_bytes(part).decode() for part in parts[2:])
    except (UnicodeDecodeError, ValueError):
        raise Unacceptable(400, "the path is not UTF-8") from None
    if not function:
        raise Unacceptable(404, "name a function: /drpc/FUNCTION")
    if method == "POST" and not rest:
        return function, None
    if method == "GET":
        return function, rest[0] if rest else ""
    raise Unacceptable(405, "POST /drpc/FUNCTION or GET /drpc/FUNCTION/ARGUMENTS")


class RequestApplication:
    """The routes, as an ASGI server calls them."""

    def __init__(
        self, service: RequestService, options: RequestServerOptions, metrics: Callable[[], str]
    ) -> None:
        self.counts = HttpCounts()
        self._service = service
        self._options = options
        self._metrics = metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refused = refusal(headers, self._options)
        try:
            if refused is not None:
                self.counts.refused += 1
                answer = error_answer(refused[0], "REFUSED", refused[1])
            else:
                answer = await self._answer(scope, receive)
        except Unacceptable as error:
            self.counts.malformed += 1
            answer = error_answer(error.status, "BAD_REQUEST", str(error))
        except CallerGone:
            return
        await _send(answer, send)

    async def _answer(self, scope: Mapping[str, Any], receive: Receive) -> HttpAnswer:
        path, method = scope["raw_path"], scope["method"]
        if path.startswith(b"/drpc/"):
            function, arguments = call_of(method, path)
            if arguments is None:
                arguments = await self._body(receive)
            return await self._call(function, arguments, receive)
        if method != "GET":
            raise Unacceptable(405, "only GET is known here")
        match path:
            case b"/functions":
                functions = msgspec.json.encode(self._service.functions())
                return HttpAnswer(200, functions, b"application/json")
            case b"/metrics":
                return HttpAnswer(200, self._metrics().encode())
            case b"/health":
                return HttpAnswer(200, b"ok")
        raise Unacceptable(404, "routes: /drpc/FUNCTION, /functions, /metrics, /health")

    async def _body(self, receive: Receive) -> str:
        most = self._service.limits.text_bytes_max
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise CallerGone
            body += message.get("body", b"")
            if len(body) > most:
                raise Unacceptable(413, f"the arguments of a call have at most {most} bytes")
            if not message.get("more_body", False):
                break
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise Unacceptable(400, "the arguments are not UTF-8") from None

    async def _call(self, function: str, arguments: str, receive: Receive) -> HttpAnswer:
        """Cancel the call of a disconnected caller."""
        call = asyncio.ensure_future(self._service.execute(function, arguments))
        gone = asyncio.ensure_future(_disconnect(receive))
        try:
            await asyncio.wait((call, gone), return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                raise CallerGone
            return answer_of(call.result())
        except CallRefused as error:
            return error_answer(*REFUSALS[type(error)], str(error))
        finally:
            for task in (call, gone):
                task.cancel()
            with suppress(asyncio.CancelledError, CallRefused):
                await call


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(answer: HttpAnswer, send: Send) -> None:
    headers = [
        (b"content-type", answer.content_type),
        (b"content-length", str(len(answer.body)).encode()),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
