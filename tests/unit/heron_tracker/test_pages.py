"""The pages as drawn by NiceGUI, without a browser, and the users allowed to see each."""

import asyncio
import sys
import warnings
from collections.abc import Iterator
from html import escape
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi import Request

from heron_core.records import replace
from heron_io.state_store.file_store import FileStore
from heron_tracker.application import as_from_a_page
from heron_tracker.auth.access import (
    COOKIE,
    LOGOUT,
    LOGS_IN,
    Caller,
    Refusal,
    Role,
    caller_of,
    caller_of_token,
    refusal,
)
from heron_tracker.auth.topology_access import VISITOR, Visitor
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.options import TrackerOptions
from heron_tracker.pages import mounting
from heron_tracker.pages.notes import NOT_INSTALLED
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import NOW, instance, snapshot, stats

RETRIES = 300
"""Of a tenth of a second each: pushed updates arrive at any time."""


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    """The service over one topology."""
    store = FileStore(str(tmp_path / "state"))
    made = Asked(lambda name: snapshot(stats({"count": {"capacity": 0.99}})), store)
    yield made
    made.close()
    store.close()


def test_the_pages_say_what_is_wrong_and_stay_within_the_topology(asked: Asked) -> None:
    """The front page, and a click on the topology."""
    kept = dict(sys.modules)
    try:
        asyncio.run(_visit(asked))
    finally:  # the simulation forgets the modules of its pages
        sys.modules.update(kept)


async def _visit(asked: Asked) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NiceGUI's own imports
        from nicegui import ui
        from nicegui.testing.user_simulation import user_simulation

        from heron_tracker.pages.site import add_pages
    for at in range(6):  # an hour of history is what it is
        busy = {"latency_secs": {"execute": 0.1 * at}, "latency_samples": {"execute": 10 * at}}
        row = instance(4, capacity=0.5, **busy)
        asked.history.record(snapshot(stats()).id, [row], NOW - 60 + 10 * at)
    async with user_simulation(lambda: None) as user:
        add_pages(asked.service, lambda headers, topology: "only operators")
        await user.open("/")
        await user.should_see("bottleneck", retries=RETRIES)
        await user.should_see(kind=ui.table, retries=RETRIES)
        await user.open("/ui/topology/words")
        await user.should_see("Deactivate", retries=RETRIES)
        user.find("Deactivate").click()  # the refusal comes before the question
        await user.should_see("only operators", retries=RETRIES)
        await user.open("/ui/topology/words/component/split")
        await user.should_see("Sample", retries=RETRIES)
        user.find(kind=ui.button, content="Sample").click()
        await user.should_see("only operators", retries=RETRIES)
        await user.open("/ui/topology/words/component/count")
        await user.should_see(kind=ui.toggle, content="execute", retries=RETRIES)
        for tab in ("containers", "checkpoints", "configuration", "profile"):
            await user.open(f"/ui/topology/words/{tab}")
            await user.should_see("heronpy", retries=RETRIES)
        for path, line in NEAR.items():
            await user.open(f"/ui/topology/{path}")
            await user.should_see(line, retries=RETRIES)
        await _visit_what_is_not_there(user)
        await _log_out(user)


def test_a_right_that_is_withdrawn_closes_the_open_page(tmp_path: Path) -> None:
    """The page says so, and the front page does not list the topology any more."""
    rights: dict[str, list[str]] = {}

    def look(name: str) -> TopologySnapshot:
        found = snapshot(stats())
        assert found.spec is not None
        return replace(found, spec=replace(found.spec, config=dict(rights)))

    store = FileStore(str(tmp_path / "state"))
    kept, asked = dict(sys.modules), Asked(look, store)
    visitor = VISITOR.set(Visitor(Caller(Role.READER, "eve"), "10.0.0.7", 1, 2))
    try:
        asyncio.run(_visit_without_right(asked, rights))
    finally:
        VISITOR.reset(visitor)
        sys.modules.update(kept)
        asked.close()
        store.close()


