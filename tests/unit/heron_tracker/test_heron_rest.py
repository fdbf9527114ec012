"""Heron's tracker: fields read by its explorer, its UI and scripts, one by one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_core.stats import StreamManagerStats
from heron_core.topology_events import TopologyEvent
from heron_tracker.model.history import FINE_SECS
from heron_tracker.model.snapshot import TopologySnapshot
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import NOW, instance, snapshot, stats

TRACE = "Traceback (most recent call last):\n  …\nValueError: no word"
CRASH = TopologyEvent(at=NOW - 60, kind="crash", what="was killed", container=2, task=5)
STATS = stats(
    {"count": {"errors": 2, "last_error": TRACE}},
    {
        4: {"executed": 600, "emitted": 0, "capacity": 0.5, "errors": 2, "user": {"words": 7}},
        5: {"executed": 400},
    },
    events=(CRASH,),
    stream_managers={
        1: StreamManagerStats(waiting_bytes={3: 0}, caused_ms={4: 250}),
        2: StreamManagerStats(
            waiting_bytes={4: 70},
            waiting_tuples={4: 9},
            caused_ms={4: 1500},
            counters={"backpressure_initiated_ms": 1600, "backpressure_aggr_ms": 1700},
        ),
    },
)


def found(name: str) -> TopologySnapshot:
    return snapshot(STATS)


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    """One service for all questions, with three minutes of history."""
    made = Asked(found)
    topology = snapshot(STATS).id
    for at in range(-180, 1, FINE_SECS):
        rows = [
            instance(
                task,
                executed=(executed := 600 * task + 2 * at),
                pid=1,
                latency_secs={"execute": executed * 0.05},
                latency_samples={"execute": executed},
                backpressure_caused_ms=10 * (180 + at) if task == 4 else 0,
            )
            for task in (4, 5)
        ]
        made.history.record(topology, rows, NOW + at)
    yield made
    made.close()


ENVELOPE = {"status", "version", "executiontime", "message", "result"}
EXECUTION_STATE = {
    "cluster", "environ", "role", "jobname", "submission_time", "submission_user",
    "release_username", "release_tag", "release_version", "extra_links", "has_physical_plan",
    "has_packing_plan", "has_tmanager_location", "has_scheduler_location", "status",
}  # fmt: skip
FIELDS: dict[str, set[str]] = {
    "executionstate": EXECUTION_STATE,
    "metadata": {each for each in EXECUTION_STATE if not each.startswith(("has_", "status"))},
    "schedulerlocation": {"name", "http_endpoint", "job_page_link"},
    "logicalplan": {"stages", "spouts", "bolts"},
    "packingplan": {"id", "container_plans"},
    "physicalplan": {
        "instances", "instance_groups", "stmgrs", "spouts", "bolts", "config", "components"
    },
    "runtimestate": {
        "has_physical_plan", "has_packing_plan", "has_tmanager_location", "has_scheduler_location",
        "stmgrs",
    },
    "info": {
        "execution_state", "id", "logical_plan", "metadata", "name", "packing_plan",
        "physical_plan", "runtime_state", "scheduler_location", "tmanager_location",
    },
}  # fmt: skip
"""Route -> the fields of upstream's models of its answer."""


@pytest.mark.parametrize("route", FIELDS)
def test_parts_of_a_topology(asked: Asked, route: str) -> None:
    """Equal under both paths; cluster, role and environ may be given and have to fit."""
    query = f"{route}?topology=words"
    answer = asked.get(f"/topologies/{query}&cluster=local&role=ada&environ=default")
    assert set(answer.json) == ENVELOPE
    assert FIELDS[route] <= set(answer.result)
    assert asked.get(f"/{query}").result == answer.result
    other = asked.get(f"/{query}&cluster=mars")
    assert other.status == 404
    assert set(other.json) == ENVELOPE - {"result"}
    assert other.json["status"] == "failure"
    assert "no topology called 'words' in 'mars' is running" in other.json["message"]


def test_lists(asked: Asked) -> None:
    assert asked.get("/topologies").result == {"local": {"ada": {"default": ["words"]}}}
    assert asked.get("/topologies?cluster=mars&cluster=venus").result == {}
    states = asked.get("/topologies/states?environ=default").result
    assert states["local"]["default"]["words"]["status"] == "Running"
    assert asked.get("/machines").result == {"local": {"default": {"words": ["here", "there"]}}}
    assert asked.get("/clusters").result == ["local"]


def test_the_logical_plan(asked: Asked) -> None:
    plan = asked.get("/topologies/logicalplan?topology=words").result
    assert plan["stages"] == 2
    assert plan["spouts"]["lines"]["outputs"] == [{"stream_name": "default"}]
    assert plan["spouts"]["lines"]["spout_type"] == "default"
    count = plan["bolts"]["count"]
    assert count["inputComponents"] == ["split"]
    assert count["inputs"] == [
        {"stream_name": "default", "component_name": "split", "grouping": "FIELDS"}
    ]


