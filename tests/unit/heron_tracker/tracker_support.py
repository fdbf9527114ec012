"""A topology as the service sees it: words → split (2) → count (2), with the numbers of a test."""

from collections.abc import Mapping, Sequence
from typing import Any

from heron_core.instance_report import NUMBERS
from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resource,
    packing_to_json,
    physical_to_json,
)
from heron_core.records import replace
from heron_core.stats import (
    ComponentLatencies,
    ComponentStats,
    InstanceStats,
    LatencyStats,
    PauseStats,
    RegisteredStats,
    TopologyStats,
)
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
    topology_to_json,
)
from heron_tracker.model.snapshot import Nodes, TopologySnapshot, snapshot_of

NOTHING = LatencyStats(mean_ms=None, p50_ms=None, p99_ms=None)
RESOURCE = Resource(1.0, 2**30, 2**30)
SUBMITTED_AT = "2026-11-23T12:00:00+0000"
SUBMITTED_SECS = 1795435200
NOW = SUBMITTED_SECS + 3600.0
OUTPUT = (StreamSpec("default", ("word",)),)
SPEC = TopologySpec(
    "words",
    (
        ComponentSpec("lines", True, "x.Lines", 1, OUTPUT),
        ComponentSpec(
            "split", False, "x.Split", 2, OUTPUT,
            (InputSpec("lines", "default", GroupingSpec(GroupingKind.SHUFFLE)),),
        ),
        ComponentSpec(
            "count", False, "x.Count", 2, (),
            (InputSpec("split", "default", GroupingSpec(GroupingKind.FIELDS, ("word",))),),
            {"database.password": "hunter2", "url": "db://me:hunter2@host/x", "size": 3},
        ),
    ),
    {"topology.message.timeout.secs": 30, "api_key": "hunter2"},
)  # fmt: skip
TASKS = {1: ("lines", 0), 2: ("split", 0), 3: ("split", 1), 4: ("count", 0), 5: ("count", 1)}
"""task -> component and index; the first three are in container 1."""
PACKING = PackingPlan(
    "words",
    tuple(
        ContainerPlan(
            container,
            tuple(InstancePlan(task, *TASKS[task], RESOURCE) for task in tasks),
            RESOURCE,
        )
        for container, tasks in ((1, (1, 2, 3)), (2, (4, 5)))
    ),
)
PHYSICAL = PhysicalPlan(
    "words", 1, "RUNNING", PACKING, {1: "tcp://127.0.0.1:4711", 2: "tcp://127.0.0.1:4712"}
)
NODES = Nodes(
    topology=topology_to_json(SPEC),
    packing=packing_to_json(PACKING),
    physical=physical_to_json(PHYSICAL),
    execution={"state": "RUNNING", "submitted_at": SUBMITTED_AT, "host": "here", "user": "ada"},
    scheduler={"kind": "local", "host": "here", "pid": 70},
    master={"address": "tcp://127.0.0.1:4710", "host": "here", "pid": 71},
)


def component(kind: str, **given: Any) -> ComponentStats:
    """All zero but for what is given."""
    zero: dict[str, Any] = dict.fromkeys((*NUMBERS, "emitted", "queue_bytes"), 0)
    number = given.get("instances", 1)
    latency = ComponentLatencies(execute=NOTHING, process=NOTHING, complete=NOTHING)
    rest = {"emitted_per_sec": 0.0, "executed_per_sec": 0.0, "capacity": 0.0, "last_error": None}
    usual = {"instances": number, "up": number, "user": {}, "latency": latency}
    return ComponentStats(**{**zero, **rest, **usual, "type": kind, **given})


def instance(task: int, **given: Any) -> InstanceStats:
    """The instance of a task; all zero but for what is given."""
    name, index = TASKS[task]
    zero: dict[str, Any] = dict.fromkeys((*NUMBERS, "restarts", "queue_bytes"), 0)
    rest = {"emitted_per_sec": 0.0, "executed_per_sec": 0.0, "capacity": 0.0, "stuck_secs": 0.0}
    where = {"instance": f"{name}[{index}]", "task": task, "container": PACKING.container_of[task]}
    usual = {"up": True, "pid": 100 + task, "user": {}}
    return InstanceStats(**{**zero, **rest, **where, **usual, **given})


def stats(
    components: Mapping[str, Mapping[str, Any]] | None = None,
    instances: Mapping[int, Mapping[str, Any]] | None = None,
    instances_given: Sequence[InstanceStats] = (),
    **given: Any,
) -> TopologyStats:
    """A healthy running topology, except for the given values: by component, by task, or for all
    instances."""
    numbers, rows = components or {}, instances or {}
    kinds = {"lines": ("spout", 1), "split": ("bolt", 2), "count": ("bolt", 2)}
    usual: dict[str, Any] = {
        "topology": "words", "state": "RUNNING", "epoch": 1, "phase": "running", "drained": False,
        "lost": 0, "containers": (1, 2), "containers_expected": (1, 2),
        "registered": {
            1: RegisteredStats(host="here", pid=90, secs=60.0),
            2: RegisteredStats(host="there", pid=91, secs=3725.0),
        },
        "components": {
            name: component(kind, **{"instances": number, "up": number, **numbers.get(name, {})})
            for name, (kind, number) in kinds.items()
        },
        "paused": {}, "stream_managers": {}, "master": {}, "errors": {},
        "instances": tuple(instances_given)
        or tuple(instance(task, **rows.get(task, {})) for task in TASKS),
    }  # fmt: skip
    return TopologyStats(**{**usual, **given})


def paused(name: str, because_of: str, share: float) -> PauseStats:
    """An instance that is held back now."""
    return PauseStats(
        instance=name, causes=(4,), paused_secs=10.0, this_pause_secs=3.0, share=share,
        because_of=(because_of,),
    )  # fmt: skip


def snapshot(found: TopologyStats | None = None, at: float = NOW) -> TopologySnapshot:
    """The topology with these stats; without stats, as just after a submission."""
    bare = snapshot_of("words", NODES, alive=True)
    return bare if found is None else replace(bare, stats=found, stats_at=at)