async def _visit_without_right(asked: Asked, rights: dict[str, list[str]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NiceGUI's own imports
        from nicegui.testing.user_simulation import user_simulation

        from heron_tracker.pages.site import add_pages
    async with user_simulation(lambda: None) as user:
        add_pages(asked.service, lambda headers, topology: "")
        await user.open("/ui/topology/words")
        await user.should_see("Components", retries=RETRIES)
        rights["topology.users"] = ["ada"]
        await user.should_see("eve may not see words", retries=RETRIES)
        await user.open("/")
        await user.should_see("No topology is running", retries=RETRIES)


NEAR = {
    "wrods/checkpoints": escape("did you mean 'words'? (running: words)"),
    "words/component/cuont": escape("did you mean 'count'? (components: lines, split, count)"),
    "words/profile?instance=cuont[0]": "did you mean 'count[0]'?",
}
"""An address with a misspelt name -> text of its page."""
STRANGE = (
    "nobody", "x" * 3000, "..", "../../etc/passwd", "%", "%2e%2e", "a/b", "a\\b", "\0", "\n", " ",
    "ä→☂", "\u202e", "'\"><script>alert(1)</script>", "{name}", "{{ 1 + 1 }}", "count[0]", "?#",
)  # fmt: skip
PATHS = (
    "{}", "words/component/{}", "{}/containers", "words/logs?file={}", "{}/checkpoints",
    "words/profile?instance={}", "{}/configuration", "{}/logs", "words/{}", "{}/profile",
    "{}/component/{}",
)  # fmt: skip
PATHS_EACH = 2
"""Of each name: a page takes ten milliseconds, and all of them take every kind of name in turn."""


async def _visit_what_is_not_there(user: Any) -> None:
    """Every page with invalid names: each is drawn, or answered with 404."""
    from nicegui import app

    errors: list[Exception] = []
    app.on_exception(errors.append)
    paths = cycle(PATHS)
    for name in STRANGE:
        quoted = quote(name, safe="")
        for path in islice(paths, PATHS_EACH):
            answer = await user.http_client.get(
                f"/ui/topology/{path.format(*[quoted] * path.count('{}'))}"
            )
            assert answer.status_code in {200, 404}, (path, name)
            assert "<script>alert" not in answer.text, (path, name)
    for path in ("nobody", "words/component/%C3%A4%0A", "words/logs?file=..%2F..%2Fetc%2Fpasswd"):
        await user.open(f"/ui/topology/{path}")
        await user.should_see("heronpy", retries=RETRIES)
        await user.should_not_see("root:x:")
    assert errors == []


async def _log_out(user: Any) -> None:
    """Only logged-in users see the log-out."""
    from nicegui import ui

    from heron_tracker.pages.frame import frame

    @ui.page("/framed")
    def framed(request: Request) -> None:
        setattr(request.state, LOGS_IN, True)
        with frame(request, "x"):
            ui.label("drawn")

    for cookies, is_logged_in in (({}, False), ({COOKIE: "x"}, True)):
        user.http_client.cookies.update(cookies)
        assert (LOGOUT in (await user.http_client.get("/framed")).text) is is_logged_in
        assert LOGOUT not in (await user.http_client.get("/")).text


def test_without_nicegui_the_rest_works_and_says_how_to_get_the_pages(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is not installed."""
    monkeypatch.setattr(mounting, "are_installed", lambda: False)
    page = asked.get("/")
    assert (page.status, page.text) == (503, NOT_INSTALLED + "\n")
    assert asked.get("/topologies").status == 200
    assert asked.get("/nothing/here").json["status"] == "failure"


def _websocket(asked: Asked, headers: dict[str, str]) -> list[dict[str, Any]]:
    """Answer of the service to a websocket before the first message."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(dict(message))

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    scope = {
        "type": "websocket", "path": "/_nicegui_ws/socket.io/", "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip

    async def connect() -> None:
        await asked.application(scope, receive, send)

    asyncio.run(connect())
    return sent


def test_another_site_s_page_cannot_open_the_websocket(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from another origin, nor by a foreign name of the machine."""
    monkeypatch.setattr(mounting, "are_installed", lambda: False)
    mine = {"host": "127.0.0.1:8889", "origin": "http://127.0.0.1:8889"}
    reasons = [
        _websocket(asked, {**mine, **changed})[0].get("reason", "")
        for changed in ({}, {"origin": "http://evil.example"}, {"host": "evil.example"})
    ]
    assert reasons[0] == ""
    assert "another site" in reasons[1]
    assert "this machine" in reasons[2]


def test_a_page_may_do_what_its_reader_may_do() -> None:
    """A link on another site may lead to the page; the token is asked for all the same."""
    options = TrackerOptions(token="0123456789abcdef")
    headers = {"authorization": "Bearer 0123456789abcdef", "sec-fetch-site": "cross-site"}

    def refused_action(given: dict[str, str]) -> Refusal | None:
        caller = caller_of("/", given, options, lambda each: caller_of_token(each, options))
        return refusal("POST", "/", given, options, caller)

    assert refused_action(headers) is not None
    assert refused_action(as_from_a_page(headers)) is None
    assert refused_action(as_from_a_page({"cookie": "x=y"})) is not None
