"""Topologies and operations by REST, with a stand-in for `heronpy submit`."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from heron_core.operations import OperationKind, Requester, Way
from heron_core.state_tree import topology_path
from heron_engine.scheduler.operations import TopologyRequests
from heron_io.state_store.file_store import FileStore
from heron_tracker.auth.access import COOKIE
from heron_tracker.code_updates import CodeAnswer, CodeUpdates, NewCode
from heron_tracker.nimbus.submissions import TopologyFolders
from heron_tracker.options import SubmissionOptions, TrackerOptions
from tests.unit.heron_tracker.client_support import HOST, Answer, Asked

OPERATOR, READER = "operators-token-of-1", "a-readers-token-of-1"
REGISTERS = """
import os, sys
from heron_core.state_tree import topology_path
from heron_io.state_store.opening import open_store
words = sys.argv[2:]
if b"mistake" in open(words[0], "rb").read():
    sys.exit(f"heronpy: {words[0]}: line 1: the topology has a mistake")
with open_store(sys.argv[1]) as store:
    name = words[words.index("-N") + 1]
    file, by = os.path.basename(words[0]), os.environ["HERONPY_ASKED_BY"]
    store.put(topology_path(name), {"words": words[1:], "file": file, "by": by})
"""
"""Instead of `heronpy submit`: registers the topology, with the arguments of the call."""
UPDATES = """
import os, sys
from heron_core.state_tree import topology_path
from heron_io.state_store.opening import open_store
name, _, file, *more = sys.argv[2:]
text = open(file, "rb").read()
if b"mistake" in text:
    sys.exit(f"heronpy: {os.path.relpath(file)}: line 1: the topology has a mistake")
if text == b"same":
    sys.exit(print(f"nothing to update: {name} runs this code already"))
with open_store(sys.argv[1]) as store:
    store.put(topology_path(name), {"more": more, "by": os.environ["HERONPY_ASKED_BY"]})
