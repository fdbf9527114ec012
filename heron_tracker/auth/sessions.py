"""Browser logins at an issuer: pending logins and sessions. In memory only, so a restarted
service requires a new login; the issuer usually recognises the browser and answers without user
input."""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from heron_tracker.auth.access import Caller

LOGINS_MAX = 1000
"""Limit of pending logins, which any client can start."""
LOGIN_SECS = 600.0
"""For typing a password and a second factor."""
SESSIONS_MAX = 10_000
SESSION_SECS = 12 * 3600.0
"""A working day; later changes at the issuer take effect on the next login."""
RANDOM_BYTES = 32
"""Random bytes of secrets."""


@dataclass(frozen=True, slots=True)
class Login:
    """A pending login: expected properties of the issuer's answer."""

    verifier: str
    """PKCE verifier: an intercepted code is useless without it."""
    nonce: str
    """Nonce in the issuer's token for the login."""
    redirect_uri: str
    leads_to: str
    """The page that the browser wanted."""


Value = TypeVar("Value")


class _Kept(Generic[Value]):
    """Values under keys that cannot be guessed, for so long, and the newest of them."""

    def __init__(self, secs: float, most: int) -> None:
        self._secs = secs
        self._most = most
        self._values: dict[str, tuple[float, Value]] = {}

    def add(self, value: Value, now: float) -> str:
        key = secrets.token_urlsafe(RANDOM_BYTES)
        while len(self._values) >= self._most:
            del self._values[next(iter(self._values))]
        self._values[key] = (now + self._secs, value)
        return key

    def get(self, key: str, now: float) -> Value | None:
        until, value = self._values.get(key, (0.0, None))
        return value if now < until else None

    def remove(self, key: str) -> None:
        self._values.pop(key, None)


class Sessions:
    """Of one service. From any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._logins = _Kept[Login](LOGIN_SECS, LOGINS_MAX)
        self._sessions = _Kept[Caller](SESSION_SECS, SESSIONS_MAX)

    def begin(self, login: Login) -> str:
        """What the issuer sends back with its answer (`state`)."""
        with self._lock:
            return self._logins.add(login, self._clock())

    def take(self, state: str) -> Login | None:
        """Remove and return the login of the state; None if unknown or expired."""
        with self._lock:
            found = self._logins.get(state, self._clock())
            self._logins.remove(state)
            return found

    def open(self, caller: Caller) -> str:
        """A session's credential."""
        with self._lock:
            return self._sessions.add(caller, self._clock())

    def caller_of(self, credential: str) -> Caller | None:
        """User of the session; None if unknown or expired."""
        with self._lock:
            return self._sessions.get(credential, self._clock())

    def close(self, credential: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.remove(credential)
