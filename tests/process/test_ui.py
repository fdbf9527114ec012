"""`heronpy ui` beside a topology that runs: found, shown and ended through the service."""

import json
import re
import signal
from typing import Any

import httpx
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.otlp_support import Receiver, receiver
from tests.process.process_support import TOPOLOGIES, Place, Running, until

OPEN_METRICS = {"accept": "application/openmetrics-text; version=1.0.0"}
INTERRUPTED = 130


def address(service: Running) -> str:
    """Address in the service's output."""
    found = service.until(lambda: re.search(r"serving at (\S+)", service.out), "it serves")
    return found[1]


def executed(client: httpx.Client) -> float:
    """Tuples that bolts have executed, by OpenMetrics; 0 without a sample."""
    text = client.get("/metrics", headers=OPEN_METRICS).text
    return sum(
        each.value
        for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        for each in family.samples
        if each.name == "heron_component_executed_tuples_total"
        and each.labels["component"] == "add"
    )


def families(text: str) -> set[str]:
    """Their names."""
    found = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {each.name for each in found}


def emitted(address: str) -> float:
    """Tuples of the spout, read from the topology without the service."""
    name = 'heron_stream_emitted_tuples_total{component="numbers",stream="default"'
    text = httpx.get(address, headers=OPEN_METRICS, timeout=60.0).text
    found = [line.split()[-1] for line in text.splitlines() if line.startswith(name)]
    return sum(map(float, found))


def result(client: httpx.Client, path: str) -> Any:
    found = client.get(path).raise_for_status().json()
    assert found["status"] == "success"
    return found["result"]


def counted(client: httpx.Client, name: str) -> int:
    """By Heron's metrics; a request for one topology refreshes its master's numbers sooner."""
    metric = "__execute-count"
    query = {"topology": name, "component": "add", "metricname": metric}
    answer = client.get("/topologies/metrics", params=query)
    found = answer.json()["result"]["metrics"][metric] if answer.is_success else {}
    return sum(map(int, found.values()))


def tuples_are_traced(name: str, traces: Receiver) -> None:
    """From the spout to the acking bolt."""
    spout, bolt = until(lambda: traces.complete("numbers", "add"), "a tuple is traced")
    assert (spout.service, bolt.parent, spout.is_error) == (name, spout.id, False)
    assert bolt.attributes["heronpy.outcome"] == "executed"


def tuples_are_sampled(place: Place, client: httpx.Client, name: str) -> None:
    """By the command, and by the service."""
    found = place.heronpy("sample", name, "numbers", "--count", 2).succeeded()
    first, second = map(json.loads, found.out.splitlines())
    assert (first["instance"], second["instance"]) == ("numbers[0]", "numbers[0]")
    assert 0 < first["values"]["number"] < second["values"]["number"]
    query = {"topology": name, "component": "numbers", "count": "1"}
    (tup,) = client.post("/api/sample", params=query).raise_for_status().json()["tuples"]
    assert tup["values"]["number"] > second["values"]["number"]


def is_interrupted(service: Running) -> None:
    """By Ctrl-C, in good order."""
    service.signal(signal.SIGINT)
    ended = service.wait()
    assert ended.code == INTERRUPTED
    assert ended.errors == []
    assert "Traceback" not in ended.err


def test_a_topology_is_seen_and_ended_through_the_service(place: Place) -> None:
    """The service starts before the topology, finds the topology, and outlives its end."""
    name = place.name
    service = place.start("ui", "--port", 0)
    with receiver() as traces, httpx.Client(base_url=address(service), timeout=20.0) as client:
        assert result(client, "/topologies") == {}
        taken = place.heronpy("ui", "--port", client.base_url.port)
        assert taken.code == 1
        assert "cannot be used: Address already in use" in taken.errors[0]

        submitted = place.heronpy(
            "submit", TOPOLOGIES / "forever.py", "-n", "Forever", "-N", name,
            "-o", "topology.metrics.port=0", "--log-format", "json",
            "-o", "topology.trace.sample=20", "-o", f"topology.trace.endpoint={traces.endpoint}",
            secs=60.0,
        )  # fmt: skip
        submitted.succeeded()
        until(lambda: counted(client, name) > 0, "tuples are counted")
        assert executed(client) > 0
        (names,) = result(client, "/topologies")["local"].values()
        assert names == {"default": [name]}
        plan = result(client, f"/topologies/physicalplan?topology={name}")
        assert [len(each) for each in plan["bolts"].values()] == [2]
        (instance, _) = plan["bolts"]["add"]
        pid = result(client, f"/pid?topology={name}&instance={instance}")["stdout"]
        assert int(pid) in {each.pid for each in place.processes()}
        log = f"/containerfiledata?topology={name}&container=0&path=topology-master.log"
        lines = [json.loads(each) for each in result(client, log)["data"].splitlines()]
        (line,) = [each for each in lines if each["message"].startswith("metrics at ")]
        assert (line["process"], line["level"]) == ("topology-master", "INFO")
        own = line["message"].split()[-1]
        until(lambda: emitted(own) > 0, "the topology master tells its numbers itself")
        of_all = client.get("/metrics", headers=OPEN_METRICS).text
        in_own = families(httpx.get(own, headers=OPEN_METRICS, timeout=60.0).text)
        assert in_own | {"heron_topology_problems"} == families(of_all)
        until(
            lambda: client.get(f"/api/problems?topology={name}").json()["summary"]
            .startswith("nothing holds it back"),
            "it runs well",
        )  # fmt: skip
        tuples_are_traced(name, traces)
        tuples_are_sampled(place, client, name)
        (row,) = client.get("/api/v1/topology/summary").json()["topologies"]
        assert (row["name"], row["status"], row["tasksTotal"]) == (name, "ACTIVE", 3)

    service.signal(signal.SIGKILL)
    service.wait()
    before = emitted(own)
    until(lambda: emitted(own) > before, "the topology goes on without the service")
    service = place.start("ui", "--port", 0)
    with httpx.Client(base_url=address(service), timeout=20.0) as client:
        until(lambda: name in str(result(client, "/topologies")), "it is found again")
        assert int(result(client, f"/pid?topology={name}&instance={instance}")["stdout"]) == int(
            pid
        )
        client.post(f"/api/v1/topology/{row['id']}/kill/0").raise_for_status()
        until(lambda: not result(client, "/topologies"), "the topology is gone")
    is_interrupted(service)
    place.nothing_is_left(20.0)
