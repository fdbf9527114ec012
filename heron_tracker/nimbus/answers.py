"""Topologies as Nimbus' clients are told of them: pure, over what is known of each.

As in the REST of Storm's UI (heron_tracker.storm_api): a worker is a container here, a supervisor a
machine with containers, an executor an instance with one task. Numbers are those of all time.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from heron_core.stats import ComponentStats, InstanceStats
from heron_core.topology import ComponentSpec, GroupingKind, GroupingSpec, TopologySpec
from heron_core.version import version_of_heronpy
from heron_tracker.model.config_view import shown_config
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.storm_status import storm_status
from heron_tracker.nimbus.structs import (
    BoltStats,
    ClusterSummary,
    ErrorInfo,
    ExecutorInfo,
    ExecutorSpecificStats,
    ExecutorStats,
    ExecutorSummary,
    NimbusSummary,
    SpoutStats,
    SupervisorSummary,
    TopologyInfo,
)
from heronpy_compat.streamparse.thrift import (
    Bolt,
    ComponentCommon,
    ComponentObject,
    GlobalStreamId,
    Grouping,
    JavaObject,
    NullStruct,
    ShellComponent,
    SpoutSpec,
    StormTopology,
    StreamInfo,
    TopologySummary,
)

ALL_TIME = ":all-time"
STORM_VERSION = "2.0.0"
"""Interface version, by which clients determine available calls."""
SECONDS_MAX = 2**31 - 1
RUNNER = "streamparse_run"
NO_ERRORS, ONE_ERROR = 1, 2


def nimbus_version() -> str:
    """Version compared by clients: Storm's number followed by heronpy's (PEP 440)."""
    return f"{STORM_VERSION}+heronpy.{version_of_heronpy()}"


def nimbus_summary(host: str, port: int, uptime_secs: float) -> NimbusSummary:
    """Summary of the only Nimbus."""
    return NimbusSummary(host, port, _seconds(uptime_secs), True, nimbus_version())


def cluster_summary(
    snapshots: Sequence[TopologySnapshot], nimbus: NimbusSummary, here: str, now: float
) -> ClusterSummary:
    """Summary of the cluster. The machine `here` always counts as a supervisor: sparse creates
    as many workers and ackers as supervisors exist, and zero would disable acks."""
    containers: dict[str, list[float]] = {here: []}
    for snapshot in snapshots:
        for container in snapshot.packing.containers:
            registered = snapshot.registered.get(container.id)
            secs = registered.secs if registered is not None else 0.0
            containers.setdefault(snapshot.host_of(container.id), []).append(secs)
    return ClusterSummary(
        supervisors=[
            SupervisorSummary(
                host, _seconds(max(secs, default=nimbus.uptime_secs)), max(1, len(secs)),
                len(secs), host, nimbus_version(),
            )
            for host, secs in sorted(containers.items())
        ],
        nimbus_uptime_secs=nimbus.uptime_secs,
        topologies=[topology_summary(each, now) for each in snapshots],
        nimbuses=[nimbus],
    )  # fmt: skip


def topology_summary(snapshot: TopologySnapshot, now: float) -> TopologySummary:
    """One row of the list."""
    tasks = len(snapshot.packing.instances)
    return TopologySummary(
        id=snapshot.id,
        name=snapshot.name,
        num_tasks=tasks,
        num_executors=tasks,
        num_workers=len(snapshot.packing.containers),
        uptime_secs=_uptime(snapshot, now),
        status=storm_status(snapshot.state),
        owner=snapshot.role,
        replication_count=1,
    )


def topology_info(snapshot: TopologySnapshot, now: float, errors: int | None) -> TopologyInfo:
    """One topology; `errors`: requested errors (NumErrorsChoice). Only the newest error of each
    component is known, without its time."""
    specs = snapshot.spec.by_name if snapshot.spec is not None else {}
    return TopologyInfo(
        id=snapshot.id,
        name=snapshot.name,
        uptime_secs=_uptime(snapshot, now),
        executors=[
            _executor(snapshot, specs[row.component], row)
            for row in snapshot.instances
            if row.component in specs
        ],
        status=storm_status(snapshot.state),
        errors={} if errors == NO_ERRORS else _errors(snapshot.components),
        sched_status=snapshot.trouble or None,
        owner=snapshot.role,
        replication_count=1,
    )


def _errors(components: Mapping[str, ComponentStats]) -> dict[str, list[ErrorInfo]]:
    return {
        name: [ErrorInfo(stats.last_error, 0)]
        for name, stats in components.items()
        if stats.last_error
    }


def _executor(
    snapshot: TopologySnapshot, spec: ComponentSpec, row: InstanceStats
) -> ExecutorSummary:
    registered = snapshot.registered.get(row.container)
    emitted = {each.name: row.emitted_by_stream.get(each.name, 0) for each in spec.outputs}
    if len(spec.outputs) == 1:
        emitted = {spec.outputs[0].name: row.emitted}
    consumers = snapshot.spec.consumers if snapshot.spec is not None else {}
    transferred = {
        name: number * len(consumers.get((spec.name, name), ())) for name, number in emitted.items()
    }
    return ExecutorSummary(
        ExecutorInfo(row.task, row.task),
        spec.name,
        snapshot.host_of(row.container),
        row.container,
        _seconds(registered.secs if registered is not None else 0.0),
        ExecutorStats(
            {ALL_TIME: emitted}, {ALL_TIME: transferred},
            _specific(spec, row, snapshot.components.get(spec.name)), 1.0,
        ),
    )  # fmt: skip


def _specific(
    spec: ComponentSpec, row: InstanceStats, stats: ComponentStats | None
) -> ExecutorSpecificStats:
    """What is not counted by stream stands with the first one. Latencies are the component's."""
    if spec.is_spout:
        stream = spec.outputs[0].name if spec.outputs else "default"
        latency = _mean(stats, "complete")
        return ExecutorSpecificStats(
            spout=SpoutStats(
                {ALL_TIME: {stream: row.acked}},
                {ALL_TIME: {stream: row.failed}},
                {ALL_TIME: {stream: latency}},
            )
        )
    read = spec.inputs[0] if spec.inputs else None
    source = GlobalStreamId(read.component, read.stream) if read is not None else None
    counts = {
        name: {ALL_TIME: {source: value} if source is not None else {}}
        for name, value in (
            ("acked", row.acked),
            ("failed", row.failed),
            ("process_ms_avg", _mean(stats, "process")),
            ("executed", row.executed),
            ("execute_ms_avg", _mean(stats, "execute")),
        )
    }
    return ExecutorSpecificStats(bolt=BoltStats(**counts))


