"""Fields of Storm's UI REST: those of the documentation, and those that Storm's pages read."""

from collections.abc import Iterator
from typing import Any

import pytest

from heron_core.records import replace
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import NOW, instance, snapshot, stats

ERROR = "Traceback (most recent call last):\n  …\nValueError: no word"
RESOURCES = {
    f"{word}{name}"
    for word in ("requested", "assigned")
    for name in ("MemOnHeap", "MemOffHeap", "TotalMem", "Cpu")
}
HEAD = {
    "id", "name", "status", "uptime", "uptimeSeconds", "tasksTotal", "workersTotal",
    "executorsTotal", "replicationCount", "owner", "encodedId", *RESOURCES,
}  # fmt: skip
ERRORS = {
    "lastError", "errorHost", "errorPort", "errorTime", "errorLapsedSecs", "errorWorkerLogLink"
}  # fmt: skip
COUNTS = {"emitted", "transferred", "acked", "failed"}
WINDOW = {"window", "windowPretty", *COUNTS}
BOLT = {"executed", "executeLatency", "processLatency", "capacity", *COUNTS}
EXECUTOR = {"id", "encodedId", "uptime", "uptimeSeconds", "host", "port", "workerLogLink", *COUNTS}
COMPONENT = {
    "id", "encodedId", "name", "componentType", "executors", "tasks", "topologyId",
    "topologyStatus", "window", "windowHint", "inputStats", "outputStats", "executorStats",
    "componentErrors", "encodedTopologyId", "debug", "samplingPct", "profilerActive",
}  # fmt: skip
WORKER = {
    "supervisorId", "owner", "host", "port", "topologyId", "topologyName", "executorsTotal",
    "assignedMemOnHeap", "assignedMemOffHeap", "assignedCpu", "componentNumTasks", "uptime",
    "uptimeSeconds", "workerLogLink",
}  # fmt: skip
OWNER = {
    "owner", "totalTopologies", "totalTasks", "totalExecutors", "totalWorkers", "totalReqOnHeapMem",
    "totalReqOffHeapMem", "totalReqMem", "totalReqCpu", "totalAssignedOnHeapMem",
    "totalAssignedOffHeapMem", "totalMemoryUsage", "totalCpuUsage", "memoryGuarantee",
    "memoryGuaranteeRemaining", "cpuGuarantee", "cpuGuaranteeRemaining", "isolatedNodes",
}  # fmt: skip
FIELDS: dict[str, dict[str, set[str]]] = {
    "cluster/summary": {
        "": {
            "stormVersion", "supervisors", "topologies", "slotsTotal", "slotsUsed", "slotsFree",
            "executorsTotal", "tasksTotal", "schedulerDisplayResource", "totalMem", "totalCpu",
            "availMem", "availCpu", "memAssignedPercentUtil", "cpuAssignedPercentUtil",
        },
    },
    "supervisor/summary": {
        "": {"supervisors", "schedulerDisplayResource"},
        "supervisors": {
            "id", "host", "uptime", "uptimeSeconds", "slotsTotal", "slotsUsed", "totalMem",
            "totalCpu", "usedMem", "usedCpu",
        },
    },
    "cluster/configuration": {"": {"ui.pagination", "ui.title", "topology.reliability.mode"}},
    "nimbus/summary": {
        "": {"nimbuses"},
        "nimbuses": {"host", "port", "nimbusLogLink", "status", "version", "nimbusUpTime"},
    },
    "owner-resources": {"": {"owners", "schedulerDisplayResource"}, "owners": OWNER},
    "owner-resources/ada": {
        "": {"topologies", "schedulerDisplayResource", *OWNER},
        "topologies": HEAD,
    },
    "supervisor?host=there&sys=false": {
        "": {"supervisors", "workers", "schedulerDisplayResource"},
        "supervisors": {"id", "host", "uptime", "slotsTotal", "slotsUsed", "version"},
        "workers": WORKER,
    },
    "topology/summary": {"": {"topologies", "schedulerDisplayResource"}, "topologies": HEAD},
    "topology/words": {
        "": {
            "msgTimeout", "window", "windowHint", "schedulerDisplayResource", "debug",
            "samplingPct", "topologyStats", "workers", "spouts", "bolts", "configuration", *HEAD,
        },
        "topologyStats": {"completeLatency", *WINDOW},
        "workers": WORKER,
        "spouts": {"spoutId", "encodedSpoutId", "executors", "tasks", "completeLatency", *COUNTS,
                   *ERRORS},
        "bolts": {"boltId", "encodedBoltId", "executors", "tasks", *BOLT, *ERRORS},
    },
    "topology/words/component/count": {
        "": {"boltStats", *COMPONENT},
        "boltStats": {*WINDOW, *BOLT},
        "inputStats": {"component", "stream", "executed", "executeLatency", "processLatency",
                       "acked", "failed"},
        "executorStats": {*EXECUTOR, *BOLT},
        "componentErrors": {"error", "time", "errorTime", "errorLapsedSecs", "errorHost",
                            "errorPort", "errorWorkerLogLink"},
    },
    "topology/words/component/lines": {
        "": {"spoutSummary", *COMPONENT},
        "spoutSummary": {"completeLatency", *WINDOW},
        "outputStats": {"stream", "emitted", "transferred", "completeLatency", "acked", "failed"},
        "executorStats": {"completeLatency", *EXECUTOR},
    },
}  # fmt: skip
"""Route -> list in the answer, or "" for the whole answer -> fields of each row."""


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    """One service for all tests; `count` has had an error."""
    found = snapshot(stats({"count": {"errors": 2, "last_error": ERROR}}, {5: {"errors": 2}}))
    made = Asked(lambda name: found)
    yield made
    made.close()


