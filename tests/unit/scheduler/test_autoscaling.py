"""The autoscaler at work on a state store, a master that is a fake, and a clock of the test."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from heron_core.algorithms.autoscale.options import AutoscaleOptions, Mode
from heron_core.algorithms.autoscale.readings import readings_of
from heron_core.errors import HeronError
from heron_core.operations import Operation, OperationKind
from heron_core.plans import PackingPlan, packing_from_json, packing_to_json
from heron_core.records import replace
from heron_core.state_tree import packing_path, topology_path
from heron_core.stats import InstanceStats, TopologyStats
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
    topology_to_json,
)
from heron_engine.scheduler.autoscaling import Autoscaling, pending_limits
from heron_engine.scheduler.operations import TopologyRequests
from heron_engine.scheduler.packing import pack
from heron_io.master_client import NoAnswer
from heron_io.state_store.file_store import FileStore

CONFIG = {
    "topology.autoscale.mode": "on",
    "topology.autoscale.interval.secs": 1,
    "topology.autoscale.window.secs": 4,
    "topology.autoscale.cooldown.secs": 10,
}
SPEC = TopologySpec(
    "t",
    (
        ComponentSpec("words", True, "a.B", 1, (StreamSpec("default", ("word",)),)),
        ComponentSpec(
            "count", False, "a.C", 1, (),
            (InputSpec("words", "default", GroupingSpec(GroupingKind.FIELDS, ("word",))),),
        ),
    ),
    CONFIG,
)  # fmt: skip


@dataclass
class FakeMaster:
    """A `count` that works all the time, and a spout that is paused for two thirds of it."""

    answers: bool = True
    now: float = 0.0
    said: list[tuple[str, str]] = field(default_factory=list)
    fixed_state: bool = False

    def stats(self, component: str | None, wait_secs: float) -> TopologyStats:
        if not self.answers:
            raise NoAnswer("nobody answers")
        return stats_at(self.now, self.fixed_state)

    def try_ask(self, command: str, arguments: Mapping[str, Any], wait_secs: float) -> None:
        assert command == "autoscaled"
        self.said.append((arguments["what"], arguments["why"]))


def stats_at(now: float, fixed_state: bool = False) -> TopologyStats:
    """So much was done at a rate of a hundred tuples a second."""
    done = int(now * 100)
    counters = dict.fromkeys(
        ("acked", "failed", "failed_for_good", "expired", "ticks", "errors", "callback_errors",
         "fenced", "late", "pending", "queue_bytes", "restarts"), 0
    )  # fmt: skip
    common: dict[str, Any] = {
        **counters, "up": True, "container": 1, "executed": done, "stuck_secs": 0.0, "user": {},
        "emitted_per_sec": 0.0, "executed_per_sec": 0.0, "capacity": 0.0,
    }  # fmt: skip
    words = InstanceStats(
        **common, instance="words[0]", task=1, pid=1, emitted_by_stream={"default": done},
        busy_secs=now / 100,
    )  # fmt: skip
    count = InstanceStats(
        **common, instance="count[0]", task=2, pid=2, busy_secs=now, fixed_state=fixed_state
    )
    paused = {"instance": "words[0]", "causes": [2], "paused_secs": now * 2 / 3,
              "this_pause_secs": 1.0, "share": 0.6, "because_of": ["count[0]"]}  # fmt: skip
    found = TopologyStats.from_json(
        {
            "topology": "t", "state": "RUNNING", "epoch": 1, "phase": "running", "lost": 0,
            "quiet": False, "paused": {1: paused}, "stream_managers": {}, "master": {},
            "errors": {}, "registered": {}, "containers": [1], "containers_expected": [1],
            "components": {},
        }
    )  # fmt: skip
    return replace(found, instances=(words, count))


@dataclass
class World:
    store: FileStore
    master: FakeMaster
    scaling: Autoscaling
    requests: TopologyRequests

    def run(self, secs: int) -> None:
        for _ in range(secs):
            self.master.now += 1
            self.scaling.poll(self.master.now)

    def end_update(self, number: int, reason: str = "") -> None:
        request = self.requests.get(number)
        assert request is not None
        running = request.running()
        self.requests.save(number, running.failed(reason) if reason else running.done({}))


def world_of(store: FileStore, mode: Mode = Mode.ON) -> World:
    store.put(topology_path("t"), topology_to_json(SPEC))
    store.put(packing_path("t"), packing_to_json(pack(SPEC)))
    master, requests = FakeMaster(), TopologyRequests(store, "t")
    options = replace(AutoscaleOptions.of(SPEC), mode=mode)
    scaling = Autoscaling(SPEC, options, store, master, requests, True, lambda: None)  # type: ignore[arg-type]
    return World(store, master, scaling, requests)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FileStore(str(tmp_path)) as store:
        yield world_of(store)


def wanted(operation: Operation) -> PackingPlan:
    return packing_from_json(operation.arguments["packing"])


def test_a_bolt_that_cannot_keep_up_is_given_instances_by_a_durable_request(world: World) -> None:
    world.run(8)
    ((number, request),) = world.requests.all().items()
    assert request.kind is OperationKind.UPDATE
    # A hundred a second in a third of the time are three hundred: four are 75 % busy.
    assert len(wanted(request).tasks_of["count"]) == 4
    ((what, why),) = world.master.said
    assert what == "count 1 -> 4"
    assert "its input would be 300% of its capacity" in why
    world.run(30)  # whatever is seen meanwhile, no second one overlaps
    assert len(world.requests.all()) == 1
    world.end_update(number)
    world.run(4)
    assert len(world.requests.all()) == 1


def test_an_update_that_is_refused_is_said_and_tried_again_much_later(world: World) -> None:
    world.run(8)
    world.end_update(1, "no room")
    world.run(2)
    assert world.master.said[-1] == ("not applied: count 1 -> 4", "no room; none for 20 s")
    world.run(15)
    assert len(world.requests.all()) == 1
    world.run(15)
    assert len(world.requests.all()) == 2


def test_somebody_elses_update_is_not_disturbed(world: World) -> None:
    world.requests.ask(OperationKind.UPDATE, {"packing": packing_to_json(pack(SPEC))})
    world.run(8)
    assert len(world.requests.all()) == 1
    assert "an update of t is under way" in world.master.said[-1][1]


def test_advice_is_said_once_and_changes_nothing(tmp_path: Path) -> None:
    with FileStore(str(tmp_path)) as store:
        world = world_of(store, Mode.ADVISE)
        world.run(60)
        assert [what for what, _ in world.master.said] == ["advises count 1 -> 4"]
        assert world.requests.all() == {}


def test_state_that_cannot_be_divided_is_left_alone(world: World) -> None:
    world.master.fixed_state = True
    world.run(30)
    ((what, why),) = world.master.said
    assert what == "count is not scaled"
    assert "put()" in why
    assert world.requests.all() == {}


def test_a_machine_without_idle_cores_gets_no_more_instances(world: World) -> None:
    world.scaling.idle_secs = lambda: 0.0
    world.run(30)
    ((what, why),) = world.master.said
    assert what == "count is not scaled"
    assert "0% of the machine's cores is idle" in why
    assert world.requests.all() == {}
    world.scaling.idle_secs = lambda: world.master.now * 0.5
    world.run(10)
    assert len(world.requests.all()) == 1


def test_a_master_that_does_not_answer_or_a_topology_at_rest_changes_nothing(world: World) -> None:
    world.master.answers = False
    world.run(8)
    assert world.requests.all() == {}
    paused = replace(stats_at(1.0), state="PAUSED")
    assert readings_of(paused, {}).unsteady == "the topology is PAUSED"
    down = stats_at(1.0)
    rows = tuple(replace(each, up=False) for each in down.instances or ())
    assert "is not up" in readings_of(replace(down, instances=rows), {}).unsteady


def test_only_spouts_whose_tuples_are_acked_have_a_limit_of_pending_ones() -> None:
    assert pending_limits(SPEC) == {}
    acked = SPEC.with_config({"topology.reliability.mode": "ATLEAST_ONCE"})
    assert pending_limits(acked) == {"words": 1000}


def test_a_wrong_setting_is_one_line_that_names_it() -> None:
    wrong = {
        "topology.autoscale.mode": ("auto", "off or advise or on"),
        "topology.autoscale.components": (["words"], "cannot be scaled: use count"),
        "topology.autoscale.instances.max": ({"coutn": 3}, "'coutn'"),
        "topology.autoscale.instances.min": (9, "above its maximum of 4"),
        "topology.autoscale.window.secs": (0.5, "rates need two looks"),
        "topology.autoscale.target.utilization": (75, "between 0 and 1"),
    }
    for key, (value, words) in wrong.items():
        with pytest.raises(HeronError, match=words):
            AutoscaleOptions.of(SPEC.with_config({key: value}))
    assert AutoscaleOptions.of(
        SPEC.with_config({"topology.autoscale.instances.max": 7})
    ).instances_max == {"count": 7}


def test_time_in_which_back_pressure_held_a_bolt_is_no_work() -> None:
    found = stats_at(10.0)
    rows = tuple(replace(each, busy_secs=9.0, waited_secs=6.0) for each in found.instances or ())
    readings = readings_of(replace(found, instances=rows), {})
    assert readings.tasks[2].busy_secs == 3.0