print(f"{name} is updated: replaced: count; untouched: lines")
"""
"""Instead of `heronpy update`."""


@dataclass(frozen=True, slots=True)
class RestClient:
    """A service with a login, over a state store of files."""

    asked: Asked
    store: FileStore

    def submit(self, query: str, body: bytes = b"code", token: str = OPERATOR) -> Answer:
        path = f"/api/topologies?{query}"
        return self.asked.send("POST", path, body, authorization=f"Bearer {token}")

    def from_a_page(self, query: str, origin: str, body: bytes = b"code") -> Answer:
        """As the script of the form sends it, with the cookie of a login."""
        return self.asked.send(
            "POST", f"/api/topologies?{query}", body,
            cookie=f"{COOKIE}={OPERATOR}", origin=origin, sec_fetch_site=site_of(origin),
        )  # fmt: skip

    def post(self, path: str, body: object = None) -> Answer:
        path = f"/api/topologies/{path}"
        return self.asked.post(path, body, authorization=f"Bearer {OPERATOR}")


def site_of(origin: str) -> str:
    """What a browser says of a request to HOST."""
    return "same-origin" if origin == HOST else "cross-site"


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[RestClient]:
    url = f"file://{tmp_path}/state"
    submit = SubmissionOptions(
        command=(sys.executable, "-c", REGISTERS, url),
        update=(sys.executable, "-c", UPDATES, url),
        store_url=url,
        home=str(tmp_path / "home"),
    )
    options = TrackerOptions(token=OPERATOR, read_token=READER, submit=submit, first_poll_secs=60.0)
    with FileStore(str(tmp_path / "state")) as store:
        asked = Asked(store=store, options=options)
        yield RestClient(asked, store)
        asked.close()


def test_a_file_is_submitted_in_the_name_of_the_client(rest: RestClient) -> None:
    answer = rest.submit("name=new&file=words.py&topology=Words&deactivated=true")
    assert (answer.status, answer.result) == (200, {"topology": "new"})
    found = rest.store.get(topology_path("new"))
    assert found is not None
    assert found["file"] == "words.py"
    assert found["words"] == ["-n", "Words", "-N", "new", "--deactivated"]
    asked_by = json.loads(found["by"])
    assert (asked_by["user"], asked_by["way"]) == ("operator-token", Way.REST)
    assert rest.submit("name=new&file=words.py").status == 409


def test_a_form_submits_with_its_config_in_the_name_of_the_page(rest: RestClient) -> None:
    """Config keys are arguments of -o, whatever they look like."""
    query = "name=new&file=words.py&config=a.b%3D1&config=-x%3D%3D%20y"
    assert rest.from_a_page(query, HOST).result == {"topology": "new"}
    found = rest.store.get(topology_path("new"))
    assert found is not None
    assert found["words"] == ["-N", "new", "-o", "a.b=1", "-o", "-x== y"]
    asked_by = json.loads(found["by"])
    assert (asked_by["user"], asked_by["way"]) == ("operator-token", Way.PAGE)


def test_a_page_of_another_site_submits_nothing(rest: RestClient) -> None:
    answer = rest.from_a_page("name=new&file=words.py", "http://evil.example")
    assert (answer.status, "another site" in answer.text) == (403, True)
    assert rest.store.get(topology_path("new")) is None


def test_a_large_archive_is_no_larger_than_the_limit_of_submissions(rest: RestClient) -> None:
    """Beyond the 64 KiB of all other requests."""
    answer = rest.submit("name=large&file=words.tar.gz", b"x" * 300_000)
    assert answer.status == 200, answer.text


@pytest.mark.parametrize(
    ("query", "body", "status", "text"),
    [
        ("name=a/../b&file=w.py", b"", 400, "must be a word"),
        ("name=a&file=../w.py", b"", 400, "file is the name of a file with the ending .py"),
        ("name=a&file=w.exe", b"", 400, "file is the name of a file with the ending .py"),
        ("name=a&file=w.py", b"a mistake", 400, "w.py: line 1: the topology has a mistake"),
        ("name=a", b"", 400, "file: Field required"),
        ("name=a&file=w.py&config=x", b"", 400, "config 'x' is not KEY=VALUE, as in"),
        ("name=a&file=w.py&config=%20%3D1", b"", 400, "config ' =1' is not KEY=VALUE, as in"),
    ],
)
def test_a_submission_that_is_refused_says_why(
    rest: RestClient, tmp_path: Path, query: str, body: bytes, status: int, text: str
) -> None:
    answer = rest.submit(query, body)
    assert answer.status == status
    assert text in answer.json["message"]
    assert str(tmp_path) not in answer.text
    left = {each.name for each in (tmp_path / "home").rglob("*") if each.is_file()}
    assert left <= {".lock"}


def test_a_reader_submits_nothing(rest: RestClient) -> None:
    assert rest.submit("name=a&file=w.py", token=READER).status == 403
    assert rest.submit("name=a&file=w.py", token="else").status == 401


def test_a_service_without_a_login_takes_no_submission(tmp_path: Path) -> None:
    with FileStore(str(tmp_path)) as store:
        asked = Asked(store=store)
        answer = asked.send("POST", "/api/topologies?name=a&file=w.py", b"code")
        asked.close()
    assert answer.status == 503
    assert "start `heronpy ui` with --token-file" in answer.json["message"]


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("words/checkpoint", None, OperationKind.CHECKPOINT),
        ("words/savepoint", None, OperationKind.KILL),
        ("words/restart", None, OperationKind.RESTART),
        ("words/restart", {"containers": [1]}, OperationKind.RESTART),
        ("words/cancel", None, OperationKind.CANCEL),
    ],
)
def test_operations_become_requests(
    rest: RestClient, path: str, body: object, kind: OperationKind
) -> None:
    rest.store.put(topology_path("words"), {})
    answer = rest.post(path, body)
    assert answer.status == 200, answer.text
    request = TopologyRequests(rest.store, "words").get(answer.result["operation"])
    assert request is not None
    assert (request.kind, request.requester.way) == (kind, Way.REST)
    if body is not None:
        assert request.arguments == {"containers": [1]}
    if path.endswith("savepoint"):
        assert request.arguments["savepoint"] == answer.result["savepoint"]


def test_a_restart_names_containers_of_the_topology(rest: RestClient) -> None:
    bodies: list[object] = [{"containers": [99]}, {"containers": []}, {"containers": "1"}, [1]]
    for body in bodies:
        answer = rest.post("words/restart", body)
        assert answer.status == 400
        assert "containers of words: 0, 1" in answer.json["message"]


def test_new_code_is_an_update_in_the_name_of_the_client(rest: RestClient, tmp_path: Path) -> None:
    """Its file stays: the topology runs from it. A large archive is no larger than allowed."""
    rest.store.put(topology_path("words"), {})
    path = "/api/topologies/words/code?file=w.py&allow_non_restored=true"
    answer = rest.asked.send("POST", path, b"x" * 300_000, authorization=f"Bearer {OPERATOR}")
    assert answer.status == 200, answer.text
    change = "replaced: count; untouched: lines"
    assert answer.result == {"topology": "words", "updated": True, "change": change}
    found = rest.store.get(topology_path("words"))
    assert found is not None
    assert found["more"] == ["--allow-non-restored"]
    assert json.loads(found["by"])["way"] == Way.REST
    assert len(list((tmp_path / "home").rglob("w.py"))) == 1


@pytest.mark.parametrize(
    ("path", "body", "token", "status", "text"),
    [
        ("words/code?file=w.py", b"a mistake", OPERATOR, 400, "w.py: line 1: the topology has"),
        ("words/code?file=../w.py", b"", OPERATOR, 400, "file is the name of a file"),
        ("other/code?file=w.py", b"", OPERATOR, 404, "other"),
        ("words/code?file=w.py", b"", READER, 403, ""),
    ],
)
def test_new_code_that_is_refused_leaves_nothing(
    rest: RestClient, tmp_path: Path, path: str, body: bytes, token: str, status: int, text: str
) -> None:
    rest.store.put(topology_path("words"), {})
    send = rest.asked.send
    answer = send("POST", f"/api/topologies/{path}", body, authorization=f"Bearer {token}")
    assert answer.status == status, answer.text
    assert text in answer.json["message"]
    assert str(tmp_path) not in answer.text
    assert not list((tmp_path / "home").rglob("w.py"))


def test_new_code_that_changes_nothing_is_not_kept(rest: RestClient, tmp_path: Path) -> None:
    rest.store.put(topology_path("words"), {})
    path = "/api/topologies/words/code?file=w.py"
    answer = rest.asked.send("POST", path, b"same", authorization=f"Bearer {OPERATOR}")
    assert answer.result["updated"] is False
    assert answer.result["change"] == "nothing to update: words runs this code already"
    assert not list((tmp_path / "home").rglob("w.py"))


def test_a_long_update_goes_on_without_the_request(tmp_path: Path) -> None:
    """The answer says so, and the file stays."""
    upload = tmp_path / "upload"
    upload.write_text("code")
    folders = TopologyFolders(str(tmp_path / "home"), "file:///x", "ui")
    waits = (sys.executable, "-c", "import sys; sys.stdin.read(); import time; time.sleep(0.5)")
    code = NewCode("words", "w.py", str(upload), False, Requester("ada", "host", 1))
    assert CodeUpdates(folders, waits, update_secs=0.01).update(code) == CodeAnswer(False, "")
    assert len(list((tmp_path / "home").rglob("w.py"))) == 1
    folders.close()
