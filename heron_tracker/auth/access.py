"""Authorisation of requests and actions: pure, over a request's headers.

On loopback there is no login, so the user's browser must not become an entry point: foreign host
names (DNS rebinding) and actions started by another site's page are rejected. On any other
address TLS is required, and every request is authenticated: by a token, or by a signed OpenID
Connect token. A browser sends the token as a cookie, set by /login.
"""

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from heron_core.errors import UsageError
from heron_core.loopback import host_of, is_loopback
from heron_tracker.options import (
    BODY_BYTES_MAX,
    SUBMISSION_BYTES_MAX,
    OpenIdOptions,
    TrackerOptions,
)

READING = frozenset({"GET", "HEAD"})
OF_TOPOLOGY = re.compile(r"/api/v1/topology/([^/]+)/|/api/topologies/([^/]+)/")
"""Paths of actions on one topology, with its name or id."""
SAMPLE_PATH = "/api/sample"
CHANGING = re.compile(r"/api/v1/topology/[^/]*/profiling/(start|stop|dumpprofile)/")
"""Paths read by method, as in Storm, that nevertheless act."""
SUBMIT_PATH = "/api/topologies"
CODE_PATH = re.compile(r"/api/topologies/[^/]+/code")
WEBSOCKET = "WEBSOCKET"
"""Pseudo-method of a websocket: another site's page can open one, and the content is
checked later.
"""
ABOUT_THE_SITE = frozenset({"origin", "sec-fetch-site"})
"""Headers by which a browser says whose page has made a request."""
TOKEN_CHARACTERS_MIN = 16
CREDENTIAL_CHARACTERS_MAX = 8192
"""A signed token with a hundred groups has 4 KiB; a browser keeps no longer cookie."""
COOKIE = "heronpy_login"
LOGIN = "/login"
LOGIN_AT_ISSUER = "/login/issuer"
LOGIN_CALLBACK = "/login/callback"
LOGOUT = "/logout"
CALLER = "caller"
"""Key of the request's Caller; None for a request refused for an unknown credential."""
LOGS_IN = "logs_in"
"""Request state: whether authentication is required."""
WITHOUT_LOGIN = frozenset({LOGIN, LOGIN_AT_ISSUER, LOGIN_CALLBACK, LOGOUT, "/health"})
"""Paths without information about topologies."""


class Role(Enum):
    """Rights of a user."""

    READER = "reader"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose credential a request carries."""

    role: Role
    user: str
    """The issuer's name of a user, or the name of the service's token; empty without a login."""
    groups: frozenset[str] = frozenset()
    """Of the user, by the claim `groups` and the claims that give roles."""


ANYBODY = Caller(Role.OPERATOR, "")
"""The caller of a service without a login, which serves this machine alone."""
OPERATOR_TOKEN, READER_TOKEN = "operator-token", "reader-token"
"""Users of the service's two tokens, which name no person."""
USER_CLAIMS = ("preferred_username", "email", "sub")
"""Claims of a signed token: the first present claim is the user."""
GROUPS_CLAIM = "groups"
USER_CHARACTERS_MAX = 200

READ_ONLY = "this token has read-only access: an operator's token is needed"

Identify = Callable[[str], Caller | None]
"""Maps a credential to its Caller; None for an unknown credential."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered."""

    status: int
    text: str


def check_options(options: TrackerOptions) -> None:
    """UsageError for a public address without TLS or without a login."""
    if (options.certificate is None) != (options.key is None):
        raise UsageError("--certificate and --key go together: give both or neither")
    if is_loopback(options.host):
        return
    if options.certificate is None:
        raise UsageError(
            f"--host {options.host} lets others in: give --certificate FILE and --key FILE, so "
            "that tokens are encrypted on the network"
        )
    if not needs_login(options):
        raise UsageError(
            f"--host {options.host} lets others in: give --token-file FILE with a token of "
            f"{TOKEN_CHARACTERS_MIN} characters or more, which they send as `Authorization: "
            "Bearer`, or --openid-issuer URL"
        )


def needs_login(options: TrackerOptions) -> bool:
    """Whether every request must be authenticated."""
    credentials = (options.token, options.read_token, options.open_id)
    return any(each is not None for each in credentials)


def token_of(text: str, path: str) -> str:
    """The token in a file; UsageError for an invalid token."""
    token = text.strip()
    is_plain = token.isascii() and token.isprintable() and not set(token) & set(' ";,\\')
    if not TOKEN_CHARACTERS_MIN <= len(token) <= CREDENTIAL_CHARACTERS_MAX or not is_plain:
        raise UsageError(
            f"invalid token in {path}: it must be one line of at least {TOKEN_CHARACTERS_MIN} "
            "ASCII "
            "characters, without spaces, quotes, commas, semicolons and backslashes"
        )
    return token


