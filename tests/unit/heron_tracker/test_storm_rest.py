"""Storm's UI: the original streamparse's own functions run against the service, and actions are
guarded."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from heron_core.operations import OperationKind
from heron_core.plans import packing_from_json
from heron_core.records import replace
from heron_core.state_tree import topology_path
from heron_core.topology import GroupingKind, GroupingSpec, InputSpec, StreamSpec
from heron_engine.scheduler.operations import TopologyRequests
from heron_io.state_store.file_store import FileStore
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.options import TrackerOptions
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import SPEC, snapshot, stats

STATS = stats(
    {"lines": {"emitted": 100, "acked": 90}, "count": {"executed": 1000, "acked": 1000}},
    {4: {"executed": 600}, 5: {"executed": 400}},
)


def found(name: str) -> TopologySnapshot:
    return snapshot(STATS)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileStore]:
    """A state store with the topology in it."""
    with FileStore(str(tmp_path_factory.mktemp("state"))) as made:
        made.put(topology_path("words"), {})
        yield made


@pytest.fixture(scope="module")
def asked(store: FileStore) -> Iterator[Asked]:
    """The service, one for all tests."""
    made = Asked(found, store)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_requests(store: FileStore) -> Iterator[None]:
    """Each test finds the state store without requests."""
    yield
    TopologyRequests(store, "words").remove_all()


@pytest.fixture
def imports_undone() -> Iterator[None]:
    """Imports of the original packages are undone for the next test, perhaps a test of heronpy's
    own in their place."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("streamparse", "pystorm"):
            del sys.modules[name]


