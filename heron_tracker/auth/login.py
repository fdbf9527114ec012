"""Browser logins, for browsers without a token header: a form that stores a token in a cookie,
or an OpenID Connect issuer, whose answer opens a session.

The session's cookie is `SameSite=Lax`: with `Strict` a browser returning from the issuer would
not send the cookie. Pages of other sites cannot act with it: actions are rejected by their
origin.
"""

import secrets
from html import escape
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Body, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from heron_core.errors import UsageError
from heron_tracker.auth.access import (
    COOKIE,
    LOGIN,
    LOGIN_AT_ISSUER,
    LOGIN_CALLBACK,
    LOGOUT,
    Identify,
    token_of,
)
from heron_tracker.auth.sessions import LOGIN_SECS, SESSION_SECS, Sessions
from heron_tracker.envelope import BadRequest

if TYPE_CHECKING:
    from heron_tracker.auth.code_flow import CodeFlow

STATE_COOKIE = "heronpy_state"
"""Cookie proving that the returning browser is the redirected browser."""
PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>heronpy</title>"
    "<meta name=viewport content='width=device-width, initial-scale=1'>"
    "<meta name=color-scheme content='light dark'>"
    "<style>html,body{{background:Canvas;color:CanvasText}}"
    "body{{font-family:sans-serif;margin:4em auto;max-width:24em;padding:0 1em}}</style>"
    "<main><h1>heronpy</h1>{issuer}<form method=post><p><label for=token>{text}</label>"
    "<p><input type=password id=token name=token autofocus autocomplete=current-password> "
    "<button>Log in</button></form></main>"
)
AT_ISSUER = f'<p><a href="{LOGIN_AT_ISSUER}">Log in at {{}}</a>'
Text = Annotated[str, Query(max_length=4000)]


def login_router(
    identify: Identify, is_secure: bool, sessions: Sessions, flow: "CodeFlow | None"
) -> APIRouter:
    """The form, the way out, and the way to the issuer; `is_secure`: over TLS."""
    router = APIRouter(include_in_schema=False)
    link = "" if flow is None else AT_ISSUER.format(escape(flow.options.issuer))

    def page(text: str, status: int = 200) -> Response:
        return HTMLResponse(PAGE.format(text=text, issuer=link), status)

    @router.get(LOGIN)
    def form() -> Response:
        """Asks for the token."""
        return page("The service's token:")

    @router.post(LOGIN)
    def log_in(body: Annotated[bytes, Body()] = b"") -> Response:
        """Sets the cookie if the token is somebody's."""
        token = _given(body)
        if identify(token) is None:
            return page("That is not a token of this service.", 401)
        answer = RedirectResponse("/", 303)
        _set(answer, COOKIE, token, "strict", SESSION_SECS, is_secure)
        return answer

    @router.post(LOGOUT)
    def log_out(request: Request) -> Response:
        """Ends the session; the issuer's own goes on."""
        sessions.close(request.cookies.get(COOKIE, ""))
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=is_secure)
        return answer

    if flow is not None:
        _add_issuer(router, flow, is_secure)
    return router


def _add_issuer(router: APIRouter, flow: "CodeFlow", is_secure: bool) -> None:
    scheme = "https" if is_secure else "http"

    @router.get(LOGIN_AT_ISSUER)
    def begin(request: Request, page: Text = "/") -> Response:
        """Sends the browser to the issuer."""
        redirect_uri = f"{scheme}://{request.headers.get('host', '')}{LOGIN_CALLBACK}"
        url, state = flow.begin(redirect_uri, _own(page))
        answer = RedirectResponse(url, 303)
        _set(answer, STATE_COOKIE, state, "lax", LOGIN_SECS, is_secure)
        return answer

    @router.get(LOGIN_CALLBACK)
    def end(request: Request, state: Text = "", code: Text = "", error: Text = "") -> Response:
        """The browser comes back, with a code or with the issuer's reason."""
        is_same = secrets.compare_digest(
            state.encode(), request.cookies.get(STATE_COOKIE, "").encode()
        )
        login = flow.sessions.take(state) if state and is_same else None
        if login is None:
            raise BadRequest("this login was not begun here, or long ago: begin again at /login")
        caller = flow.end(login, code) if code else None
        if caller is None:
            reason = f"{error!r:.100}" if error else "it gives no token for this service"
            return HTMLResponse(
                f'<p>The issuer refuses the login: {escape(reason)}. <a href="{LOGIN}">Again</a>',
                403,
            )
        answer = RedirectResponse(login.leads_to, 303)
        _set(answer, COOKIE, flow.sessions.open(caller), "lax", SESSION_SECS, is_secure)
        answer.delete_cookie(STATE_COOKIE, httponly=True, samesite="lax", secure=is_secure)
        return answer


def _set(
    answer: Response, name: str, value: str, same_site: Literal["lax", "strict"], secs: float,
    is_secure: bool,
) -> None:  # fmt: skip
    answer.set_cookie(
        name, value, max_age=int(secs), httponly=True, samesite=same_site, secure=is_secure
    )


def _own(page: str) -> str:
    """A path of the service; the front page for any other URL."""
    parts = urlsplit(page) if page.isprintable() and "\\" not in page else None
    is_own = parts is not None and page.startswith("/") and not (parts.scheme or parts.netloc)
    return page if is_own and not page.startswith("//") else "/"


def _given(body: bytes) -> str:
    given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
    try:
        return token_of(given, "the form")
    except UsageError as error:
        raise BadRequest(str(error)) from None
