"""The answer of `stats`: its JSON is what other programs read, and is checked when it is read."""

import json
from typing import Any

import pytest
from msgspec.structs import fields

from heron_core.clock_stats import MinimumClockStats
from heron_core.errors import ProtocolError
from heron_core.instance_report import NUMBERS
from heron_core.records import replace
from heron_core.stats import (
    ComponentLatencies,
    ComponentStats,
    InstanceStats,
    LatencyStats,
    PauseStats,
    QueryStats,
    RegisteredStats,
    StreamManagerStats,
    TopologyStats,
    UpdateStats,
)
from heron_core.topology_events import TopologyEvent

NO_SAMPLES = LatencyStats(mean_ms=None, p50_ms=None, p99_ms=None)
COMPONENT = ComponentStats(
    type="bolt", instances=2, up=1, emitted=1, executed=2, acked=3, failed=4,
    failed_for_good=1, expired=5, ticks=6, errors=7, callback_errors=2, fenced=8, late=9, pending=0,
    queue_bytes=10, queue_tuples=3, queue_secs=0.25, emitted_per_sec=0.5, executed_per_sec=1,
    capacity=0.25,
    latency=ComponentLatencies(
        execute=LatencyStats(mean_ms=1.5, p50_ms=1.0, p99_ms=2.0, buckets={54: 7}),
        process=NO_SAMPLES, complete=NO_SAMPLES,
    ),
    last_error=None, user={"seen": 7}, user_totals={"seen": 70},
    emitted_by_stream={"default": 1}, executed_by_input={"lines/default": 2},
)  # fmt: skip
INSTANCE = InstanceStats(
    instance="count[0]", task=4, up=False, container=1, pid=None, restarts=0,
    emitted_per_sec=0.0, executed_per_sec=0.0,
    capacity=0.0, queue_bytes=0, executed=0, acked=0, failed=0, failed_for_good=0,
    expired=0, ticks=0, errors=0, callback_errors=0, fenced=0, late=0, pending=0, stuck_secs=0.0,
    user={},
)  # fmt: skip
EVENT = TopologyEvent(
    at=1.5, kind="crash", what="was killed", why="who knows", container=1, task=4,
    instance="count[0]",
)  # fmt: skip
STATS = TopologyStats(
    version="0.2.0",
    topology="t", state="RUNNING", epoch=3, phase="running", drained=False, lost=0,
    in_flight=12, waiting_for=("count[0]",), stuck={"count[0]": 6.5},
    starting={"count[1]": 2.5}, unheard={"count[0]": 3.5}, pending_max={"lines": 1000},
    events=(EVENT,),
    update=UpdateStats(
        number=1, under_way=True, reason="", uncounted=0, stage="drain", waiting_for=("count[0]",)
    ),
    minimum_clock=MinimumClockStats(
        clock_ms=7000, behind_secs=1.5, location="queue", holder="count[0]",
        components={"count": 1.5},
    ),
    containers=(1,), containers_expected=(1, 2),
    registered={1: RegisteredStats(host="here", pid=70, secs=1.5, version="0.2.0")},
    components={"count": COMPONENT},
    paused={
        3: PauseStats(
            instance="lines[0]", causes=(4,), paused_secs=2.0, this_pause_secs=1.0, share=0.5,
            because_of=("count[0]",),
        )
    },
    stream_managers={
        1: StreamManagerStats(waiting_bytes={4: 10}, waiting_tuples={4: 3}, waiting_secs={4: 0.25},
            oldest_message_secs={4: 1.5}, dropped=2, counters={"forwarded": 5})
    },
    master={"malformed": 0}, errors={4: "no module"}, instances=(INSTANCE,),
)  # fmt: skip
QUERY = QueryStats(
    **{each.name: getattr(STATS, each.name) for each in fields(STATS)} | {"update": None},
    batch=None, batch_secs=0.0, ready=False,
)  # fmt: skip

