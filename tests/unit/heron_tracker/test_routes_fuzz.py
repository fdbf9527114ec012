"""Invalid requests, out of the service's own OpenAPI by schemathesis: each answer is below 500 or
names the missing part, within seconds, and files outside of a log folder stay hidden.

`HERON_FUZZ_EXAMPLES=5000 pytest tests/unit/heron_tracker/test_routes_fuzz.py` sends more requests,
new ones each time.
"""

import json
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode, openapi

from heron_core.records import replace
from heron_io.state_store.file_store import FileStore
from heron_tracker.model.snapshot import TopologySnapshot
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import snapshot, stats

EXAMPLES = os.environ.get("HERON_FUZZ_EXAMPLES")
EXAMPLES_USUAL = 15
ANSWER_SECS_MAX = 30.0
"""An answer takes milliseconds; a request hangs after this limit."""
SECRET = "hunter2"
USUAL: dict[str, list[Any]] = {
    "topology": ["words"],
    "topology_id": ["words"],
    "component": ["count", "lines"],
    "cluster": ["local"],
    "environ": ["default"],
    "instance": ["count[0]", "container_2_count_4"],
    "metricname": ["__execute-count", "__emit-count/default", "x", "__execute-count/split/default"],
    "query": [
        "TS(count,*,__emit-count)", "SUM(TS(count,*,__emit-count))", "RATE(TS(*,*,*))", "SUM(", "(",
        "DIVIDE(1,0)", "PERCENTILE(99,TS(count,*,__capacity))", "DEFAULT(0," * 500,
    ],
    "container": ["2", "1", "-1", "9" * 30],
    "path": [
        "count-4.log", ".", "..", "../secret", "../../secret", "/etc/passwd", "link", "up/secret",
        "%2e%2e/secret", "..%2fsecret", "./../secret", "a/../../secret", "\0", "count-4.log\0",
        "log-files/../../secret", "log-files/container_2_count_4.log.0", "fifo", "up", "x" * 5000,
        "..\\secret", "//etc/passwd", "./" * 500 + "link",
    ],
    "starttime": ["0", "1795435200", "-1", "1e400", "nan"],
    "endtime": ["60", "1795438800"],
    "interval": ["60", "-1", "nan"],
    "host": ["there", "here", ".."],
    "owner": ["ada", "bob"],
    "host_port": ["there-2", "here-1", "-", "there-" + "9" * 30],
    "offset": ["-6", "0", "9" * 30],
    "length": ["3", "-1", "9" * 30],
}  # fmt: skip
"""Argument -> its usual value: requests for an unknown topology end early."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """One service for all, with a folder of logs and links to the outside."""
    folder = tmp_path_factory.mktemp("home")
    logs = folder / "topologies" / "words" / "logs"
    logs.mkdir(parents=True)
    (logs / "count-4.log").write_text("one\ntwo\n")
    for secret in (folder / "secret", logs.parent / "secret", folder / "topologies" / "secret"):
        secret.write_text(SECRET)
    (logs / "link").symlink_to(folder / "secret")
    (logs / "up").symlink_to(folder)
    os.mkfifo(logs / "fifo")
    bare = snapshot(stats({"count": {"user": {"x": float("nan")}}}))
    found = replace(bare, execution={**bare.execution, "logs": str(logs)})

    def look(name: str) -> TopologySnapshot:
        return found

    with FileStore(str(tmp_path_factory.mktemp("state"))) as store:
        made = Asked(look, store)
        yield made
        made.close()


def described(asked: Asked) -> dict[str, Any]:
    """The service's OpenAPI; most arguments usually name existing objects."""
    schema: dict[str, Any] = asked.get("/openapi.json").json
    for methods in schema["paths"].values():
        for route in methods.values():
            for each in route.get("parameters", ()):
                if usual := USUAL.get(each["name"]):
                    each["schema"] = {"anyOf": [{"enum": usual}, {"type": "string"}]}
    return schema


def cases(asked: Asked) -> st.SearchStrategy[Case]:
    """Requests of all routes, by their rules and against them."""
    every = [each.ok() for each in openapi.from_dict(described(asked)).get_all_operations()]
    assert len(every) > 50
    modes = (GenerationMode.POSITIVE, GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    made = [(each, mode) for each in every for mode in modes]
    return st.sampled_from(made).flatmap(
        lambda found: found[0].as_strategy(generation_mode=found[1])
    )


def answered(asked: Asked, case: Case) -> None:
    """Ask, and look at the answer."""
    sent = case.as_transport_kwargs(base_url="http://127.0.0.1:8889")
    path = sent["url"].removeprefix("http://127.0.0.1:8889")
    path += f"?{urlencode(sent['params'], doseq=True)}" if sent.get("params") else ""
    content = sent.get("data")
    body = content if isinstance(content, bytes) else None
    if body is None and "json" in sent:
        body = json.dumps(sent["json"]).encode()
    began = time.monotonic()
    answer = asked.send(sent["method"], path, body)
    told = (sent["method"], path, body, answer.status, answer.text[:1000])
    assert answer.status < 500 or answer.status == 503, told
    assert time.monotonic() - began < ANSWER_SECS_MAX, told
    for each in (SECRET, "root:x:0", "Traceback"):
        assert each not in answer.text, told


def test_every_route_is_asked_with_anything(asked: Asked) -> None:
    """Usually of the existing topology: an unknown one is refused before the rest is read."""

    @settings(
        max_examples=int(EXAMPLES or EXAMPLES_USUAL), deadline=None, derandomize=EXAMPLES is None,
        database=None, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases(asked))
    def ask(case: Case) -> None:
        answered(asked, case)

    ask()


@pytest.mark.parametrize("path", USUAL["path"])
def test_nothing_outside_of_the_log_folder_is_read(asked: Asked, path: str) -> None:
    """Encoded once, and as a browser would send it."""
    for route in ("containerfiledata", "containerfilestats", "topologies/container/filedata"):
        for query in (urlencode({"path": path}), f"path={path}"):
            if not query.isprintable():
                continue
            answer = asked.get(f"/{route}?topology=words&container=2&{query}")
            assert answer.status in (200, 400, 404), (path, answer.text)
            assert SECRET not in answer.text
            assert "root:x:0" not in answer.text


def test_no_answer_has_a_secret(asked: Asked) -> None:
    """Passwords of a component's config, of URLs and of the topology's own, on every route."""
    fixed = {
        "topology_id": "words", "wait_secs": "0", "host_port": "there-2", "component": "count",
        "minutes": "1", "owner": "ada", "name": "words",
    }  # fmt: skip
    query = urlencode(
        {
            "topology": "words", "component": "count", "instance": "count[0]", "starttime": "1",
            "endtime": "2", "query": "TS(count,*,__emit-count)", "container": "1", "path": ".",
            "host": "there",
        }
    )  # fmt: skip
    shown = ""
    for path, methods in asked.get("/openapi.json").json["paths"].items():
        for method in methods:
            answer = asked.send(method.upper(), f"{path.format(**fixed)}?{query}", None)
            assert SECRET not in answer.text, path
            shown += answer.text
    assert "*****" in shown
    assert "database.password" in shown
