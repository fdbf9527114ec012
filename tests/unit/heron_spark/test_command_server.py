"""What a detached run is asked and tells, and the logs of what its tasks print."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_core.config import LogSettings
from heron_core.instance_report import (
    DISTRIBUTIONS,
    NOTHING_REPORTED,
    Distribution,
    to_wire,
)
from heron_core.plans import TopologyState
from heron_core.records import replace
from heron_core.state_tree import execution_path, master_path
from heron_core.topology import ComponentSpec, GroupingKind, GroupingSpec, InputSpec, TopologySpec
from heron_core.wire import messages
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_spark.backend.command_server import CommandServer
from heron_spark.backend.detached import Logs
from heron_spark.compile.plan import one_container
from heron_spark.driver.progress import Progress

READS = (InputSpec("words", "default", GroupingSpec(GroupingKind.SHUFFLE)),)
SPEC = TopologySpec(
    "t",
    (
        ComponentSpec("words", True, "m.Words", 1),
        ComponentSpec("count", False, "m.Count", 2, (), READS),
    ),
)
PACKING = one_container(SPEC)


class Paused:
    """A query that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[bool] = []

    def pause(self, paused: bool) -> None:
        self.told.append(paused)

    @property
    def drained(self) -> bool:
        return self.told[-1]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StateStore]:
    made = open_store(f"file://{tmp_path}/state")
    made.put(execution_path("t"), {"state": TopologyState.RUNNING, "host": "here"})
    yield made
    made.close()


def latency(number: int) -> Distribution:
    return Distribution(number * 0.001, number, {5: number})


def progress(batch: int, executed: int) -> Progress:
    """A batch as it is told by the workers: through JSON, so keys are text."""
    results = [
        {
            "task": task,
            "label": f"{each.component}[{each.index}]",
            "printed": [f"{each.component}[{each.index}] | batch {batch}"],
            "statistics": to_wire(
                replace(
                    NOTHING_REPORTED,
                    executed=executed,
                    emitted_by_stream={"default": executed},
                    busy_secs=0.5,
                    at=float(batch),
                    incarnation=7,
                    pid=99,
                    user={"seen": batch},
                    **dict.fromkeys(DISTRIBUTIONS, latency(executed)),
                )
            ),
        }
        for task, each in PACKING.instances.items()
    ]
    return Progress(batch, 1.0, tuple(json.loads(json.dumps(results))))


def asked(server: CommandServer, name: str, **arguments: Any) -> dict[str, Any]:
    reply = server.answer(messages.Command(name, arguments))
    assert reply.ok
    return dict(reply.data)


def test_batches_are_told_as_a_topology_master_tells(store: StateStore) -> None:
    server = CommandServer(SPEC, PACKING, store)
    before = asked(server, "stats")
    assert (before["batch"], before["ready"], before["components"]["count"]["up"]) == (
        None,
        False,
        0,
    )
    server.record_batch(progress(3, 100))
    server.record_batch(progress(4, 250))
    told = asked(server, "stats", component="count")
    assert (told["epoch"], told["ready"], told["state"]) == (4, True, TopologyState.RUNNING)
    count = told["components"]["count"]
    assert (count["up"], count["executed"], count["executed_per_sec"]) == (2, 500, 300.0)
    assert count["latency"]["execute"]["p50_ms"] > 0
    assert count["user"] == {"seen": 8}
    assert [(each["task"], each["container"]) for each in told["instances"]] == [(2, 1), (3, 1)]


def test_it_is_paused_and_goes_on_and_the_store_knows(store: StateStore) -> None:
    server, query = CommandServer(SPEC, PACKING, store), Paused()
    server.attach(query)  # type: ignore[arg-type]
    assert asked(server, "deactivate") == {"state": "PAUSED", "changed": True}
    assert asked(server, "deactivate")["changed"] is False
    assert store.get(execution_path("t")) == {"state": "PAUSED", "host": "here"}
    assert asked(server, "stats")["quiet"] is True
    assert asked(server, "activate") == {"state": "RUNNING", "changed": True}
    asked(server, "drain")
    assert query.told == [False, True, False, True]
    assert store.get(execution_path("t")) == {"state": "RUNNING", "host": "here"}
    assert not server.answer(messages.Command("fly", {})).ok
    refused = server.answer(messages.Command("update", {"packing": {}}))
    assert "keeps its parallelism" in str(refused.data["error"])


def test_a_driver_that_is_started_again_is_as_the_one_before_left_it(store: StateStore) -> None:
    paused = TopologySpec("t", SPEC.components, {"topology.initial.state": "PAUSED"})
    first = CommandServer(paused, PACKING, store)
    assert first.state == TopologyState.PAUSED
    asked(first, "activate")
    store.put(master_path("t"), {"pid": 1})
    assert CommandServer(paused, PACKING, store).state == TopologyState.RUNNING


def test_what_a_task_prints_is_in_its_log(tmp_path: Path) -> None:
    logs = Logs(str(tmp_path), PACKING, LogSettings())
    names = ["count-2.log", "count-3.log", "words-1.log"]
    assert sorted(each.name for each in tmp_path.iterdir()) == names
    logs.add(progress(1, 10))
    logs.add(progress(2, 20))
    logs.close()
    lines = (tmp_path / "count-3.log").read_text().splitlines()
    assert [line.partition(" INFO ")[2] for line in lines] == ["batch 1", "batch 2"]
