"""A browser that is sent to an issuer over real HTTP, and comes back: code flow, PKCE, nonce."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from heron_tracker.auth.access import Caller, Role
from heron_tracker.auth.sessions import LOGIN_SECS, SESSION_SECS, SESSIONS_MAX, Login, Sessions
from heron_tracker.options import OpenIdOptions, TrackerOptions
from tests.unit.heron_tracker.client_support import Answer, Asked
from tests.unit.heron_tracker.issuer_support import Issuer

PAGE = "/ui/topology/words?tab=1"
BROWSER = {"accept": "text/html"}
READER, OPERATOR = Caller(Role.READER, "ada"), Caller(Role.OPERATOR, "ada")


class IssuerWithLogin(Issuer):
    """An issuer that admits every user, and checks the service's requests."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = ["ops"]
        self.asked: dict[str, str] = {}
        self.nonce: str | None = None
        """A nonce unlike the service's, for a token of another login."""
        self.refused = 0

    def answer(self, path: str) -> Mapping[str, Any]:
        """Plus the address of the login."""
        found = dict(super().answer(path))
        if path.endswith("/openid-configuration"):
            found |= {
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
            }
        return found

    def let_in(self, url: str) -> str:
        """Answer to a browser at the login: the address to return to."""
        assert url.startswith(f"{self.url}/authorize?")
        self.asked = {name: each[0] for name, each in parse_qs(urlsplit(url).query).items()}
        assert self.asked["response_type"] == "code"
        assert self.asked["code_challenge_method"] == "S256"
        return f"{self.asked['redirect_uri']}?code=one&state={self.asked['state']}"

    def posted(self, path: str, form: Mapping[str, str], headers: Any) -> tuple[int, Any]:
        """The token for the code, if requested by the right client."""
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        client = base64.b64decode(headers["authorization"].partition(" ")[2]).decode()
        is_right = (
            challenge == self.asked["code_challenge"]
            and client == "heronpy:the-secret-of-the-client"
            and form["redirect_uri"] == self.asked["redirect_uri"]
            and form["code"] == "one"
        )
        if not is_right:
            self.refused += 1
            return 400, {"error": "invalid_grant"}
        nonce = self.nonce or self.asked["nonce"]
        token = self.token(nonce=nonce, groups=self.groups)
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": token}


@pytest.fixture
def issuer() -> Iterator[IssuerWithLogin]:
    """A small issuer."""
    made = IssuerWithLogin()
    yield made
    made.close()


@pytest.fixture
def asked(issuer: IssuerWithLogin) -> Iterator[Asked]:
    """A service with logins at the issuer."""
    open_id = OpenIdOptions(
        issuer=issuer.url, audience="heronpy", operator=("groups", "ops"),
        reader=("groups", "dev"), client="heronpy", client_secret="the-secret-of-the-client",
        scopes="openid groups",
    )  # fmt: skip
    made = Asked(options=TrackerOptions(open_id=open_id, first_poll_secs=60.0))
    yield made
    made.close()


def cookie_of(answer: Answer, name: str) -> str:
    """A new cookie, in the form of a browser's request; AssertionError if scripts may read it."""
    (found,) = [
        each for each in answer.headers.get_list("set-cookie") if each.startswith(f"{name}=")
    ]
    assert "HttpOnly" in found
    assert "SameSite=lax" in found
    return found.partition(";")[0]


def sent_away(asked: Asked) -> tuple[str, str]:
    """The issuer's address for a browser at PAGE, and the browser's cookie."""
    refused = asked.get(PAGE, **BROWSER)
    assert refused.status == 303
    assert refused.headers["location"].startswith("/login/issuer?page=%2Fui%2Ftopology%2Fwords")
    away = asked.get(refused.headers["location"], **BROWSER)
    assert away.status == 303
    return away.headers["location"], cookie_of(away, "heronpy_state")


def logged_in(asked: Asked, issuer: IssuerWithLogin) -> Answer:
    """The answer to a browser back from the issuer."""
    url, state = sent_away(asked)
    back = urlsplit(issuer.let_in(url))
    return asked.get(f"{back.path}?{back.query}", cookie=state, **BROWSER)