def test_secrets_are_in_no_answer(asked: Asked) -> None:
    for route in ("info", "physicalplan", "logicalplan", "config"):
        answer = asked.get(f"/topologies/{route}?topology=words")
        assert "hunter2" not in answer.text
    config = asked.get("/physicalplan?topology=words").result["components"]["count"]["config"]
    assert config == {"database.password": "*****", "url": "db://*****@host/x", "size": 3}
    assert "hunter2" not in asked.get("/api/v1/topology/words").text


def test_the_physical_plan(asked: Asked) -> None:
    plan = asked.get("/topologies/physicalplan?topology=words").result
    assert plan["bolts"]["count"] == ["container_2_count_4", "container_2_count_5"]
    assert plan["instances"]["container_2_count_4"] == {
        "id": "container_2_count_4", "name": "count", "stmgr_id": "stmgr-2",
        "logfile": "count-4.log",
    }  # fmt: skip
    manager = plan["stmgrs"]["stmgr-2"]
    assert (manager["host"], manager["port"], manager["pid"]) == ("there", 4712, 91)
    assert manager["instance_ids"] == plan["instance_groups"]["container_2"]
    packing = asked.get("/packingplan?topology=words").result["container_plans"][1]
    assert packing["id"] == 2
    assert packing["required_resources"] == {"cpu": 1.0, "ram": 2**30, "disk": 2**30}
    assert packing["instances"][0]["component_name"] == "count"


def test_metrics_since_the_start_and_of_the_last_minute(asked: Asked) -> None:
    query = "/topologies/metrics?topology=words&component=count"
    every = asked.get(query).result
    assert every["interval"] == -1
    assert every["metrics"]["__execute-count"]["container_2_count_4"] == "600"
    assert every["metrics"]["__capacity"]["container_2_count_4"] == "0.5"
    assert every["metrics"]["words"] == {"container_2_count_4": "7"}
    names = "&metricname=__execute-count/split/default&metricname=words&metricname=__no-such"
    some = asked.get(f"{query}{names}&instance=container_2_count_4&interval=60").result
    added = some["metrics"].pop("__execute-count/split/default")
    assert some["metrics"] == {"words": {"container_2_count_4": "7"}}
    assert set(added) == {"container_2_count_4"}
    assert 100 <= int(added["container_2_count_4"]) <= 120, "two a second"
    wrong = asked.get("/topologies/metrics?topology=words&component=nobody")
    assert wrong.status == 404
    assert "components: lines, split, count" in wrong.json["message"]


def timeline(asked: Asked, route: str, **more: Any) -> Any:
    """Two whole minutes of the history."""
    start = int(NOW) // 60 * 60 - 120
    query = "&".join(f"{key}={value}" for key, value in more.items())
    times = f"starttime={start}&endtime={start + 60}"
    return asked.get(f"/topologies/{route}?topology=words&{times}&{query}").result


def test_a_timeline_has_a_value_a_minute(asked: Asked) -> None:
    for route in ("metricstimeline", "metrics/timeline"):
        found = timeline(asked, route, component="count", metricname="__execute-count")
        assert {"component", "starttime", "endtime", "timeline"} == set(found)
        of_one = found["timeline"]["__execute-count"]["container_2_count_4"]
        start = found["starttime"]
        assert of_one == {str(start): 120.0, str(start + 60): 120.0}


