"""Cancelling an update and killing a topology on YARN or Aurora: commands do the steps."""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from heron_cli.cluster_operations import (
    cancel_on_cluster,
    end_on_cluster,
    take_up_update,
    update_on_cluster,
)
from heron_cli.commands.restart import _restart_on
from heron_cli.commands.stats import _waiting
from heron_cli.commands.update import _cancel
from heron_cli.main import heronpy
from heron_cli.operations import self_running
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError
from heron_core.operations import Operation, OperationKind, OperationState
from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resource,
    packing_from_json,
    packing_to_json,
    physical_to_json,
)
from heron_core.records import replace
from heron_core.state_tree import (
    execution_path,
    packing_path,
    physical_path,
    scheduler_path,
    topology_path,
)
from heron_core.stats import TopologyStats
from heron_core.topology import ComponentSpec, TopologySpec, topology_to_json
from heron_core.topology_events import ACTED
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.operation_kinds import CONTAINERS, PACKING
from heron_engine.scheduler.operations import TopologyRequests
from heron_io.master_client import MasterClient
from heron_io.state_store.file_store import FileStore

NAME = "words"
NOTHING = Resource(0.0, 0, 0)
ONE, TWO = (
    ContainerPlan(number, (InstancePlan(number, "lines", number - 1, NOTHING),), NOTHING)
    for number in (1, 2)
)
BEFORE, TARGET = PackingPlan(NAME, (ONE,)), PackingPlan(NAME, (ONE, TWO))
WORDS = TopologySpec(NAME, (ComponentSpec("lines", True, "m.Lines", 1),))
OPTIONS: Mapping[str, dict[str, Any]] = {
    "aurora": {"cluster": "west", "role": "www", "env": "test", "one_machine": True},
    "yarn": {"one_machine": True},
}


def run_by(store: FileStore, plan: PackingPlan) -> None:
    """Both plans in the state store."""
    store.put(packing_path(NAME), packing_to_json(plan))
    store.put(physical_path(NAME), physical_to_json(PhysicalPlan(NAME, 1, "RUNNING", plan, {})))


