"""Composition of routes: authorisation, errors in each API's format, metrics."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from heron_core.errors import HeronError
from heron_core.operations import Way
from heron_core.version import version_of_heronpy
from heron_tracker.access_log import AccessLog, LoggedRequest
from heron_tracker.auth.access import (
    ABOUT_THE_SITE,
    CALLER,
    LOGIN,
    LOGIN_AT_ISSUER,
    LOGS_IN,
    WEBSOCKET,
    Caller,
    Identify,
    Refusal,
    body_bytes_max,
    caller_of,
    caller_of_token,
    needs_login,
    refusal,
    topology_acted_on,
)
from heron_tracker.auth.login import login_router
from heron_tracker.auth.sessions import Sessions
from heron_tracker.auth.topology_access import VISITOR, Visitor
from heron_tracker.envelope import BadRequest, encoded, failure, status_of, storm_failure
from heron_tracker.heron_api.routes import EnvelopeResponse, heron_router, metrics_router
from heron_tracker.log_level_routes import log_level_router
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.operator_routes import operator_router
from heron_tracker.options import TrackerOptions
from heron_tracker.pages.mounting import CLOSE_POLICY, WithPages
from heron_tracker.query_routes import query_router
from heron_tracker.rights import RefusalEvents, by_rights
from heron_tracker.sample_routes import sample_router
from heron_tracker.service import Service
from heron_tracker.storm_api.routes import PREFIX, problems_router, storm_router
from heron_tracker.submit_routes import submit_router

if TYPE_CHECKING:
    from heron_tracker.auth.open_id import OpenIdIssuer

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
PROCESS_TIME = b"x-process-time"
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def application(service: Service, options: TrackerOptions) -> "Guard":
    """The whole, as an ASGI server takes it."""
    app = FastAPI(
        title="heronpy", version=version_of_heronpy(), docs_url=None, redoc_url=None,
        description="Heron's tracker, Storm's UI REST, OpenMetrics and problems.",
    )  # fmt: skip
    app.include_router(metrics_router(service))
    app.include_router(heron_router(service))
    app.include_router(storm_router(service))
    app.include_router(problems_router(service))
    app.include_router(sample_router(service))
    app.include_router(query_router(service))
    app.include_router(operator_router(service))
    app.include_router(log_level_router(service))
    app.include_router(submit_router(service, options))
    _add_pages(app)
    for kind in (HeronError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _failed)
    issuer, sessions = issuer_of(options), Sessions(time.monotonic)
    identify = identifier(options, issuer, sessions)
    if needs_login(options):
        app.include_router(_logins(options, identify, issuer, sessions))

    refusals = RefusalEvents(service.ask_master)

    def refused_action(headers: Mapping[str, str], topology: str) -> str:
        given = as_from_a_page(headers)
        refused = refusal("POST", "/", given, options, caller_of("/", given, options, identify))
        snapshot, visitor = service.known(topology), VISITOR.get()
        if snapshot is not None and visitor is not None:
            refused = by_rights(refused, snapshot, visitor)
            if refused is not None and refused.status == 403:
                refusals.tell(snapshot.name, "an action of a page", visitor, Way.PAGE)
        return "" if refused is None else refused.text

    log = AccessLog(options.access_log)
    pages = WithPages(app, service, refused_action)
    return Guard(pages, options, identify, log, service.known, refusals)


def _logins(
    options: TrackerOptions, identify: Identify, issuer: "OpenIdIssuer | None", sessions: Sessions
) -> APIRouter:
    flow = None
    if issuer is not None and options.open_id is not None and options.open_id.client:
        from heron_tracker.auth.code_flow import CodeFlow  # requires optional packages

        flow = CodeFlow(options.open_id, issuer, sessions)
    return login_router(identify, options.certificate is not None, sessions, flow)


def as_from_a_page(headers: Mapping[str, str]) -> dict[str, str]:
    """Origin of a page request: a link on another site may lead to the page, but later actions
    use the page's own websocket."""
    return {name: value for name, value in headers.items() if name not in ABOUT_THE_SITE}


def _failed(request: Request, error: Exception) -> Response:
    """One line, as Heron or Storm tells errors."""
    status, text = _described(error)
    return _refused(request.url.path, status, text, request.state.began)


def _described(error: Exception) -> tuple[int, str]:
    if isinstance(error, RequestValidationError):
        wrong = [f"{each['loc'][-1]}: {each['msg']}" for each in error.errors()]
        return 400, "; ".join(wrong)[:500]
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    return status_of(error), str(error)


def _refused(path: str, status: int, text: str, began: float) -> Response:
    if path.startswith(PREFIX):
        kind = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}
        content = storm_failure(text, kind.get(status, "Error"))
    else:
        content = failure(text, time.perf_counter() - began)
    return EnvelopeResponse(encoded(content), status)