def test_a_browser_logs_in_at_the_issuer_and_out_again(
    asked: Asked, issuer: IssuerWithLogin
) -> None:
    """The browser returns to the requested page, with the rights of its groups."""
    answer = logged_in(asked, issuer)
    assert (answer.status, answer.headers["location"]) == (303, PAGE)
    assert issuer.asked["redirect_uri"] == "http://127.0.0.1:8889/login/callback"
    assert issuer.asked["scope"] == "openid groups"
    session = cookie_of(answer, "heronpy_login")
    assert asked.get("/topologies", cookie=session).status == 200
    kill = "/api/v1/topology/nobody/kill/0"
    assert asked.post(kill, cookie=session).status == 404
    assert asked.post(kill, cookie=session, origin="http://evil.example").status == 403
    issuer.groups = ["dev"]
    reader = cookie_of(logged_in(asked, issuer), "heronpy_login")
    assert asked.get("/topologies", cookie=reader).status == 200
    assert asked.post(kill, cookie=reader).status == 403
    assert asked.post("/logout", cookie=reader, origin="http://evil.example").status == 403
    assert asked.post("/logout", cookie=reader).headers["location"] == "/login"
    assert asked.get("/topologies", cookie=reader).status == 401
    assert asked.get("/topologies", cookie=session).status == 200
    issuer.groups = ["sales"]
    assert logged_in(asked, issuer).status == 403


def test_who_did_not_begin_a_login_cannot_end_it(asked: Asked, issuer: IssuerWithLogin) -> None:
    """Another browser, a second time, another state, another login's token, a refusal."""
    url, cookie = sent_away(asked)
    back = urlsplit(issuer.let_in(url))
    path = f"{back.path}?{back.query}"
    assert asked.get(path).status == 400
    assert asked.get(path, cookie="heronpy_state=other").status == 400
    assert asked.get(f"{back.path}?code=one&state=", cookie="heronpy_state=").status == 400
    issuer.nonce = "of another login"
    assert asked.get(path, cookie=cookie).status == 403
    issuer.nonce = None
    assert asked.get(path, cookie=cookie).status == 400, "it is over"
    url, cookie = sent_away(asked)
    state = parse_qs(urlsplit(url).query)["state"][0]
    denied = asked.get(f"{back.path}?error=<b>no&state={state}", cookie=cookie)
    assert denied.status == 403
    assert "<b>" not in denied.text
    url, cookie = sent_away(asked)
    issuer.let_in(url)
    issuer.asked["code_challenge"] = "of another verifier"
    path = f"{back.path}?code=one&state={issuer.asked['state']}"
    assert asked.get(path, cookie=cookie).status == 403
    assert issuer.refused == 1


@pytest.mark.parametrize(
    "page",
    ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/\t/evil.example"],
)
def test_nobody_is_led_elsewhere(asked: Asked, issuer: IssuerWithLogin, page: str) -> None:
    """By a link to the login with a page of another site."""
    query = httpx.QueryParams({"page": page})
    away = asked.get(f"/login/issuer?{query}")
    back = urlsplit(issuer.let_in(away.headers["location"]))
    cookie = cookie_of(away, "heronpy_state")
    answer = asked.get(f"{back.path}?{back.query}", cookie=cookie)
    assert answer.headers["location"] == "/"


def test_an_issuer_that_is_away_is_one_line() -> None:
    open_id = OpenIdOptions(issuer="http://127.0.0.1:1", audience="heronpy", client="heronpy")
    asked = Asked(options=TrackerOptions(open_id=open_id, first_poll_secs=60.0))
    answer = asked.get("/login/issuer")
    assert answer.status == 503
    assert "does not say where its authorization_endpoint is" in answer.json["message"]
    assert "Log in at http://127.0.0.1:1" in asked.get("/login").text
    asked.close()


def test_sessions_end() -> None:
    """After their time, and the oldest above the limit."""
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    login = Login("verifier", "nonce", "uri", "/")
    first, state = sessions.open(READER), sessions.begin(login)
    now[0] = LOGIN_SECS
    assert sessions.take(state) is None
    assert sessions.caller_of(first) == READER
    now[0] = SESSION_SECS
    assert sessions.caller_of(first) is None
    second = sessions.open(OPERATOR)
    for _ in range(SESSIONS_MAX):
        sessions.open(READER)
    assert sessions.caller_of(second) is None