@pytest.mark.parametrize("route", FIELDS)
def test_every_field_is_there(asked: Asked, route: str) -> None:
    """The lists of the service are not empty, so each row is checked."""
    answer: dict[str, Any] = asked.get(f"/api/v1/{route}").json
    for part, fields in FIELDS[route].items():
        rows = answer[part] if part else [answer]
        assert rows, part
        for row in rows:
            assert fields <= set(row), (part, fields - set(row))


def test_where_an_error_was_and_what_containers_have(asked: Asked) -> None:
    found = asked.get("/api/v1/topology/words").json
    (count,) = [each for each in found["bolts"] if each["boltId"] == "count"]
    assert (count["errorHost"], count["errorPort"]) == ("there", 2)
    assert count["errorWorkerLogLink"].endswith("&path=count-5.log")
    assert [each["errorHost"] for each in found["spouts"]] == [""]
    first, second = found["workers"]
    assert first["componentNumTasks"] == {"lines": 1, "split": 2}
    assert (second["host"], second["port"], second["uptime"]) == ("there", 2, "1h 2m 5s")
    assert (second["assignedMemOnHeap"], second["assignedCpu"]) == (1024.0, 100.0)
    assert (found["requestedTotalMem"], found["assignedCpu"]) == (2048.0, 200.0)


def test_what_pages_put_into_the_code_of_their_buttons_is_a_number(asked: Asked) -> None:
    """An absent number would leave `confirmAction(…, true, , …)` as the code of a button."""
    plain = snapshot(stats(), at=NOW)
    spec = plain.spec
    assert spec is not None
    unset = replace(plain, spec=replace(spec, config={}))
    other = Asked(lambda name: unset)
    try:
        for each in (asked, other):
            found = each.get("/api/v1/topology/words").json
            part = each.get("/api/v1/topology/words/component/count").json
            numbers = (found["msgTimeout"], found["samplingPct"], part["samplingPct"])
            assert all(isinstance(number, int | float) for number in numbers)
    finally:
        other.close()


def test_when_an_error_was_is_known_from_the_history() -> None:
    """Storm's pages show the present time for an absent time."""
    failed = stats({"count": {"errors": 2, "last_error": ERROR}}, {5: {"errors": 2}})
    asked = Asked(lambda name: snapshot(failed))
    try:
        (error,) = asked.get("/api/v1/topology/words/component/count").json["componentErrors"]
        assert (error["time"], error["errorTime"], error["errorLapsedSecs"]) == (None, None, None)
        for at, errors in ((-60, 0), (-50, 1), (-40, 2), (-30, 2)):
            row = instance(5, errors=errors)
            asked.history.record(snapshot(failed).id, [row], NOW + at)
        (error,) = asked.get("/api/v1/topology/words/component/count").json["componentErrors"]
        assert (error["errorTime"], error["errorLapsedSecs"]) == (int(NOW) - 40, 40)
        assert error["time"] == (int(NOW) - 40) * 1000
        assert error["errorHost"] == "there"
        bolts = asked.get("/api/v1/topology/words").json["bolts"]
        assert [each["errorTime"] for each in bolts] == [None, int(NOW) - 40]
    finally:
        asked.close()


REQUESTS: dict[str, tuple[str, ...]] = {
    "index.html": (
        "cluster/configuration", "cluster/summary", "nimbus/summary", "owner-resources",
        "topology/summary", "supervisor/summary",
    ),
    "topology.html?id=words": (
        "cluster/configuration", "topology/words?sys=false", "topology/words?sys=true&window=600",
        "topology/words/lag", "topology/words/logconfig",
        "topology/words/visualization-init?sys=false",
        "topology/words/visualization?sys=false",
    ),
    "component.html?id=count&topology_id=words": (
        "cluster/configuration", "topology/words/component/count?sys=false",
    ),
    "supervisor.html?host=there": ("supervisor?host=there&sys=false",),
    "supervisor.html?id=here": ("supervisor?id=here&sys=false&window=600",),
    "owner.html?id=ada": ("cluster/configuration", "owner-resources/ada"),
}  # fmt: skip
"""Page of Storm's UI 2.8 -> requests of the page's scripts (the pages are absent from Maven's
repository)."""


@pytest.mark.parametrize("page", REQUESTS)
def test_no_request_of_storms_pages_fails(asked: Asked, page: str) -> None:
    for path in REQUESTS[page]:
        answer = asked.get(f"/api/v1/{path}")
        assert (path, answer.status) == (path, 200)
        assert answer.json is not None


def test_what_is_not_there_is_named(asked: Asked) -> None:
    for path, status, text in (
        ("owner-resources/bob", 404, "user 'bob' has no topologies"),
        ("supervisor?host=nowhere", 404, "no container runs on 'nowhere'"),
        ("supervisor", 400, "asked for by its id or host"),
        ("topology/none/lag", 404, "none"),
    ):
        answer = asked.get(f"/api/v1/{path}")
        assert answer.status == status
        assert text in answer.json["errorMessage"]


def test_an_owner_and_a_machine_have_what_their_topologies_have(asked: Asked) -> None:
    (owner,) = asked.get("/api/v1/owner-resources").json["owners"]
    assert (owner["owner"], owner["totalTopologies"], owner["totalWorkers"]) == ("ada", 1, 2)
    assert (owner["totalMemoryUsage"], owner["totalCpuUsage"]) == (2048.0, 200.0)
    machine = asked.get("/api/v1/supervisor?host=there").json
    assert [row["host"] for row in machine["supervisors"]] == ["there"]
    assert [(row["host"], row["port"], row["owner"]) for row in machine["workers"]] == [
        ("there", 2, "ada")
    ]
    (nimbus,) = asked.get("/api/v1/nimbus/summary").json["nimbuses"]
    assert nimbus["status"] == "Leader"
