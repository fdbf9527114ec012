"""OpenID Connect's authorization code flow, with PKCE, state and nonce: the browser is
redirected to the issuer, returns with a code, and the service exchanges the code for an identity
token."""

import logging
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import httpx
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from heron_tracker.auth.access import Caller, caller_of_claims
from heron_tracker.auth.open_id import FETCH_SECS, OpenIdIssuer
from heron_tracker.auth.sessions import RANDOM_BYTES, Login, Sessions
from heron_tracker.envelope import Unavailable
from heron_tracker.options import OpenIdOptions

log = logging.getLogger("tracker")


@dataclass(frozen=True, slots=True)
class CodeFlow:
    """The flow with one issuer. Methods may block on the issuer."""

    options: OpenIdOptions
    issuer: OpenIdIssuer
    sessions: Sessions

    def begin(self, redirect_uri: str, leads_to: str) -> tuple[str, str]:
        """Where a browser is sent, and the state that it has to bring back."""
        login = Login(
            secrets.token_urlsafe(RANDOM_BYTES), secrets.token_urlsafe(RANDOM_BYTES), redirect_uri,
            leads_to,
        )  # fmt: skip
        state = self.sessions.begin(login)
        url = prepare_grant_uri(
            self._endpoint("authorization_endpoint"), self.options.client, "code", redirect_uri,
            self.options.scopes, state, nonce=login.nonce, code_challenge_method="S256",
            code_challenge=create_s256_code_challenge(login.verifier),
        )  # fmt: skip
        return str(url), state

    def end(self, login: Login, code: str) -> Caller | None:
        """User and rights by the token that the issuer returns for the code; None without a token,
        for a token of a different login or audience, or for a user without read access."""
        url = self._endpoint("token_endpoint")
        try:
            token = str(self._given(url, login, code).get("id_token", ""))
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            log.warning("%s gives no token: %s", self.options.issuer, error)
            return None
        claims = self.issuer.claims_of(token, str(self.options.client))
        if claims is None or claims.get("nonce") != login.nonce:
            log.warning("%s gives a token that is not of this login", self.options.issuer)
            return None
        return caller_of_claims(claims, self.options)

    def _given(self, url: str, login: Login, code: str) -> dict[str, Any]:
        """What the issuer gives for a code."""
        client, secret = quote_plus(str(self.options.client)), self.options.client_secret
        named = {} if secret else {"client_id": self.options.client}
        form = prepare_token_request(
            "authorization_code", "", login.redirect_uri, code=code, code_verifier=login.verifier,
            **named,
        )  # fmt: skip
        with httpx.Client(timeout=FETCH_SECS) as http:
            answer = http.post(
                url, content=form, headers={"content-type": "application/x-www-form-urlencoded"},
                auth=httpx.BasicAuth(client, quote_plus(secret)) if secret else httpx.Auth(),
            ).raise_for_status()  # fmt: skip
        body = answer.json()
        if not isinstance(body, dict):
            raise ValueError("its answer is not an object")
        return body

    def _endpoint(self, name: str) -> str:
        found = self.issuer.endpoint(name)
        if found is None:
            raise Unavailable(
                f"{self.options.issuer} does not say where its {name} is: try again later, or see "
                "whether /.well-known/openid-configuration below it can be had from here"
            )
        return found
