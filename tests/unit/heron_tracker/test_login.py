"""The service on the network: real TLS, tokens of two roles, tokens that an issuer has signed."""

import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from joserfc.jwk import ECKey, OctKey

from heron_core.errors import HeronError, UsageError
from heron_io.http_settings import server_tls
from heron_io.listening import listen_on
from heron_tracker.auth.access import (
    WEBSOCKET,
    Caller,
    Role,
    caller_of_token,
    check_options,
    refusal,
)
from heron_tracker.auth.open_id import OpenIdIssuer
from heron_tracker.options import OpenIdOptions, TrackerOptions
from heron_tracker.server import BACKLOG, uvicorn_config
from tests.unit.certificate_support import self_signed
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.issuer_support import Issuer

OPERATOR, READER = "operators-token-of-1", "a-readers-token-of-1"
NOW = datetime.now(UTC)
KILL = "/api/v1/topology/words/kill/0"


def bearer(token: str) -> dict[str, str]:
    """The header with a token."""
    return {"authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    return self_signed(tmp_path_factory.mktemp("tls"))


def test_a_host_that_others_reach_needs_tls_and_a_login(certificate: tuple[Path, Path]) -> None:
    pem, key = map(str, certificate)
    secure: dict[str, Any] = {"host": "0.0.0.0", "certificate": pem, "key": key}
    for given, line in (
        ({"host": "0.0.0.0", "token": OPERATOR}, r"give --certificate FILE and --key FILE"),
        (secure, r"give --token-file FILE .* or --openid-issuer URL"),
        ({"certificate": pem}, "--certificate and --key go together"),
    ):
        with pytest.raises(UsageError, match=line):
            check_options(TrackerOptions(**given))
    check_options(TrackerOptions(**secure, token=OPERATOR))
    check_options(TrackerOptions(**secure, read_token=READER))
    server_tls(pem, key)
    with pytest.raises(UsageError, match=r"are not a certificate in PEM and its key: No such file"):
        server_tls("none.pem", key)
    with pytest.raises(UsageError, match=r"are not a certificate in PEM and its key"):
        server_tls(key, key)


def test_over_tls_with_a_self_made_certificate(certificate: tuple[Path, Path]) -> None:
    """A client with the certificate gets answers, a client with plain HTTP does not."""
    pem, key = map(str, certificate)
    options = TrackerOptions(token=OPERATOR, certificate=pem, key=key, port=0, first_poll_secs=60.0)
    asked = Asked(options=options)
    with listen_on(options.host, options.port, BACKLOG) as listener:
        server = uvicorn.Server(uvicorn_config(asked.application, options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        port = listener.getsockname()[1]
        context = ssl.create_default_context(cafile=pem)
        try:
            with httpx.Client(verify=context, timeout=60.0) as client:
                url = f"https://localhost:{port}/topologies"
                assert client.get(url).status_code == 401
                assert client.get(url, headers=bearer(OPERATOR)).status_code == 200
            with pytest.raises(httpx.HTTPError):
                httpx.get(f"http://localhost:{port}/topologies", timeout=60.0)
        finally:
            server.should_exit = True
            thread.join()
    asked.close()


def test_a_reader_changes_nothing() -> None:
    options = TrackerOptions(token=OPERATOR, read_token=READER, first_poll_secs=60.0)
    asked = Asked(options=options)
    for token, reads, acts in ((OPERATOR, 200, 404), (READER, 200, 403), ("wrong", 401, 401)):
        assert asked.get("/topologies", **bearer(token)).status == reads
        # For a missing topology: an allowed user gets a 404.
        assert asked.post("/api/v1/topology/nobody/kill/0", **bearer(token)).status == acts
    asked.close()


def test_a_page_of_a_reader_has_its_websocket() -> None:
    """Its messages are checked separately; foreign pages must not open a websocket."""
    options = TrackerOptions(token=OPERATOR, read_token=READER)

    caller = caller_of_token(READER, options)
    reader = {"host": "here", **bearer(READER)}
    assert refusal(WEBSOCKET, "/socket", reader, options, caller) is None
    crossed = refusal(WEBSOCKET, "/socket", {**reader, "origin": "http://x"}, options, caller)
    assert crossed is not None
    unknown = refusal(WEBSOCKET, "/socket", {"host": "here"}, options, None)
    assert unknown is not None
    assert unknown.status == 401


def test_a_browser_logs_in_with_a_form() -> None:
    """The cookie is for this site alone, hidden from scripts."""
    asked = Asked(options=TrackerOptions(token=OPERATOR, first_poll_secs=60.0))
    refused = asked.get("/topologies", accept="text/html")
    assert (refused.status, refused.headers["location"]) == (303, "/login")
    assert "type=password" in asked.get("/login").text
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert asked.send("POST", "/login", b"token=no-token-of-anybody", **form).status == 401
    crossed = asked.send("POST", "/login", b"token=x", **form, origin="http://evil.example")
    assert crossed.status == 403
    answer = asked.send("POST", "/login", f"token={OPERATOR}".encode(), **form)
    cookie = answer.headers["set-cookie"]
    assert answer.status == 303
    assert all(each in cookie for each in ("HttpOnly", "SameSite=strict"))
    assert asked.get("/topologies", cookie=cookie.partition(";")[0]).status == 200
    assert asked.get("/topologies", cookie="heronpy_login=else").status == 401
    asked.close()


# --- OpenID Connect -------------------------------------------------------------------------------


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """A small issuer."""
    made = Issuer()
    yield made
    made.close()


def role(caller: Caller | None) -> Role | None:
    return None if caller is None else caller.role


def test_tokens_of_an_issuer(issuer: Issuer) -> None:
    """Tokens signed for the service are taken; changed, expired or foreign ones are not."""
    options = OpenIdOptions(issuer=issuer.url, audience="heronpy", operator=("groups", "ops"))
    now = [0.0]
    found = OpenIdIssuer(options, lambda: now[0])
    found.check()
    good = issuer.token(groups=["dev", "ops"])
    assert role(found.caller_of(good)) is Role.OPERATOR
    assert role(found.caller_of(issuer.token(groups="dev"))) is Role.READER
    requests = issuer.requests
    stranger = ECKey.generate_key("P-256", {"kid": "first"}, private=True)
    shared = OctKey.import_key("a key of thirty-two bytes or more", {"kid": "first"})
    for bad in (
        issuer.token(exp=int(NOW.timestamp()) - 3600),
        issuer.token(aud="other"),
        issuer.token(iss="https://elsewhere.example"),
        issuer.token(key=stranger, groups=["ops"]),
        issuer.token(key=shared, algorithm="HS256", groups=["ops"]),
        good[:-6] + "AAAAAA",
        "a.b.c", "..", "", "x" * 50,
    ):  # fmt: skip
        assert found.caller_of(bad) is None
    assert issuer.requests == requests, "tokens made up have the issuer asked again"
    issuer.key = ECKey.generate_key("P-256", {"kid": "second"}, private=True)
    now[0] = 60.0
    assert role(found.caller_of(issuer.token(groups=["ops"]))) is Role.OPERATOR
    only = OpenIdOptions(issuer=issuer.url, audience="heronpy", reader=("groups", "dev"))
    assert OpenIdIssuer(only).caller_of(issuer.token(groups=["sales"])) is None


def test_the_service_takes_them_beside_its_own_tokens(issuer: Issuer) -> None:
    open_id = OpenIdOptions(issuer=issuer.url, audience="heronpy", operator=("groups", "ops"))
    asked = Asked(options=TrackerOptions(read_token=READER, open_id=open_id, first_poll_secs=60.0))
    reader, nobody = issuer.token(), issuer.token(aud="other")
    assert [
        asked.get("/topologies", **bearer(each)).status for each in (reader, READER, nobody)
    ] == [200, 200, 401]
    assert asked.post(KILL, **bearer(reader)).status == 403
    asked.close()


def test_an_issuer_that_is_none_is_one_line(issuer: Issuer) -> None:
    for url in (f"{issuer.url}/other", "http://127.0.0.1:1", "nonsense"):
        with pytest.raises(HeronError, match=f"--openid-issuer {url} gives no keys"):
            OpenIdIssuer(OpenIdOptions(issuer=url, audience="heronpy")).check()
