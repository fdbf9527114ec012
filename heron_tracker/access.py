"""Who may talk to the service: pure, over a request's headers.

On loopback there is no login, so the browser of whoever sits here must not be a way in: a name
that is not this machine's (DNS rebinding) and actions that another site's page begins are refused.
On any other address every request needs the token.
"""

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from heron_core.errors import UsageError
from heron_tracker.options import BODY_BYTES_MAX, Options

READING = frozenset({"GET", "HEAD"})
WEBSOCKET = "WEBSOCKET"
"""Instead of a method: another site's page can open one, and what it carries is checked later."""
ABOUT_THE_SITE = frozenset({"origin", "sec-fetch-site"})
"""Headers by which a browser says whose page has made a request."""
TOKEN_CHARACTERS_MIN = 16


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered."""

    status: int
    text: str


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as seen from nowhere else."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_options(options: Options) -> None:
    """UsageError for an address that others reach, without a token."""
    if options.token is None and not is_loopback(options.host):
        raise UsageError(
            f"--host {options.host} lets others in: give --token-file FILE with a token of "
            f"{TOKEN_CHARACTERS_MIN} characters or more, which they send as `Authorization: Bearer`"
        )


def token_of(text: str, path: str) -> str:
    """The token in a file; UsageError if it is none."""
    token = text.strip()
    is_plain = token.isascii() and token.isprintable() and " " not in token
    if len(token) < TOKEN_CHARACTERS_MIN or not is_plain:
        raise UsageError(
            f"--token-file {path}: a token has at least {TOKEN_CHARACTERS_MIN} characters in one "
            "line of ASCII without spaces"
        )
    return token


def refusal(method: str, headers: Mapping[str, str], options: Options) -> Refusal | None:
    """None for a request that may pass; names of headers in small letters."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > BODY_BYTES_MAX:
        return Refusal(413, f"a request has at most {BODY_BYTES_MAX} bytes")
    if options.token is not None:
        if not _has_token(headers, options.token):
            return Refusal(401, "send the service's token: `Authorization: Bearer TOKEN`")
    elif not is_loopback(_host_of(headers.get("host", ""))):
        return Refusal(421, "this service is for this machine: use 127.0.0.1 or localhost")
    if method not in READING and _is_of_another_site(headers):
        return Refusal(403, "another site's page may change nothing here")
    return None


def _has_token(headers: Mapping[str, str], token: str) -> bool:
    kind, _, given = headers.get("authorization", "").partition(" ")
    same = secrets.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
    return kind.lower() == "bearer" and same


def _host_of(header: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _is_of_another_site(headers: Mapping[str, str]) -> bool:
    """By what browsers say, which pages cannot change; programs say nothing."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host", "")