LATENCY: dict[str, Any] = {"mean_ms": None, "p50_ms": None, "p99_ms": None, "buckets": {}}
ZEROS = dict.fromkeys(NUMBERS, 0)
JSON: dict[str, Any] = {
    "topology": "t", "state": "RUNNING", "epoch": 3, "phase": "running", "drained": False,
    "lost": 0,
    "lost_uncounted": False, "in_flight": 12, "waiting_for": ["count[0]"],
    "stuck": {"count[0]": 6.5}, "starting": {"count[1]": 2.5}, "unheard": {"count[0]": 3.5},
    "tracked": False,
    "events": [
        {
            "at": 1.5, "kind": "crash", "what": "was killed", "why": "who knows", "container": 1,
            "task": 4, "instance": "count[0]",
        }
    ],
    "update": {
        "number": 1, "under_way": True, "reason": "", "uncounted": 0, "stage": "drain",
        "waiting_for": ["count[0]"], "step": "drain",
    },
    "minimum_clock": {
        "clock_ms": 7000, "behind_secs": 1.5, "location": "queue", "holder": "count[0]",
        "components": {"count": 1.5},
    },
    "containers": [1], "containers_expected": [1, 2],
    "registered": {1: {"host": "here", "pid": 70, "secs": 1.5, "version": "0.2.0"}},
    "components": {
        "count": {
            **ZEROS, "type": "bolt", "instances": 2, "up": 1,
            "emitted": 1, "executed": 2, "acked": 3, "failed": 4, "failed_for_good": 1,
            "expired": 5, "ticks": 6, "errors": 7,
            "callback_errors": 2, "fenced": 8, "late": 9,
            "pending": 0, "queue_bytes": 10, "queue_tuples": 3, "queue_secs": 0.25,
            "emitted_per_sec": 0.5, "executed_per_sec": 1,
            "capacity": 0.25,
            "latency": {
                "execute": {"mean_ms": 1.5, "p50_ms": 1.0, "p99_ms": 2.0, "buckets": {54: 7}},
                "process": LATENCY, "complete": LATENCY,
            },
            "last_error": None, "user": {"seen": 7}, "user_totals": {"seen": 70},
            "user_net": [], "processes": 0, "hot_keys": [],
            "emitted_by_stream": {"default": 1}, "executed_by_input": {"lines/default": 2},
            "unsaved_attributes": [], "forgotten_by_attribute": {},
            "unsettled_tuples": 0, "unsettled_secs": 0.0,
        }
    },
    "paused": {
        3: {
            "instance": "lines[0]", "causes": [4], "paused_secs": 2.0, "this_pause_secs": 1.0,
            "share": 0.5, "because_of": ["count[0]"],
        }
    },
    "stream_managers": {1: {
        "waiting_bytes": {4: 10}, "waiting_tuples": {4: 3}, "waiting_secs": {4: 0.25},
        "task_bytes_in": {}, "task_bytes_out": {}, "peer_bytes_in": {}, "peer_bytes_out": {},
        "oldest_message_secs": {4: 1.5}, "oldest_root_secs": {}, "oldest_link_secs": {},
        "caused_ms": {},
        "dropped": 2, "live_queries": {}, "forwarded": 5,
    }},
    "version": "0.2.0", "master": {"malformed": 0}, "live_queries": {},
    "log_levels": [],
    "errors": {4: "no module"},
    "pending_max": {"lines": 1000}, "memory_bytes_max": {},
    "sizing": {"target_utilization": 0.75, "instances_max": {}},
    "instances": [
        {
            "instance": "count[0]", "task": 4, "up": False, "container": 1, "pid": None,
            "restarts": 0, "emitted_per_sec": 0.0,
            "executed_per_sec": 0.0, "capacity": 0.0,
            "queue_bytes": 0, "queue_tuples": 0, "queue_secs": 0.0,
            "stuck_secs": 0.0,
            **ZEROS, "user": {}, "user_totals": {}, "emitted": 0,
            "cpu_share": 0.0, "memory_bytes": 0, "unsendable": 0,
            "busy_secs": 0.0, "waited_secs": 0.0,
            "core_waited_secs": 0.0, "settle_secs_max": 0.0, "fixed_state": False,
            "next_try_secs": 0.0,
            "received_bytes": 0, "sent_bytes": 0, "backpressure_caused_ms": 0,
            "latency_secs": {}, "latency_samples": {},
            "emitted_by_stream": {}, "executed_by_input": {},
        }
    ],
    "quiet": False,
}  # fmt: skip


def test_the_json_has_the_keys_that_other_programs_read() -> None:
    """Somebody's dashboard reads `heronpy stats --json`: its keys stay, whatever we call things."""
    assert STATS.to_json() == JSON
    assert list(STATS.to_json()) == list(JSON)


def test_what_is_written_is_read_again() -> None:
    """Over the wire numbers are keys, in JSON they are text."""
    assert TopologyStats.from_json(STATS.to_json()) == STATS
    assert TopologyStats.from_json(json.loads(json.dumps(STATS.to_json()))) == STATS


def test_names_of_the_release_before_are_read() -> None:
    """A topology goes on with the engine that it was submitted with, and its stats are read."""
    old = json.loads(json.dumps(STATS.to_json()))
    del old["drained"], old["update"]["stage"]
    assert TopologyStats.from_json(old) == STATS
    assert "drained" not in old, "what is read stays as it is"


def test_an_old_name_beside_the_new_one_does_not_count() -> None:
    assert TopologyStats.from_json({**STATS.to_json(), "quiet": True}) == STATS


def test_without_a_component_there_are_no_instances() -> None:
    data = replace(STATS, instances=None).to_json()
    assert "instances" not in data
    assert TopologyStats.from_json(data).instances is None


def test_a_query_of_spark_has_batches_and_no_update() -> None:
    data = QUERY.to_json()
    assert data["batch"] is None
    assert "update" not in data
    found = TopologyStats.from_json(data)
    assert isinstance(found, QueryStats)
    assert found == QUERY


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        (("epoch",), "3", "stats.epoch is '3'"),
        (("drained",), 1, "stats.drained is 1"),
        (("lost",), True, "stats.lost is True"),
        (("update", "stage"), 1, "stats.update.stage is 1"),
        (("components", "count", "emitted"), 1.5, "stats.components.count.emitted is 1.5"),
        (("components", "count", "latency"), {}, "stats.components.count.latency has no execute"),
        (("components",), [], r"stats.components is \[\]"),
        (("containers",), 7, "stats.containers is 7"),
        (("containers",), [1, None], r"stats.containers\[1\] is None"),
        (("paused",), {"x": {}}, "a key of stats.paused is 'x'"),
        (("components",), {7: {}}, "a key of stats.components is 7"),
    ],
)
def test_what_is_wrong_is_named(path: tuple[str, ...], value: Any, error: str) -> None:
    """A master of another version answers, or one that has a bug."""
    data = json.loads(json.dumps(STATS.to_json()))
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ProtocolError, match=error):
        TopologyStats.from_json(data)


def test_a_field_that_is_missing_is_named() -> None:
    data = {key: value for key, value in JSON.items() if key != "phase"}
    with pytest.raises(ProtocolError, match="stats has no phase"):
        TopologyStats.from_json(data)


def test_a_newer_masters_fields_are_ignored() -> None:
    assert TopologyStats.from_json({**JSON, "weather": "fine"}) == STATS
