"""/login: a form that puts a token into a cookie, for browsers, which send no header."""

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Body
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from heron_core.errors import UsageError
from heron_tracker.access import COOKIE, LOGIN, Identify, token_of
from heron_tracker.envelope import BadRequest

KEPT_SECS = 12 * 3600
"""A day's work."""
PAGE = (
    "<!doctype html><meta charset=utf-8><title>heronpy</title>"
    "<style>body{{font-family:sans-serif;margin:4em auto;max-width:24em}}</style>"
    "<h1>heronpy</h1><form method=post><p>{text}<p><input type=password name=token autofocus "
    "autocomplete=current-password><button>Log in</button></form>"
)


def login_router(identify: Identify, is_secure: bool) -> APIRouter:
    """GET shows the form, POST takes it; `is_secure`: over TLS."""
    router = APIRouter(include_in_schema=False)

    @router.get(LOGIN)
    def form() -> Response:
        """Asks for the token."""
        return HTMLResponse(PAGE.format(text="The service's token:"))

    @router.post(LOGIN)
    def log_in(body: Annotated[bytes, Body()] = b"") -> Response:
        """Sets the cookie if the token is somebody's."""
        token = _given(body)
        if identify(token) is None:
            return HTMLResponse(PAGE.format(text="That is no token of this service."), 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            COOKIE, token, max_age=KEPT_SECS, httponly=True, samesite="strict", secure=is_secure
        )
        return answer

    return router


def _given(body: bytes) -> str:
    given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
    try:
        return token_of(given, "the form")
    except UsageError as error:
        raise BadRequest(str(error)) from None