def test_a_timeline_has_a_limit_of_values(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty days of a thousand instances by minutes would be gigabytes."""
    monkeypatch.setattr("heron_tracker.heron_api.metrics.VALUES_MAX", 1000)
    times = f"starttime={int(NOW) - 36_000}&endtime={int(NOW)}"
    for path in (
        f"metricstimeline?topology=words&component=count&metricname=__capacity&{times}",
        f"metricsquery?topology=words&query=TS(count,*,__capacity)&{times}",
    ):
        answer = asked.get(f"/topologies/{path}")
        assert answer.status == 400
        assert "2 instances of count by minutes are 1200 values" in answer.json["message"]


def test_a_query_of_herons_language(asked: Asked) -> None:
    query = "DIVIDE(TS(count,*,__execute-count),SUM(TS(count,*,__execute-count)))"
    for route in ("metricsquery", "metrics/query"):
        found = timeline(asked, route, query=query)["timeline"]
        assert [each["instance"] for each in found] == [
            "container_2_count_4",
            "container_2_count_5",
        ]
        assert all(set(each["data"].values()) == {0.5} for each in found)
    (total,) = timeline(asked, "metricsquery", query="SUM(TS(count,*,__execute-count))")["timeline"]
    assert set(total) == {"data"}
    assert set(total["data"].values()) == {240.0}


QUERIES_OF_HERONS_UI = {
    "capacity": "DIVIDE(DEFAULT(0,MULTIPLY(TS({0},{1},__execute-count/default),"
    "TS({0},{1},__execute-latency/default))),60000000000)",
    "failures": "DEFAULT(0,DIVIDE(TS({0},{1},__fail-count/default),SUM(DEFAULT(1,"
    "TS({0},{1},__execute-count/default)),DEFAULT(0,TS({0},{1},__fail-count/default)))))",
    "cpu": "DEFAULT(0,TS({0},{1},__jvm-process-cpu-load))",
    "memory": "DIVIDE(DEFAULT(0,TS({0},{1},__jvm-memory-used-mb)),"
    "DEFAULT(1,TS({0},{1},__jvm-memory-mb-total)))",
    "gc": "RATE(TS({0},{1},__jvm-gc-collection-time-ms))",
    "backpressure": "DEFAULT(0,TS(__stmgr__,*,__time_spent_back_pressure_by_compid/{1}))",
}
"""In the client's form, for a component and an instance."""


@pytest.mark.parametrize("name", QUERIES_OF_HERONS_UI)
def test_the_queries_of_herons_ui_are_answered(asked: Asked, name: str) -> None:
    query = QUERIES_OF_HERONS_UI[name].format("count", "container_2_count_4")
    rows = timeline(asked, "metrics/query", query=query)["timeline"]
    values = [value for row in rows for value in row["data"].values()]
    if name == "capacity":
        # 120 tuples a minute of 50 milliseconds each
        assert values == pytest.approx([0.1, 0.1])
    elif name == "failures":
        assert set(values) <= {0.0}
    elif name == "backpressure":
        # ten milliseconds of each second
        assert [row["instance"] for row in rows] == ["stmgr-2"]
        assert values == pytest.approx([600.0, 600.0])


CAUSED = "__time_spent_back_pressure_by_compid/container_2_count_4"


def test_stream_managers_say_which_instance_caused_back_pressure(asked: Asked) -> None:
    """Heron's pages colour an instance by the milliseconds of the last minutes."""
    path = "/topologies/metrics?topology=words&component=__stmgr__"
    named = asked.get(f"{path}&metricname={CAUSED}").result["metrics"]
    assert named == {CAUSED: {"stmgr-1": "250", "stmgr-2": "1500"}}
    lately = asked.get(f"{path}&metricname={CAUSED}&interval=60").result["metrics"]
    assert lately == {CAUSED: {"stmgr-2": "600"}}
    every = asked.get(path).result["metrics"]
    assert every[CAUSED] == named[CAUSED]
    assert every["__connection_buffer_by_instanceid/container_2_count_4/bytes"] == {"stmgr-2": "70"}
    length = "__connection_buffer_length_by_instanceid/container_2_count_4/packets"
    assert every[length] == {"stmgr-2": "9"}
    for name, ms in (("initiated", "1600"), ("aggr", "1700")):  # stmgr-1 is of an earlier version
        metric = f"__server/__time_spent_back_pressure_{name}"
        whole = asked.get(f"{path}&metricname={metric}").result["metrics"]
        assert whole == {metric: {"stmgr-2": ms}}
        assert every[metric] == whole[metric]
    one = asked.get(f"{path}&metricname={CAUSED}&instance=stmgr-1").result["metrics"]
    assert one == {CAUSED: {"stmgr-1": "250"}}
    unknown = "__time_spent_back_pressure_by_compid/container_9_count_4"
    assert asked.get(f"{path}&metricname={unknown}").result["metrics"] == {}


def test_a_bolts_metrics_by_herons_names(asked: Asked) -> None:
    """By the stream alone, as Heron counts them besides."""
    names = ("__execute-count/default", "__execute-latency/default", "__emit-count/default")
    query = "&".join(f"metricname={name}" for name in names)
    answer = asked.get(f"/topologies/metrics?topology=words&component=count&{query}")
    metrics = answer.result["metrics"]
    assert metrics["__execute-count/default"]["container_2_count_4"] == "600"
    assert float(metrics["__execute-latency/default"]["container_2_count_4"]) >= 0
    assert set(metrics) <= set(names)


def test_each_answer_says_how_long_it_took(asked: Asked) -> None:
    """Read by heron-explorer."""
    for path in ("/topologies", "/topologies/states", "/nowhere"):
        assert 0 <= float(asked.get(path).headers["x-process-time"]) < 60


def test_exceptions_and_their_summary(asked: Asked) -> None:
    query = "topology=words&component=count"
    every = asked.get(f"/topologies/exceptions?{query}").result
    assert [each["instance_id"] for each in every] == ["container_2_count_4", "container_2_count_5"]
    assert every[0]["stack_trace"] == TRACE
    assert every[0]["count"] == "2"
    assert every[0]["hostname"] == "there"
    assert every[1]["stack_trace"] == "crash: was killed"
    assert every[1]["lasttime"] == str(int(NOW - 60))
    summary = asked.get(f"/topologies/exceptionsummary?{query}").result
    assert [each["class_name"] for each in summary] == ["ValueError", "crash"]
    assert set(summary[0]) == {"class_name", "lasttime", "firsttime", "count"}


def test_the_process_of_an_instance(asked: Asked) -> None:
    """The stack is taken on its host."""
    for name in ("count[0]", "container_2_count_4"):
        assert asked.get(f"/pid?topology=words&instance={name}").result["stdout"] == "104"
    elsewhere = asked.get("/jstack?topology=words&instance=count[0]")
    assert elsewhere.status == 503
    assert "`py-spy dump --pid 104` there" in elsewhere.json["message"]
    assert asked.get("/pid?topology=words&instance=nobody").status == 404


def test_arguments_that_make_no_sense(asked: Asked) -> None:
    """One line each, in the envelope."""
    for path, expected in (
        ("/logicalplan", "topology: Field required"),
        ("/metricsquery?topology=words&query=TS(a)&starttime=0&endtime=1", "TS takes component"),
        ("/metricsquery?topology=words&query=1&starttime=9&endtime=1", "starttime is greater"),
        (f"/metricsquery?topology=words&query=1&starttime=0&endtime={31 * 86400}", "apart"),
        ("/metricsquery?topology=words&query=1&starttime=x&endtime=1", "starttime: "),
    ):
        answer = asked.get(path)
        assert answer.status == 400
        assert expected in answer.json["message"]
        assert "\n" not in answer.json["message"]


def test_logs_are_read_in_pieces_and_nothing_else_is(tmp_path: Path) -> None:
    """Links to the outside, `..`, absolute paths: each a 404."""
    logs = tmp_path / "topologies" / "words" / "logs"
    logs.mkdir(parents=True)
    (logs / "count-4.log").write_text("one\ntwo\nthree\n")
    (tmp_path / "secret").write_text("hunter2")
    (logs / "link").symlink_to(tmp_path / "secret")
    (logs / "up").symlink_to(tmp_path)

    def with_logs(name: str) -> TopologySnapshot:
        from heron_core.records import replace

        bare = snapshot(STATS)
        return replace(bare, execution={**bare.execution, "logs": str(logs)})

    asked = Asked(with_logs)
    query = "/containerfiledata?topology=words&container=2"
    for name in ("count-4.log", "log-files/container_2_count_4.log.0", "./count-4.log"):
        piece = asked.get(f"{query}&path={name}&offset=4&length=3").result
        assert piece == {"offset": 4, "length": 3, "data": "two"}
    assert asked.get(f"{query}&path=count-4.log&offset=-6").result["data"] == "three\n"
    assert asked.get(f"{query}&path=count-4.log&offset=99").result["data"] == ""
    listed = asked.get("/containerfilestats?topology=words&container=2&path=.").result
    assert set(listed["count-4.log"]) >= {"formatted_stat", "is_dir", "path"}
    for path in ("../../secret", "/etc/passwd", "link", "up/secret", "up", "%00", "a/../../../x"):
        for route in ("containerfiledata", "containerfilestats"):
            answer = asked.get(f"/{route}?topology=words&container=2&path={path}")
            assert answer.status == 404, path
            assert "hunter2" not in answer.text
    assert asked.get("/containerfiledata?topology=words&container=9&path=x").status == 404
    asked.close()


def test_logs_that_are_on_another_machine() -> None:
    """The state store names a foreign folder, perhaps of any user."""
    asked = Asked(lambda name: snapshot(STATS))
    answer = asked.get("/containerfiledata?topology=words&container=2&path=count-4.log")
    assert answer.status == 503
    assert "the logs of words are not on this machine" in answer.json["message"]
    asked.close()


def test_a_master_that_hangs_holds_up_no_request() -> None:
    """Plans are answered without the master; numbers are refused with the reason."""
    import threading

    let_go = threading.Event()

    def hanging(name: str) -> TopologySnapshot:
        let_go.wait(30.0)
        return snapshot()

    from heron_tracker.options import TrackerOptions

    asked = Asked(hanging, options=TrackerOptions(first_poll_secs=0.05))
    assert asked.get("/logicalplan?topology=words").status == 404, "nothing is known of it yet"
    assert asked.get("/metrics").status == 200
    assert asked.get("/api/problems").json == []
    let_go.set()
    asked.close()
