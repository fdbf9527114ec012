"""Latencies by task and time, bytes between containers, and samples, in pages and routes."""

from collections.abc import Sequence
from typing import Any

import pytest

from heron_core.errors import HeronError
from heron_core.records import replace
from heron_core.stats import InstanceStats, StreamManagerStats
from heron_io.stream_sample import WantedSample, sampled
from heron_tracker.model.history import COARSE_SECS, Recorder
from heron_tracker.pages.containers_view import containers_page
from heron_tracker.pages.latency_view import MEAN, latency_map, means, measured_kinds
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import NOW, SUBMITTED_SECS, instance, snapshot, stats

START = SUBMITTED_SECS // COARSE_SECS * COARSE_SECS
NAMES = {4: "count[0]", 5: "count[1]"}


def rows(calls: int, secs: float, waits: int) -> Sequence[InstanceStats]:
    """Two tasks: one that is slower from second to second, one that does nothing."""
    busy = {"execute": secs, "process": 2 * secs}
    return (
        instance(4, latency_secs=busy, latency_samples={"execute": calls, "process": waits}),
        instance(5),
    )


def test_the_latency_of_a_task_is_the_mean_of_what_it_did_in_that_time() -> None:
    """Not of all that it ever did."""
    recorder = Recorder()
    points = recorder.take(rows(1000, 1.0, 10), START)
    points += recorder.take(rows(1100, 1.2, 12), START + 5.0)
    points += recorder.take(rows(1200, 5.2, 16), START + 12.0)
    points += recorder.flush()
    assert measured_kinds(points) == ["execute", "process"]
    found = [each.values[4][MEAN] for each in means(points, "execute")]
    assert found == pytest.approx([2.0, 40.0])
    assert all(5 not in each.values for each in means(points, "execute"))
    options = latency_map(points, NAMES, "process")
    assert options["yAxis"]["data"] == ["count[0]", "count[1]"]
    assert options["visualMap"]["max"] == pytest.approx(2000.0)
    assert [each[:2] for each in options["series"][0]["data"]] == [(0, 0), (1, 0)]


def test_without_any_measurement_the_map_is_empty() -> None:
    assert measured_kinds([]) == []
    assert latency_map([], NAMES, "execute")["series"][0]["data"] == ()


def counted(received: int, sent: int) -> Any:
    """Stats of a container that talks to another one, and of one of its instances."""
    manager = StreamManagerStats(
        waiting_bytes={}, peer_bytes_in={2: received, 0: 1}, peer_bytes_out={2: sent}
    )
    own = {1: {"received_bytes": received, "sent_bytes": sent}}
    return stats(instances=own, stream_managers={1: manager})


def test_what_containers_and_instances_send_is_told_by_the_second() -> None:
    previous = snapshot(counted(1000, 500), NOW - 2.0)
    page = containers_page(snapshot(counted(3048, 400)), previous)
    (row,) = page.network.rows
    assert (row.cells["container"].value, row.cells["peer"].value) == (1, 2)
    shown = {name: cell.text for name, cell in row.cells.items() if cell.text}
    assert shown == {
        "received": "2.98 KiB", "receiving": "1 KiB/s",
        "sent": "400 B", "sending": "-",
    }  # fmt: skip
    first = page.processes.rows[0].cells
    assert (first["receiving"].text, first["sending"].text) == ("1 KiB/s", "-")
    (row,) = containers_page(snapshot(counted(3048, 400))).network.rows
    assert row.cells["receiving"].text == "-", "nobody knows yet"


# --- samples --------------------------------------------------------------------------------------


class Master:
    """Answers the second question with a tuple more than the first one."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def __call__(self, name: str, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((name, command, arguments))
        if arguments.get("component") == "splt":
            raise HeronError("words has no component 'splt'")
        if command == "sample":
            return {"sample": 7}
        found = [{"task": 2, "instance": "split[0]", "values": {"word": "a"}}] * len(self.asked)
        return {"tuples": found, "complete": len(self.asked) > 2}


def test_a_sample_is_looked_for_until_it_is_there() -> None:
    master, rests = Master(), list[float]()
    found = sampled(lambda *asked: master("words", *asked), WantedSample("split"), rests.append)
    assert len(found) == 3
    assert len(rests) == 1
    assert [command for _, command, _ in master.asked] == ["sample", "sampled", "sampled"]


def test_operators_get_a_sample_by_the_route(tmp_path: object) -> None:
    asked = Asked()
    try:
        path = "/api/sample?topology=words&component=split&count=3"
        assert asked.get(path).status == 405
        assert asked.post(path).status == 503
        master = Master()
        asked.use(replace(asked.service, ask_master=master))
        found = asked.post(path).json
        assert (found["stream"], len(found["tuples"])) == ("default", 3)
        assert master.asked[0] == (
            "words", "sample",
            {"component": "split", "stream": "default", "count": 3, "secs": 10},
        )  # fmt: skip
        assert asked.post(path.replace("split", "splt")).status == 409
        assert asked.post(path.replace("words", "nosuch")).status == 404
        assert asked.post(path.replace("count=3", "count=1000")).status == 400
    finally:
        asked.close()