def claim_of(text: str, option: str) -> tuple[str, str]:
    """CLAIM=VALUE; UsageError for another text."""
    claim, equals, value = text.partition("=")
    if not (claim and equals and value):
        raise UsageError(f"{option} {text!r} is not CLAIM=VALUE, as in groups=stream-operators")
    return claim, value


def caller_of_claims(claims: Mapping[str, Any], options: OpenIdOptions) -> Caller | None:
    """User and role from the issuer's claims; None for a user without a role."""
    user = next((str(claims[each]) for each in USER_CLAIMS if claims.get(each)), "")
    user = user[:USER_CHARACTERS_MAX]
    groups = _groups(claims, options)
    if _has(claims, options.operator):
        return Caller(Role.OPERATOR, user, groups)
    if options.reader is None or _has(claims, options.reader):
        return Caller(Role.READER, user, groups)
    return None


def _groups(claims: Mapping[str, Any], options: OpenIdOptions) -> frozenset[str]:
    """Texts of the claims with groups."""
    names = {GROUPS_CLAIM, *(role[0] for role in (options.operator, options.reader) if role)}
    values = [claims.get(name) for name in names]
    listed = [value if isinstance(value, list) else [value] for value in values]
    return frozenset(text for texts in listed for text in texts if isinstance(text, str))


def _has(claims: Mapping[str, Any], wanted: tuple[str, str] | None) -> bool:
    """A claim is a text, or a list of them."""
    if wanted is None:
        return False
    found = claims.get(wanted[0])
    return wanted[1] in (found if isinstance(found, list) else [found])


def caller_of_token(credential: str, options: TrackerOptions) -> Caller | None:
    """Caller of a service token; both comparisons take constant time."""
    callers = (
        (options.token, Caller(Role.OPERATOR, OPERATOR_TOKEN)),
        (options.read_token, Caller(Role.READER, READER_TOKEN)),
    )
    matching = [
        caller
        for token, caller in callers
        if token is not None
        and secrets.compare_digest(credential.encode("utf-8", "replace"), token.encode())
    ]
    return matching[0] if matching else None


def credential_of(headers: Mapping[str, str]) -> str:
    """The token of a request; empty without one."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    credential = given.strip() if kind.lower() == "bearer" else _cookie(headers.get("cookie", ""))
    return credential if len(credential) <= CREDENTIAL_CHARACTERS_MAX else ""


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def caller_of(
    path: str, headers: Mapping[str, str], options: TrackerOptions, identify: Identify
) -> Caller | None:
    """Caller of a request; None for an unknown credential where a login is required."""
    if not needs_login(options) or path in WITHOUT_LOGIN:
        return ANYBODY
    return identify(credential_of(headers))


def body_bytes_max(method: str, path: str) -> int:
    """Of a request: submissions and new code are larger than all others."""
    has_code = method == "POST" and (path == SUBMIT_PATH or CODE_PATH.fullmatch(path))
    return SUBMISSION_BYTES_MAX if has_code else BODY_BYTES_MAX


def refusal(
    method: str,
    path: str,
    headers: Mapping[str, str],
    options: TrackerOptions,
    caller: Caller | None,
) -> Refusal | None:
    """None for a permitted request; names of headers in small letters."""
    length, most = headers.get("content-length", "0"), body_bytes_max(method, path)
    if not length.isdecimal() or int(length[:20]) > most:
        return Refusal(413, f"a request has at most {most} bytes")
    if needs_login(options):
        if caller is None:
            return Refusal(401, "send the service's token: `Authorization: Bearer TOKEN`")
    elif not is_loopback(host_of(headers.get("host", ""))):
        return Refusal(421, "this service is for this machine: use 127.0.0.1 or localhost")
    if method in READING and not CHANGING.match(path):
        return None
    if _is_of_another_site(headers):
        return Refusal(403, "another site's page may change nothing here")
    is_operator = caller is not None and caller.role is Role.OPERATOR
    if not is_operator and method != WEBSOCKET:
        return Refusal(403, READ_ONLY)
    return None


def topology_acted_on(method: str, path: str, query: str) -> str | None:
    """The topology, by name or id, on which a request acts; None for a read."""
    if method == WEBSOCKET or (method in READING and not CHANGING.match(path)):
        return None
    if path == SAMPLE_PATH:
        return parse_qs(query).get("topology", [None])[0]
    match = OF_TOPOLOGY.match(path)
    return None if match is None else match[1] or match[2]


def _is_of_another_site(headers: Mapping[str, str]) -> bool:
    """By browser headers, which pages cannot change; programs do not send them."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host", "")
