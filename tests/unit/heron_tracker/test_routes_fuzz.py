"""Requests that make no sense: each has an answer below 500, or one that says what is missing."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from client_support import Asked
from hypothesis import given, settings
from hypothesis import strategies as st
from tracker_support import snapshot, stats

from heron_io.state_store.file_store import FileStore

SURROGATES: Any = ("Cs",)
WORDS = st.one_of(
    st.sampled_from(
        [
            "words", "count", "count[0]", "container_2_count_4", "2", "-1", "9" * 30, "*", "..",
            "../../etc/passwd", "/", "", "nan", "1e400", "TS(count,*,__emit-count)", "[", "(",
            "SUM(", "RATE(TS(count,*,x))", "local", "600", ":all-time", "\0", "%2e%2e",
        ]
    ),
    st.text(st.characters(exclude_categories=SURROGATES), max_size=20),
)  # fmt: skip
NAMES = (
    "topology", "component", "cluster", "environ", "role", "instance", "metricname", "interval",
    "starttime", "endtime", "query", "container", "path", "offset", "length", "window",
)  # fmt: skip


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """One service for all."""
    with FileStore(str(tmp_path_factory.mktemp("state"))) as store:
        found = snapshot(stats({"count": {"user": {"x": float("nan")}}}))
        made = Asked(lambda name: found, store)
        yield made
        made.close()


def routes(asked: Asked) -> list[tuple[str, str]]:
    """Method and path of every route, as OpenAPI lists them."""
    paths = asked.get("/openapi.json").json["paths"]
    return [(method.upper(), path) for path, each in paths.items() for method in each]


def test_no_answer_has_a_secret(asked: Asked) -> None:
    """Passwords of a component's config, of URLs and of the topology's own, on every route."""
    fixed = {
        "topology_id": "words", "wait_secs": "0", "host_port": "there-2", "component": "count"
    }  # fmt: skip
    query = urlencode(
        {
            "topology": "words", "component": "count", "instance": "count[0]", "starttime": "1",
            "endtime": "2", "query": "TS(count,*,__emit-count)", "container": "1", "path": ".",
        }
    )  # fmt: skip
    shown = ""
    for method, path in routes(asked):
        answer = asked.send(method, f"{path.format(**fixed)}?{query}", None)
        assert "hunter2" not in answer.text, path
        shown += answer.text
    assert "*****" in shown
    assert "database.password" in shown


def test_every_route_is_asked_with_anything(asked: Asked) -> None:
    """Usually of the topology that there is: an unknown one is refused before the rest is read."""
    every = routes(asked)
    assert len(every) > 50

    @settings(max_examples=30, deadline=None, derandomize=True)
    @given(
        st.sampled_from(every), st.dictionaries(st.sampled_from(NAMES), WORDS), WORDS, st.booleans()
    )
    def ask(route: tuple[str, str], query: dict[str, str], word: str, is_there: bool) -> None:
        method, path = route
        if is_there:
            query = {"component": "count", **query, "topology": "words"}
        for parameter in ("topology_id", "component", "wait_secs", "host_port"):
            path = path.replace(f"{{{parameter}}}", quote(word, safe="") or "words")
        body = {"rebalanceOptions": {"executors": {word: 1}}} if method == "POST" else None
        answer = asked.send(method, f"{path}?{urlencode(query)}", body)
        assert answer.status in (200, 307, 400, 404, 405, 409, 422, 503), (
            route,
            query,
            answer.text,
        )
        assert "root:" not in answer.text
        assert "Traceback" not in answer.text

    ask()