def _mean(stats: ComponentStats | None, kind: str) -> float:
    found = getattr(stats.latency, kind).mean_ms if stats is not None else None
    return float(found or 0.0)


def topology_config(snapshot: TopologySnapshot) -> str:
    """As JSON, without keys that look like secrets."""
    config = shown_config(snapshot.spec.config) if snapshot.spec is not None else {}
    names = {"topology.name": snapshot.name, "storm.id": snapshot.id}
    return json.dumps({**config, **names}, default=str)


def user_topology(spec: TopologySpec) -> StormTopology:
    """A topology submitted without Thrift. Components are classes, run by streamparse's command."""
    return StormTopology(
        spouts={each.name: _spout(each) for each in spec.components if each.is_spout},
        bolts={each.name: _bolt(each) for each in spec.components if not each.is_spout},
        state_spouts={},
        storm_version=nimbus_version(),
    )


def _spout(spec: ComponentSpec) -> SpoutSpec:
    return SpoutSpec(_runs(spec), _common(spec))


def _bolt(spec: ComponentSpec) -> Bolt:
    return Bolt(_runs(spec), _common(spec))


def _runs(spec: ComponentSpec) -> ComponentObject:
    return ComponentObject(shell=ShellComponent(RUNNER, spec.class_path))


def _common(spec: ComponentSpec) -> ComponentCommon:
    config: Any = shown_config(spec.config)
    return ComponentCommon(
        inputs={
            GlobalStreamId(source.component, source.stream): _grouping(source.grouping)
            for source in spec.inputs
        },
        streams={x.name: StreamInfo(list(x.fields), x.direct) for x in spec.outputs},
        parallelism_hint=spec.parallelism,
        json_conf=json.dumps(config, default=str),
    )


def _grouping(given: GroupingSpec) -> Grouping:
    kind = given.kind
    if kind in (GroupingKind.FIELDS, GroupingKind.GLOBAL):
        return Grouping(fields=list(given.fields) if kind is GroupingKind.FIELDS else [])
    if kind is GroupingKind.CUSTOM:
        return Grouping(custom_object=JavaObject("a custom grouping in Python", []))
    if kind is GroupingKind.PARTIAL_KEY:
        name = "org.apache.storm.grouping.PartialKeyGrouping"
        return Grouping(custom_object=JavaObject(name, []))
    return Grouping(**{kind.value: NullStruct()})


def _uptime(snapshot: TopologySnapshot, now: float) -> int:
    return _seconds(now - snapshot.submitted_secs if snapshot.submitted_secs else 0.0)


def _seconds(secs: float) -> int:
    return int(min(max(0.0, secs), SECONDS_MAX))
