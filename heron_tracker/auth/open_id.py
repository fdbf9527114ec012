"""Tokens signed by an OpenID Connect issuer: keys, signatures and claims."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from heron_core.errors import HeronError
from heron_tracker.auth.access import Caller, caller_of_claims
from heron_tracker.options import OpenIdOptions

log = logging.getLogger("tracker")

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Public-key algorithms only; with a shared key every verifier could sign."""
FETCH_SECS = 5.0
ANSWER_BYTES_MAX = 1024 * 1024
"""Of a document of the issuer: ten keys have 10 KiB."""
KEYS_KEPT_SECS = 600.0
KEYS_ASKED_AGAIN_SECS = 30.0
"""Minimum interval of key fetches for unknown keys: clients may send tokens with invented keys."""
LEEWAY_SECS = 30
"""Between the issuer's clock and ours."""


class OpenIdIssuer:
    """One issuer; its keys are fetched on first use. From any thread."""

    def __init__(self, options: OpenIdOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._endpoints: Mapping[str, Any] = {}
        self._fetched_at = float("-inf")

    def caller_of(self, credential: str) -> Caller | None:
        """Rights of the sender; None for a token of another issuer or audience, or an expired
        token. May block on the issuer."""
        claims = self.claims_of(credential, self._options.audience)
        return None if claims is None else caller_of_claims(claims, self._options)

    def claims_of(self, credential: str, audience: str) -> dict[str, Any] | None:
        """Claims of a token for the audience; None for an invalid token."""
        if credential.count(".") != 2:
            return None
        for is_last in (False, True):
            keys = self._known_keys(KEYS_ASKED_AGAIN_SECS if is_last else KEYS_KEPT_SECS)
            if keys is not None:
                claims = self._claims(credential, keys, audience)
                if claims is not None:
                    return claims
        return None

    def endpoint(self, name: str) -> str | None:
        """A URL of the issuer's configuration; None if unknown, or without https while the issuer's
        URL is https."""
        self._known_keys(KEYS_KEPT_SECS)
        found = self._endpoints.get(name)
        is_plain = self._options.issuer.startswith("http:")
        wanted = ("https://", "http://") if is_plain else ("https://",)
        return found if isinstance(found, str) and found.startswith(wanted) else None

    def check(self) -> None:
        """HeronError in one line if the issuer's keys are unavailable."""
        if self._known_keys(KEYS_KEPT_SECS) is None:
            raise HeronError(
                f"--openid-issuer {self._options.issuer} gives no keys: "
                "see whether /.well-known/openid-configuration below it can be had from here"
            )

    def _claims(self, credential: str, keys: KeySet, audience: str) -> dict[str, Any] | None:
        wanted = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECS,
            iss={"essential": True, "value": self._options.issuer},
            aud={"essential": True, "value": audience},
            exp={"essential": True},
        )
        try:
            token = jwt.decode(credential, keys, algorithms=ALGORITHMS)
            wanted.validate(token.claims)
        except (JoseError, ValueError, TypeError, KeyError):
            return None
        return token.claims

    def _known_keys(self, kept_secs: float) -> KeySet | None:
        with self._lock:
            if self._clock() >= self._fetched_at + kept_secs:
                self._fetched_at = self._clock()
                self._keys = self._fetched() or self._keys
            return self._keys

    def _fetched(self) -> KeySet | None:
        issuer = self._options.issuer
        try:
            with httpx.Client(timeout=FETCH_SECS, verify=True) as client:
                configuration = _json(
                    client, f"{issuer.rstrip('/')}/.well-known/openid-configuration"
                )
                if configuration.get("issuer") != issuer:
                    raise ValueError(f"it calls itself {configuration.get('issuer')!r:.200}")
                keys = KeySet.import_key_set(_json(client, configuration["jwks_uri"]))  # type: ignore[arg-type]
                self._endpoints = configuration
                return keys
        except (httpx.HTTPError, httpx.InvalidURL, JoseError, ValueError, KeyError, TypeError) as e:
            log.warning("the keys of %s cannot be fetched: %s", issuer, e)
            return None


def _json(client: httpx.Client, url: str) -> dict[str, Any]:
    answer = client.get(url).raise_for_status()
    if len(answer.content) > ANSWER_BYTES_MAX:
        raise ValueError(f"{url} has more than {ANSWER_BYTES_MAX} bytes")
    found = answer.json()
    if not isinstance(found, dict):
        raise ValueError(f"{url} is not an object")
    return found