class Sparse:
    """streamparse's commands, whose requests go to the service."""

    def __init__(self, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
        self._asked = asked
        util = pytest.importorskip("streamparse.util")
        stats_module = pytest.importorskip("streamparse.cli.stats")
        uptime_module = pytest.importorskip("streamparse.cli.worker_uptime")
        environment: dict[str, Any] = {"nimbus": "127.0.0.1", "use_ssh_for_nimbus": False}
        for module in (util, stats_module):
            monkeypatch.setattr(module, "get_env_config", lambda *_, **__: ("prod", environment))
        monkeypatch.setattr(util.requests, "get", self.get)
        self.display_stats = stats_module.display_stats
        self.display_worker_uptime = uptime_module.display_worker_uptime

    def get(self, url: str) -> "Sparse.Found":
        """As requests.get."""
        return self.Found(self._asked.get("/" + url.split("/", 3)[3]).json)

    class Found:
        """As a response of requests."""

        def __init__(self, value: Any) -> None:
            self._value = value

        def json(self) -> Any:
            return self._value


def rows_of(table: str) -> list[list[str]]:
    """The cells of streamparse's output."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.usefixtures("imports_undone")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_original_streamparse_shows_our_topologies(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sparse stats` in its three forms and `sparse worker_uptime`; every column has a value."""
    sparse = Sparse(asked, monkeypatch)
    sparse.display_stats("prod")
    cluster = capsys.readouterr().out
    sparse.display_stats("prod", topology_name="words")
    topology = capsys.readouterr().out
    sparse.display_stats("prod", topology_name="words", component_name="count")
    bolt = capsys.readouterr().out
    sparse.display_stats("prod", topology_name="words", component_name="lines")
    spout = capsys.readouterr().out
    sparse.display_worker_uptime("prod")
    uptime = capsys.readouterr().out
    for table in (cluster, topology, bolt, spout, uptime):
        assert "MISSING" not in table
        assert rows_of(table)
    assert [row[0] for row in rows_of(topology) if row[0] in ("lines", "split", "count")] == [
        "lines", "split", "count"
    ]  # fmt: skip
    assert ["here", "[1-1]", "1m 0s"] in [row[:3] for row in rows_of(uptime)]
    assert re.search(r"There|there", uptime)


def test_numbers_of_a_topology(asked: Asked) -> None:
    found = asked.get("/api/v1/topology/words").json
    (by_id,) = asked.get("/api/v1/topology/summary").json["topologies"]
    assert asked.get(f"/api/v1/topology/{by_id['id']}").json["name"] == "words"
    assert by_id["status"] == "ACTIVE"
    assert [each["window"] for each in found["topologyStats"]] == [
        "600", "10800", "86400", ":all-time"
    ]  # fmt: skip
    assert found["topologyStats"][-1]["acked"] == 90
    component = asked.get("/api/v1/topology/words/component/count").json
    assert component["inputStats"][0]["executed"] == 1000
    assert [each["executed"] for each in component["executorStats"]] == [600, 400]
    assert component["executorStats"][0]["workerLogLink"].endswith(
        "/topologies/containerfiledata?topology=words&container=2&path=count-4.log"
    )
    missing = asked.get("/api/v1/topology/nobody")
    assert missing.status == 404
    assert set(missing.json) == {"error", "errorMessage"}


def test_the_graph_and_the_links_to_stacks(asked: Asked) -> None:
    prefix = "/api/v1/topology/words"
    graph = asked.get(f"{prefix}/visualization").json
    assert {name: each[":type"] for name, each in graph.items()} == {
        "lines": "spout", "split": "bolt", "count": "bolt"
    }  # fmt: skip
    (read,) = graph["count"][":inputs"]
    assert (read[":component"], read[":stream"], read[":grouping"]) == (
        "split", "default", "fields"
    )  # fmt: skip
    assert asked.get(graph["count"][":link"]).json["id"] == "count"
    (row,) = asked.get(f"{prefix}/visualization-init").json["visualizationTable"]
    assert [each[":sani-stream"] for each in row[":row"]] == [read[":sani-stream"]]
    links = asked.get(f"{prefix}/profiling/dumpjstack/there-2").json["links"]
    assert [each.partition("?")[2] for each in links] == [
        "topology=words&instance=count%5B0%5D", "topology=words&instance=count%5B1%5D"
    ]  # fmt: skip
    for worker, status in (("here-2", 404), ("nowhere", 400)):
        assert asked.get(f"{prefix}/profiling/dumpjstack/{worker}").status == status


def test_a_component_with_several_streams_has_a_row_for_each() -> None:
    """Storm's, and Heron's names of them."""
    lines, split, count = SPEC.components
    two = (*split.outputs, StreamSpec("long", ("word",)))
    reads = (*count.inputs, InputSpec("split", "long", GroupingSpec(GroupingKind.SHUFFLE)))
    spec = replace(
        SPEC, components=(lines, replace(split, outputs=two), replace(count, inputs=reads))
    )
    by_stream, by_input = {"default": 90, "long": 10}, {"split/default": 80, "split/long": 5}
    numbers = stats(
        {
            "split": {"emitted": 100, "emitted_by_stream": by_stream},
            "count": {"executed": 85, "executed_by_input": by_input},
        },
        {2: {"emitted_by_stream": by_stream}, 4: {"executed_by_input": by_input}},
    )
    asked = Asked(lambda name: replace(snapshot(numbers), spec=spec))
    outputs = asked.get("/api/v1/topology/words/component/split").json["outputStats"]
    assert [(each["stream"], each["emitted"], each["transferred"]) for each in outputs] == [
        ("default", 90, 90), ("long", 10, 10)
    ]  # fmt: skip
    inputs = asked.get("/api/v1/topology/words/component/count").json["inputStats"]
    assert [(each["stream"], each["executed"], each["acked"]) for each in inputs] == [
        ("default", 80, None), ("long", 5, None)
    ]  # fmt: skip
    query = "/metrics?topology=words&component=split&metricname=__emit-count/long"
    assert asked.get(query).result["metrics"] == {
        "__emit-count/long": {"container_1_split_2": "10"}
    }
    every = asked.get("/metrics?topology=words&component=count").result["metrics"]
    assert every["__execute-count/split/long"] == {"container_2_count_4": "5"}
    asked.close()


def test_actions_are_requests_in_the_state_store(asked: Asked, store: FileStore) -> None:
    """The operation's runner finds requests there, after any end of the service."""
    prefix = "/api/v1/topology/words"
    body = {"rebalanceOptions": {"executors": {"count": 3}}}
    for path, sent in (
        ("activate", None), ("deactivate", None), ("rebalance/5", body), ("kill/7", None)
    ):  # fmt: skip
        answer = asked.post(f"{prefix}/{path}", sent)
        assert answer.status == 200, answer.text
        assert answer.json["status"] == "success"
        assert answer.json["topologyOperation"] == path.partition("/")[0]
    requests = list(TopologyRequests(store, "words").all().values())
    assert [each.kind for each in requests] == [
        OperationKind.ACTIVATE, OperationKind.DEACTIVATE, OperationKind.UPDATE, OperationKind.KILL
    ]  # fmt: skip
    assert requests[3].arguments == {"wait_secs": 7.0}
    plan = packing_from_json(requests[2].arguments["packing"])
    assert len(plan.tasks_of["count"]) == 3


def test_the_button_of_storms_pages_rebalances_without_options(
    asked: Asked, store: FileStore
) -> None:
    """Instances are even already, so a request is not made."""
    answer = asked.post("/api/v1/topology/words/rebalance/30")
    assert answer.status == 200
    assert (answer.json["status"], answer.json["operation"]) == ("success", None)
    assert "evenly already" in answer.json["message"]
    assert TopologyRequests(store, "words").all() == {}
    assert asked.post("/api/v1/topology/wrods/rebalance/30").status == 404


def test_actions_that_make_no_sense_change_nothing(asked: Asked, store: FileStore) -> None:
    prefix = "/api/v1/topology/words"
    for path, body, status in (
        ("rebalance/5", {}, 400),
        ("rebalance/5", {"rebalanceOptions": {"executors": {"count": 0}}}, 400),
        ("rebalance/5", {"rebalanceOptions": {"executors": {"nobody": 2}}}, 400),
        ("rebalance/5", {"rebalanceOptions": {"executors": {"count": 2}}}, 400),
        ("kill/99999", None, 400),
        ("kill/-1", None, 400),
    ):
        answer = asked.post(f"{prefix}/{path}", body)
        assert answer.status == status, answer.text
        assert answer.json["errorMessage"]
    assert asked.get(f"{prefix}/activate").status == 405
    assert TopologyRequests(store, "words").all() == {}


def test_a_cluster_that_runs_containers_by_itself_is_left_to_the_command_line() -> None:
    node = {"kind": "yarn", "cluster": "prod", "host": "here"}
    asked = Asked(lambda name: replace(found(name), scheduler=node))
    answer = asked.post("/api/v1/topology/words/kill/5")
    assert answer.status == 503
    assert "use `heronpy kill words`" in answer.json["errorMessage"]
    asked.close()


def test_another_sites_page_can_neither_act_nor_read(asked: Asked, store: FileStore) -> None:
    """Requests of a browser for a foreign page, and by DNS rebinding."""
    kill = "/api/v1/topology/words/kill/0"
    assert asked.post(kill, origin="http://evil.example").status == 403
    assert asked.post(kill, sec_fetch_site="cross-site").status == 403
    assert asked.post(kill, host="evil.example:8889").status == 421
    assert asked.get("/topologies", host="evil.example:8889").status == 421
    assert asked.get("/topologies", host="[::1]:8889").status == 200
    assert TopologyRequests(store, "words").all() == {}
    assert asked.post(kill, origin="http://127.0.0.1:8889").status == 200


def test_a_body_has_a_limit(asked: Asked) -> None:
    long = {"rebalanceOptions": {"executors": {"x" * 100_000: 1}}}
    assert asked.post("/api/v1/topology/words/rebalance/1", long).status == 413


def test_with_a_token_nobody_else_may_ask() -> None:
    """Under any name of a machine reached from outside."""
    asked = Asked(
        found,
        options=TrackerOptions(host="0.0.0.0", token="a-token-of-16-chars", first_poll_secs=60.0),
    )
    host = "stream-7.example:8889"
    for given in (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic a-token-of-16-chars"},
    ):
        for path in ("/topologies", "/metrics", "/docs", "/openapi.json", "/api/problems"):
            refused = asked.get(path, host=host, **given)
            assert refused.status == 401
            assert refused.headers["www-authenticate"] == "Bearer"
    allowed = asked.get("/topologies", host=host, authorization="Bearer a-token-of-16-chars")
    assert allowed.status == 200
    asked.close()