@dataclass
class FakeClient:
    """A topology master whose update is done, or cancelled, after a few questions."""

    store: FileStore
    under_way: bool = True
    is_drained: bool = True
    goal: PackingPlan | None = None
    """The plan after the update."""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    """Containers of its events."""
    left: int = 2

    def ask(
        self, command: str, arguments: dict[str, Any] | None = None, wait_secs: float = 3.0
    ) -> dict[str, Any]:
        if command == "stats":
            return self.numbers()
        if command == ACTED:
            self.actions.append(str((arguments or {})["what"]))
            return {}
        self.asked.append((command, arguments or {}))
        if command == "cancel":
            self.goal = BEFORE
        elif command == "update":
            self.under_way, self.goal = True, packing_from_json((arguments or {})["packing"])
            self.store.put(packing_path(NAME), (arguments or {})["packing"])
        return {"number": 1}

    def try_ask(self, command: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.ask(command, arguments)

    def numbers(self) -> dict[str, Any]:
        update = {"number": 1, "under_way": self.under_way, "reason": "", "step": "containers",
                  "waiting_for": [], "uncounted": 0}  # fmt: skip
        return {
            "topology": NAME, "state": "RUNNING", "epoch": 1, "phase": "running", "lost": 0,
            "paused": {}, "stream_managers": {}, "master": {}, "errors": {}, "version": "1",
            "quiet": self.is_drained, "update": update, "checkpoints": None, "registered": {},
            "containers": [1], "containers_expected": [1], "components": {},
        }  # fmt: skip

    def stats(self) -> TopologyStats:
        return TopologyStats.from_json(self.numbers())

    def try_stats(self, wait_secs: float = 1.0) -> TopologyStats:
        if self.goal is not None:
            self.left -= 1
            if not self.left:
                self.under_way = False
                run_by(self.store, self.goal)
        return self.stats()


@dataclass
class FakeCluster:
    ready_secs = 0.0
    ended: list[str] = field(default_factory=list)
    scaled: list[tuple[list[int], list[int]]] = field(default_factory=list)
    refuses: BaseException | None = None
    refuses_to_add: BaseException | None = None

    def end(self, name: str) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.ended.append(name)

    def restart(self, name: str, container: int | None) -> None:
        if self.refuses is not None:
            raise self.refuses

    def scale(self, name: str, added: list[int], removed: list[int]) -> None:
        if self.refuses_to_add is not None:
            raise self.refuses_to_add
        self.scaled.append((added, removed))

    def reserve_capacity(self, store: FileStore, name: str, plan: PackingPlan | None) -> None:
        """There is enough."""

    def too_small(self, store: FileStore, name: str, plan: PackingPlan) -> str:
        return ""

    def waiting(self, store: FileStore, name: str) -> str:
        return ""

    def unstartable(self, name: str, containers: list[int]) -> str:
        return ""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    """With the topology, and with the files of two clusters."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    client = tmp_path / "client"
    client.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n')
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "clusters").mkdir()
    for kind, options in OPTIONS.items():
        words = {"client": str(client)} if kind == "aurora" else {}
        archives = {"archives": {"folder": str(tmp_path)}} if kind == "aurora" else {}
        file = {"scheduler": kind, "state": f"file://{tmp_path}/state", **archives,
                kind: {**options, **words}}  # fmt: skip
        (tmp_path / "clusters" / f"{kind}.yaml").write_text(json.dumps(file))
    made = FileStore(str(tmp_path / "state"))
    made.put(topology_path(NAME), topology_to_json(WORDS))
    made.put(execution_path(NAME), {"state": "RUNNING"})
    run_by(made, BEFORE)
    return made


def on(store: FileStore, kind: str, client: FakeClient) -> RunningTopology:
    """The topology on a cluster."""
    node = {"kind": kind, "host": "elsewhere", "cluster": kind}
    store.put(scheduler_path(NAME), node)
    state = store.get(execution_path(NAME)) or {}
    return RunningTopology(NAME, store, cast(MasterClient, client), state, node)


def calls(tmp_path: Path) -> list[str]:
    """Of Aurora's client."""
    path = tmp_path / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    return [each.partition(" --batch-size")[0] for each in lines]


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("is_switched", [False, True], ids=["before", "after"])
def test_an_update_is_cancelled_by_asking_the_master(
    store: FileStore, tmp_path: Path, kind: str, is_switched: bool
) -> None:
    """Added containers end, also after the death of the update's command; on YARN by the
    application master, along the plan."""
    run_by(store, TARGET)
    if not is_switched:
        physical = physical_to_json(PhysicalPlan(NAME, 1, "RUNNING", BEFORE, {}))
        store.put(physical_path(NAME), physical)
    client = FakeClient(store)
    _cancel(on(store, kind, client), str(tmp_path / "clusters"))
    ((command, arguments),) = client.asked
    assert command == "cancel"
    assert arguments["reason"].startswith("cancelled by ")
    assert calls(tmp_path) == ["job kill west/www/test/words/2"] * (kind == "aurora")


def interrupted(_: float) -> None:
    """Ctrl-C."""
    raise KeyboardInterrupt


def aurora_of(store: FileStore, tmp_path: Path, client: FakeClient) -> Any:
    topology = on(store, "aurora", client)
    return topology, self_running(topology, str(tmp_path / "clusters"))


def at_once(_: float) -> None:
    """Between two looks."""


def interrupted_update(
    store: FileStore, tmp_path: Path
) -> tuple[RunningTopology, SelfRunning, FakeClient]:
    """An update to BEFORE whose command has ended while the topology master carries it out."""
    run_by(store, TARGET)
    client = FakeClient(store, under_way=False)
    topology, cluster = aurora_of(store, tmp_path, client)
    with pytest.raises(KeyboardInterrupt):
        update_on_cluster(topology, cluster, BEFORE, rest=interrupted)
    assert calls(tmp_path) == []
    return topology, cluster, client


def only_request(store: FileStore) -> Operation:
    (request,) = TopologyRequests(store, NAME).all().values()
    return request


def test_an_update_whose_command_has_died_goes_on_with_the_next_one(
    store: FileStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The master goes on with the update by itself, and adds or ends no container on Aurora."""
    topology, cluster, _ = interrupted_update(store, tmp_path)
    left = "the update of words is not finished: the next update resumes the old one"
    assert left in capsys.readouterr().err
    (shown,) = _waiting(topology)
    assert shown.startswith("update asked by ")
    assert shown.endswith("`heronpy update words --cancel` cancels the request")

    take_up_update(topology, cluster, rest=at_once)
    assert "was not finished: this command resumes the request" in capsys.readouterr().err
    assert calls(tmp_path) == ["job kill west/www/test/words/2"]
    assert only_request(store).state is OperationState.DONE
    take_up_update(topology, cluster, rest=at_once)
    assert len(calls(tmp_path)) == 1, "once is enough"


def test_an_update_that_came_to_its_end_without_its_command_leaves_no_container_behind(
    store: FileStore, tmp_path: Path
) -> None:
    """The removed container is absent from the plan, but present in the request."""
    topology, cluster, client = interrupted_update(store, tmp_path)
    client.try_stats()
    take_up_update(topology, cluster, rest=at_once)
    assert calls(tmp_path) == ["job kill west/www/test/words/2"]
    assert only_request(store).state is OperationState.DONE


def test_an_update_whose_command_died_before_it_added_containers_adds_them(
    store: FileStore, tmp_path: Path
) -> None:
    """The master waits for the containers, and on Aurora only the command starts containers."""
    topology, cluster = on(store, "yarn", FakeClient(store, under_way=False)), FakeCluster()
    cluster.refuses_to_add = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        update_on_cluster(topology, cast(SelfRunning, cluster), TARGET)
    cluster.refuses_to_add = None
    take_up_update(topology, cast(SelfRunning, cluster), rest=at_once)
    assert cluster.scaled[0] == ([2], [])
    assert only_request(store).state is OperationState.DONE


def test_an_update_that_the_master_was_not_asked_for_is_not_begun_again(
    store: FileStore, tmp_path: Path
) -> None:
    topology, cluster = aurora_of(store, tmp_path, FakeClient(store, under_way=False))
    arguments = {PACKING: packing_to_json(TARGET), CONTAINERS: [1, 2]}
    TopologyRequests(store, NAME).ask(OperationKind.UPDATE, arguments)
    take_up_update(topology, cluster, rest=at_once)
    assert calls(tmp_path) == ["job kill west/www/test/words/2"]
    request = only_request(store)
    assert (request.state, request.reason) == (
        OperationState.FAILED,
        "the command ended before the update did",
    )


def test_an_update_that_the_master_was_not_asked_for_is_cancelled(
    store: FileStore, tmp_path: Path
) -> None:
    """Its command died before the request: the master has nothing to abort."""
    client = FakeClient(store, under_way=False)
    topology, cluster = aurora_of(store, tmp_path, client)
    arguments = {PACKING: packing_to_json(TARGET), CONTAINERS: [1, 2]}
    TopologyRequests(store, NAME).ask(OperationKind.UPDATE, arguments)
    cancel_on_cluster(topology, cluster)
    assert client.asked == []
    assert only_request(store).state is OperationState.FAILED
    with pytest.raises(HeronError, match="words has neither a running nor a scheduled update"):
        cancel_on_cluster(topology, cluster)


def test_an_update_on_a_cluster_is_a_request_that_is_done(store: FileStore, tmp_path: Path) -> None:
    run_by(store, TARGET)
    topology, cluster = aurora_of(store, tmp_path, FakeClient(store, under_way=False))
    update_on_cluster(topology, cluster, BEFORE, rest=lambda _: None)
    assert calls(tmp_path) == ["job kill west/www/test/words/2"]
    (request,) = TopologyRequests(store, NAME).all().values()
    assert (request.kind, request.state) == (OperationKind.UPDATE, OperationState.DONE)
    assert not list(_waiting(topology))


def test_what_is_not_under_way_is_not_cancelled(store: FileStore, tmp_path: Path) -> None:
    client = FakeClient(store, under_way=False)
    with pytest.raises(HeronError, match="words has neither a running nor a scheduled update"):
        _cancel(on(store, "yarn", client), str(tmp_path / "clusters"))
    assert not client.asked


def test_a_kill_that_is_interrupted_is_seen_and_the_next_one_takes_it_up(
    store: FileStore, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C during the drain: the spouts are paused for good, and `stats` names the killer."""
    topology = on(store, "yarn", FakeClient(store, is_drained=False))
    cluster = FakeCluster()

    with pytest.raises(KeyboardInterrupt):
        end_on_cluster(topology, cast(SelfRunning, cluster), 30.0, rest=interrupted)
    assert (
        "the kill of words is not finished: `heronpy kill words` resumes the kill"
    ) in capsys.readouterr().err
    (left,) = TopologyRequests(store, NAME).all().values()
    assert (left.kind, left.state) == (OperationKind.KILL, OperationState.RUNNING)
    (shown,) = _waiting(topology)
    assert shown.startswith("kill asked by ")
    assert shown.endswith(
        "; its command has ended: the next `heronpy kill words` resumes the request"
    )

    end_on_cluster(topology, cast(SelfRunning, cluster), 0.0)
    assert "was not finished: this command resumes the request" in capsys.readouterr().err
    assert cluster.ended == [NAME]
    first, second = TopologyRequests(store, NAME).all().values()
    assert (first.state, first.reason) == (OperationState.FAILED, "taken over by the next kill")
    assert second.state is OperationState.DONE
    # Interrupted here, before the nodes go, the topology is shown as KILLED.
    assert (store.get(execution_path(NAME)) or {})["state"] == "KILLED"


def test_a_second_kill_leaves_the_first_alone_and_names_it(
    store: FileStore, tmp_path: Path
) -> None:
    topology = on(store, "yarn", FakeClient(store, is_drained=False))
    cluster, elsewhere = FakeCluster(), FileStore(str(tmp_path / "state"))
    asked = replace(topology, store=elsewhere)
    refused: list[str] = []

    def another(_: float) -> None:
        with pytest.raises(HeronError) as error:
            end_on_cluster(asked, cast(SelfRunning, cluster), 0.0)
        refused.append(str(error.value))
        (shown,) = _waiting(asked)
        assert "its command has ended" not in shown
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        end_on_cluster(topology, cast(SelfRunning, cluster), 30.0, rest=another)
    assert refused[0].startswith("a kill of words is under way (")
    assert f"(pid {os.getpid()}), since 2" in refused[0]
    (request,) = TopologyRequests(store, NAME).all().values()
    assert request.state is OperationState.RUNNING, "the second one has marked it"
    assert cluster.ended == []
    end_on_cluster(asked, cast(SelfRunning, cluster), 0.0)
    assert cluster.ended == [NAME]


def test_a_second_update_leaves_the_first_alone_and_a_cancel_lets_it_tell(
    store: FileStore, tmp_path: Path
) -> None:
    """The command of the update ends its added containers; the cancel only asks the master."""
    topology, fake = on(store, "yarn", FakeClient(store)), FakeCluster()
    asked, cluster = (
        replace(topology, store=FileStore(str(tmp_path / "state"))),
        cast(SelfRunning, fake),
    )

    def others(_: float) -> None:
        with pytest.raises(HeronError, match="an update of words is under way"):
            take_up_update(asked, cluster)
        if fake.scaled == [([2], [])]:
            cancel_on_cluster(asked, cluster)
        (request,) = TopologyRequests(store, NAME).all().values()
        assert request.state is OperationState.RUNNING

    with pytest.raises(HeronError, match="words is not updated"):
        update_on_cluster(topology, cluster, TARGET, rest=others)
    (request,) = TopologyRequests(store, NAME).all().values()
    assert request.state is OperationState.FAILED
    assert "words is not updated" in request.reason
    assert ([], [2]) in fake.scaled


def test_a_restart_that_is_interrupted_says_what_it_may_leave(
    store: FileStore, capsys: pytest.CaptureFixture[str]
) -> None:
    topology = on(store, "yarn", FakeClient(store))
    cluster = FakeCluster(refuses=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        _restart_on(cast(SelfRunning, cluster), topology, None, [0, 1])
    said = "containers of words may not be restarted: give the command again"
    assert said in capsys.readouterr().err


def test_a_second_restart_is_refused_while_the_first_one_waits(
    store: FileStore, tmp_path: Path
) -> None:
    """The second restart would mistake processes started by the first for its own."""
    first = on(store, "yarn", FakeClient(store))
    second = replace(first, store=FileStore(str(tmp_path / "state")))

    class Slow(FakeCluster):
        def restart(self, name: str, container: int | None) -> None:
            _restart_on(cast(SelfRunning, FakeCluster()), second, container, [0, 1])

    with pytest.raises(HeronError, match=r"a restart of words is .*, or stop its command$"):
        _restart_on(cast(SelfRunning, Slow()), first, 1, [0, 1])


def test_a_kill_that_the_cluster_refuses_has_failed_and_the_topology_stands(
    store: FileStore,
) -> None:
    topology = on(store, "aurora", FakeClient(store))
    cluster = FakeCluster(refuses=HeronError("no permission"))
    with pytest.raises(HeronError, match="no permission"):
        end_on_cluster(topology, cast(SelfRunning, cluster), 0.0)
    (request,) = TopologyRequests(store, NAME).all().values()
    assert (request.state, request.reason) == (OperationState.FAILED, "no permission")
    assert (store.get(execution_path(NAME)) or {})["state"] == "RUNNING"
    assert store.get(topology_path(NAME)) is not None


def test_a_savepoint_that_cannot_be_taken_leaves_the_topology(
    store: FileStore, tmp_path: Path
) -> None:
    topology, cluster = on(store, "yarn", FakeClient(store)), FakeCluster()
    with pytest.raises(HeronError, match="words takes no checkpoints"):
        end_on_cluster(topology, cast(SelfRunning, cluster), 5.0, f"file://{tmp_path}/savepoint")
    assert cluster.ended == []
    (request,) = TopologyRequests(store, NAME).all().values()
    assert (request.state, request.reason) == (OperationState.FAILED, "words takes no checkpoints")


def test_kill_ends_the_job_and_leaves_no_node(store: FileStore, tmp_path: Path) -> None:
    on(store, "aurora", FakeClient(store))
    store.put(execution_path(NAME), {"state": "ENDED"})
    done = CliRunner().invoke(heronpy, ["kill", NAME], catch_exceptions=False)
    assert done.stdout == f"{NAME} is killed\n", done.stderr
    assert calls(tmp_path) == [f"job killall west/www/test/{NAME}"]
    assert store.get(topology_path(NAME)) is None
    assert TopologyRequests(store, NAME).all() == {}