def _add_pages(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    def docs() -> Response:
        """The routes, without anything from outside."""
        return HTMLResponse(routes_page(app.openapi()))

    @app.get("/health", tags=["Heron"])
    def health() -> Response:
        """Whether the service runs."""
        return Response("ok", media_type="text/plain")


def routes_page(schema: dict[str, Any]) -> str:
    """A table of the routes of an OpenAPI schema, as HTML."""
    rows = [
        f"<tr><td>{method.upper()}</td><td><code>{escape(path)}</code></td>"
        f"<td>{escape(', '.join(entry['name'] for entry in route.get('parameters', ())))}</td>"
        f"<td>{escape(route.get('description', ''))}</td></tr>"
        for path, methods in schema["paths"].items()
        for method, route in methods.items()
    ]
    return (
        "<!doctype html><meta charset=utf-8><title>heronpy</title>"
        "<style>body{font-family:sans-serif}td{padding:.2em .6em;vertical-align:top}</style>"
        '<h1>heronpy</h1><p>As OpenAPI: <a href="openapi.json">openapi.json</a></p>'
        f"<table>{''.join(rows)}</table>"
    )


class Guard:
    """Rejects unauthorised requests before reading their bodies, and logs each request."""

    def __init__(
        self,
        app: Application,
        options: TrackerOptions,
        identify: Identify,
        log: AccessLog,
        known: Callable[[str], TopologySnapshot | None],
        refusals: RefusalEvents,
    ) -> None:
        """`known`: topology by name or id, or None."""
        self._app = app
        self._known = known
        self._refusals = refusals
        self._log = log
        self._options = options
        self._identify = identify

    def close(self) -> None:
        """Close the access log, after the last request."""
        self._log.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        state = scope.setdefault("state", {})
        state["began"], state[LOGS_IN] = began, needs_login(self._options)
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        caller = await self._caller(scope["path"], headers)
        state[CALLER] = caller
        logged = LoggedRequest.of(scope, caller, began)
        visitor = VISITOR.set(_visitor(scope, caller))
        try:
            await self._answer(scope, headers, receive, self._log.watched(logged, send), caller)
        finally:
            VISITOR.reset(visitor)
            self._log.write(logged)

    async def _answer(
        self,
        scope: Scope,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
        caller: Caller | None,
    ) -> None:
        began = scope["state"]["began"]
        method, path = scope.get("method", WEBSOCKET), scope["path"]
        refused = refusal(method, path, headers, self._options, caller)
        refused = self._by_rights(refused, method, path, scope.get("query_string", b""))
        if refused is None:
            await self._app(
                scope, _Limited(receive, body_bytes_max(method, path)), _timed(send, began)
            )
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": CLOSE_POLICY, "reason": refused.text})
        else:
            await self._refuse(refused, scope, receive, send, began)

    def _by_rights(
        self, refused: Refusal | None, method: str, path: str, query: bytes
    ) -> Refusal | None:
        """Apply the rights of the topology to an action; a refusal is an event."""
        name, visitor = topology_acted_on(method, path, query.decode("latin-1")), VISITOR.get()
        snapshot = self._known(name) if name is not None else None
        if snapshot is None or visitor is None:
            return refused
        refused = by_rights(refused, snapshot, visitor)
        if refused is not None and refused.status == 403:
            self._refusals.tell(snapshot.name, f"{method} {path}", visitor, Way.REST)
        return refused

    async def _caller(self, path: str, headers: Mapping[str, str]) -> Caller | None:
        """In a thread where an issuer may have to be asked."""
        arguments = (path, headers, self._options, self._identify)
        if self._options.open_id is None:
            return caller_of(*arguments)
        return await asyncio.to_thread(caller_of, *arguments)

    async def _refuse(
        self, refused: Refusal, scope: Scope, receive: Receive, send: Send, began: float
    ) -> None:
        response: Response = _refused(scope["path"], refused.status, refused.text, began)
        if refused.status == 401:
            if "text/html" in _accepted(scope):  # a browser
                response = RedirectResponse(self._login(scope), 303)
            response.headers["WWW-Authenticate"] = "Bearer"
        await response(scope, receive, send)

    def _login(self, scope: Scope) -> str:
        """Where a browser logs in."""
        if self._options.open_id is None or not self._options.open_id.client:
            return LOGIN
        query = scope["query_string"].decode("latin-1")
        return f"{LOGIN_AT_ISSUER}?{urlencode({'page': scope['path'] + '?' * bool(query) + query})}"


def _visitor(scope: Scope, caller: Caller | None) -> Visitor | None:
    """The other end of the connection; None for an unknown credential."""
    if caller is None:
        return None
    host, port = scope.get("client") or ("", 0)
    server = scope.get("server") or ("", None)
    return Visitor(caller, str(host), int(port), server[1])


def _timed(send: Send, began: float) -> Send:
    """With the header by which Heron's client tells how long an answer took, in seconds."""

    async def timed(message: Message) -> None:
        if message["type"] == "http.response.start":
            secs = f"{time.perf_counter() - began:.6f}".encode()
            message = {**message, "headers": [*message["headers"], (PROCESS_TIME, secs)]}
        await send(message)

    return timed


def _accepted(scope: Scope) -> str:
    return next((value for name, value in scope["headers"] if name == b"accept"), b"").decode(
        "latin-1"
    )


def issuer_of(options: TrackerOptions) -> "OpenIdIssuer | None":
    """The issuer, if configured."""
    if options.open_id is None:
        return None
    from heron_tracker.auth.open_id import OpenIdIssuer  # requires optional packages

    return OpenIdIssuer(options.open_id)


def identifier(
    options: TrackerOptions, issuer: "OpenIdIssuer | None", sessions: Sessions
) -> Identify:
    """Authentication: by the service's own tokens, by browser sessions, and by the issuer."""

    def identify(credential: str) -> Caller | None:
        known = caller_of_token(credential, options) or sessions.caller_of(credential)
        return known or (issuer.caller_of(credential) if issuer is not None else None)

    return identify


class _Limited:
    """A request's body, as far as it may be long; its header may not have said how long it is."""

    def __init__(self, receive: Receive, bytes_max: int) -> None:
        self._receive = receive
        self._bytes_max = bytes_max
        self._bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._bytes_max:
            raise BadRequest(f"a request has at most {self._bytes_max} bytes")
        return message
