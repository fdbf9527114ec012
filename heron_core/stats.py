"""Result of `stats`: a topology's statistics, typed, for producers and displays.

Names are those of the JSON (`heronpy stats --json`), unless a field says otherwise.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Protocol

from msgspec import Struct, field

from heron_core.algorithms.autoscale.sizing import SizingLimits
from heron_core.clock_stats import ClockStats, MinimumClockStats
from heron_core.instance_report import (
    InstanceNumbers,
    Summed,
    SummedNumbers,
    counter,
    level,
)
from heron_core.naming import component_of
from heron_core.topology_events import TopologyEvent
from heron_core.typed_json import from_json, to_json

WHERE = "stats"
"""Name of the statistics in errors."""
BUSY_SHARE = 0.9
"""Utilisation from which a bolt is shown as full, and counts as a bottleneck."""
EVERY_COMPONENT = "*"
"""In place of a component's name: the instances of all components."""


class LatencyStats(Struct, frozen=True, kw_only=True):
    """One kind of duration of a component's tuples, in milliseconds; None without any duration."""

    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    """The percentiles are those of the last minute, on Spark since the start as the mean."""
    buckets: Mapping[int, int] = field(default_factory=dict)
    """The histogram of a sample since the start (heron_core.algorithms.histogram): bucket ->
    durations in the bucket."""


class ComponentLatencies(Struct, frozen=True, kw_only=True):
    """The measured durations of a component's tuples."""

    execute: LatencyStats
    """One call of the component."""
    process: LatencyStats
    """From a tuple's arrival at a bolt to its ack."""
    complete: LatencyStats
    """From a spout's emit until the whole tree of the tuple is acked."""


class HotKeyStats(Struct, frozen=True, kw_only=True):
    """A frequent key of a component's input."""

    key: str
    """As Python shows the key, shortened."""
    share: float
    """Of the component's input, 0 to 1, as far as a sample shows."""


class RecentCounts(Struct, frozen=True, kw_only=True):
    """The counts of a component in the last seconds."""

    secs: float
    """Seconds covered by the counts."""
    executed: int = 0
    acked: int = 0
    failed: int = 0
    callback_errors: int = 0
    undeclared: int = 0
    expired: int = 0
    """In the last minute: tuples that are not acked in time end together, once in a time-out."""
    acked_in_minute: int = 0
    """In the last minute."""


class ComponentStats(SummedNumbers, frozen=True, kw_only=True):
    """One component: the sum over its instances, including instances ended by an update or a
    crash."""

    inherits_last: ClassVar[bool] = True
    type: str
    """"spout" or "bolt"."""
    instances: int
    """Number of instances by plan."""
    up: int
    """Number of instances that have reported lately."""
    emitted: Annotated[int, counter("Tuples emitted", metric="emitted_tuples")]
    queue_bytes: int
    """Bytes for the component: queued in stream managers, or delivered and not yet processed."""
    queue_tuples: int = 0
    """The number of these tuples."""
    queue_secs: float = 0.0
    """Estimated processing time of the longest share, at its instance."""
    emitted_per_sec: float
    executed_per_sec: float
    capacity: float
    """Utilisation of the busiest instance, 0 to 1."""
    latency: ComponentLatencies
    last_error: str | None
    """The newest traceback of user code."""
    user: Mapping[str, Any]
    """Metrics that user code registered, in their last time bucket: name -> value, or key ->
    value."""
    user_totals: Mapping[str, Any] = field(default_factory=dict)
    """Counting metrics, since the start."""
    user_net: tuple[str, ...] = ()
    """Entries of `user_totals` that may decrease on a restore."""
    processes: int = 0
    """Number of reporting processes, ended ones included: each restart adds one."""
    recent: RecentCounts | None = None
    """None if reports do not come regularly: on Spark."""
    silent_secs: float | None = None
    """Of a spout that has not finished: seconds since its instances last emitted, or began."""
    unsettled_tuples: int = 0
    """Of a bolt: tuples that its present processes have executed and neither acked nor failed."""
    unsettled_secs: float = 0.0
    """Seconds for which one of the instances has held tuples and settled none, beyond the time
    allowed to it (InstanceReport.settle_secs_max)."""
    emitted_by_stream: Mapping[str, int] = field(default_factory=dict)
    """Stream -> the stream's part of `emitted`."""
    executed_by_input: Mapping[str, int] = field(default_factory=dict)
    """Of a bolt: COMPONENT/STREAM -> the input's part of `executed`; empty for a query of Spark."""
    unsaved_attributes: tuple[str, ...] = ()
    """On Spark: attributes of any instance that cannot be saved between two batches."""
    forgotten_by_attribute: Mapping[str, int] = field(default_factory=dict)
    """Attribute -> the attribute's part of `forgotten`."""
    clock: ClockStats | None = None
    """None for a component without event time."""
    hot_keys: tuple[HotKeyStats, ...] = ()
    """Most frequent keys of the input grouped by fields, from a sample."""


class InstanceStats(InstanceNumbers, frozen=True, kw_only=True):
    """One instance; counters are those of the instance's present process."""

    inherits_last: ClassVar[bool] = True
    instance: str
    """component[index]"""
    task: int
    up: Annotated[bool, level(
        "1 if the instance has reported lately", summed=Summed.NOW, heron="__up", metric="up"
    )]  # fmt: skip
    container: int
    pid: int | None
    """None before the first report."""
    restarts: Annotated[int, level(
        "Processes that ran before the present one", heron="__restarts", metric="restarts"
    )]  # fmt: skip
    emitted: Annotated[int, counter(
        "Tuples emitted by the present process", heron="__emit-count", metric="emitted_tuples",
        more="a tuple for three tasks counts once",
    )] = 0  # fmt: skip
    emitted_per_sec: Annotated[float, level(
        "Tuples emitted per second, between its last two reports", summed=Summed.NOW
    )]  # fmt: skip
    executed_per_sec: Annotated[float, level(
        "Tuples executed per second, between its last two reports", summed=Summed.NOW
    )]  # fmt: skip
    capacity: Annotated[float, level(
        "Share of the time that the instance works", summed=Summed.MOST, heron="__capacity",
        metric="busy_ratio",
    )]  # fmt: skip
    queue_tuples: Annotated[int, level(
        "Tuples queued for the instance", summed=Summed.NOW, heron="__queue-tuples",
        metric="queue_tuples", more="in its stream manager, or received and not processed",
    )] = 0  # fmt: skip
    queue_bytes: Annotated[int, level(
        "Bytes queued for the instance", summed=Summed.NOW, heron="__queue-bytes",
        metric="queue_bytes",
    )]  # fmt: skip
    queue_secs: Annotated[float, level(
        "Time that the instance needs for its queue", summed=Summed.MOST, heron="__queue-secs",
        metric="queue_seconds", more="estimated from its reports",
    )] = 0.0  # fmt: skip
    received_bytes: Annotated[int, counter(
        "Received from its stream manager", summed=Summed.ALONE, heron="__received-bytes",
        metric="received_bytes", more=(
            "in messages of the data plane, by the stream manager's process"
        ),
    )] = 0  # fmt: skip
    sent_bytes: Annotated[int, counter(
        "Sent to its stream manager", summed=Summed.ALONE, heron="__sent-bytes", metric="sent_bytes"
    )] = 0  # fmt: skip
    backpressure_caused_ms: Annotated[int, counter(
        "Milliseconds during which its queue caused back-pressure", summed=Summed.ALONE,
        heron="__time_spent_back_pressure_by_compid",
        more="the sum of all stream managers that name the instance, by their processes",
    )] = 0  # fmt: skip
    emitted_by_stream: Mapping[str, int] = field(default_factory=dict)
    executed_by_input: Mapping[str, int] = field(default_factory=dict)
    clock: ClockStats | None = None
    latency_secs: Mapping[str, float] = field(default_factory=dict)
    """execute, process or complete -> sum of the process's measurements."""
    latency_samples: Mapping[str, int] = field(default_factory=dict)
    """Number of measurements."""
    next_try_secs: float = 0.0
    """Time until the next process, after several consecutive ends; else 0."""

    @property
    def component(self) -> str:
        """Name of the instance's component."""
        return component_of(self.instance)


class PauseStats(Struct, frozen=True, kw_only=True):
    """One instance's pauses by back-pressure."""

    instance: str
    """component[index]"""
    causes: tuple[int, ...]
    """Tasks that pause the instance now; empty while running."""
    paused_secs: float
    """Seconds of all pauses since the stream manager runs."""
    this_pause_secs: float
    """Duration of the current pause; 0 while running."""
    share: float
    """Of the last ten seconds, 0 to 1."""
    because_of: tuple[str, ...]
    """The instances of `causes`, component[index]."""

    @property
    def component(self) -> str:
        """The component of the instance."""
        return component_of(self.instance)


INITIATED_MS, AGGREGATED_MS = "backpressure_initiated_ms", "backpressure_aggr_ms"
"""Counters of a stream manager, which one of an earlier version does not have: milliseconds with a
cause of back-pressure among its own queues, or at any stream manager."""


class StreamManagerStats(Struct, frozen=True, kw_only=True):
    """One stream manager; counters are those of its present process."""

    rest: ClassVar[str] = "counters"
    waiting_bytes: Mapping[int, int]
    """task id -> bytes queued for the instance, or delivered and not yet processed."""
    waiting_tuples: Mapping[int, int] = field(default_factory=dict)
    """task id -> number of these tuples."""
    waiting_secs: Mapping[int, float] = field(default_factory=dict)
    """task id -> estimated seconds to process these tuples, by the instance's reports."""
    task_bytes_in: Mapping[int, int] = field(default_factory=dict)
    """task id -> bytes of the data plane sent to the instance's process."""
    task_bytes_out: Mapping[int, int] = field(default_factory=dict)
    """task id -> bytes of the data plane received from the instance."""
    peer_bytes_in: Mapping[int, int] = field(default_factory=dict)
    """container -> bytes received from its stream manager; container 0: unknown sender."""
    peer_bytes_out: Mapping[int, int] = field(default_factory=dict)
    """container -> bytes sent to its stream manager."""
    oldest_message_secs: Mapping[int, float] = field(default_factory=dict)
    """task id of a bolt -> age of the oldest message queued, or delivered and not processed."""
    oldest_root_secs: Mapping[int, float] = field(default_factory=dict)
    """task id of a spout -> age of the oldest tracked tuple that is not acked."""
    oldest_link_secs: Mapping[int, float] = field(default_factory=dict)
    """container -> age of the oldest message that its stream manager has not acknowledged."""
    caused_ms: Mapping[int, int] = field(default_factory=dict)
    """task id -> milliseconds during which a queue here named it as a cause of back-pressure."""
    dropped: int = 0
    """Deliveries that found a queue full, in mode drop."""
    live_queries: Mapping[str, int] = field(default_factory=dict)
    """Outcome -> questions that clients have sent here (query_counts.py)."""
    counters: Mapping[str, Any] = field(default_factory=dict)
    """Other counters and sizes, by name (stream_manager.core)."""


class LogLevelStats(Struct, frozen=True, kw_only=True):
    """A log level that differs from the config for a while."""

    target: str
    """A component, `stream-manager` or `topology-master`; empty for every process."""
    logger: str
    """Empty for all loggers."""
    level: str
    secs_left: float


class RegisteredStats(Struct, frozen=True, kw_only=True):
    """A stream manager that is registered with the topology master."""

    host: str
    pid: int
    secs: float
    """Seconds since its registration."""
    version: str = ""
    """Engine of the container."""


class UpdateStats(Struct, frozen=True, kw_only=True):
    """The current update, or the end of the last one."""

    number: int
    """Updates so far."""
    under_way: bool
    reason: str
    """Reason why the last update was aborted; empty otherwise."""
    uncounted: int
    """See heron_core.algorithms.termination.TerminationDetector."""
    stage: str | None
    """containers, drain or instances; None without an update."""
    waiting_for: tuple[str, ...]
    """The containers or instances that the stage waits for."""


class BackupStats(Struct, frozen=True, kw_only=True):
    """The backup of states in memory; counts are since this master serves."""

    durable: int
    """Number of the newest complete checkpoint in the checkpoint store; 0 for none. Sinks have
    committed, and spouts have acked, up to here."""
    copies: int | None = None
    """The least number of other containers with a copy of a state, of the newest checkpoint."""
    spilled: int = 0
    """States written to the checkpoint store for lack of a container with room."""
    shortfall: str = ""
    """A reason for missing copies of the newest checkpoint; empty if all exist."""
    rolled_back: int = 0
    """Checkpoints lost by all containers, each followed by a restore from the checkpoint store."""


class CheckpointStats(Struct, frozen=True, kw_only=True):
    """The checkpoints of a topology that runs effectively once."""

    completed: int
    """Number of the newest complete checkpoint; 0 for none."""
    age_secs: float | None = None
    """Age since its start: later input is processed again after a failure."""
    secs: float | None = None
    """Its duration."""
    size_bytes: int | None = None
    """Bytes of all states in the checkpoint."""
    input_messages: int = 0
    """Messages of input that the barriers have overtaken, saved with the states."""
    input_bytes: int = 0
    """Size of these messages."""
    under_way: int | None = None
    """Number of the checkpoint in progress."""
    latest: int
    """Highest number of a checkpoint that was begun."""
    failed: int
    """Number of failed checkpoints since this master serves."""
    failure: str
    """Failure reason of the last checkpoint; empty on success."""
    restored: int
    """Restored checkpoint of the epoch; 0 for none."""
    released: bool
    """Whether all instances have restored the checkpoint, so that data flows."""
    restore_failure: str = ""
    """Why a checkpoint cannot be restored, after several tries; further tries follow."""
    restore_remedy: str = ""
    """Remedy for people."""
    waiting_for: tuple[str, ...] = ()
    """Some of the instances whose restore, or stored state, is pending."""
    backup: BackupStats | None = None
    """None without `topology.stateful.backup`."""
    alignment_ms: Mapping[str, int] = field(default_factory=dict)
    """Of the newest checkpoint: component[index] -> time between its first and last barrier;
    values below a millisecond are left out."""


OLD_NAMES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("quiet",): ("drained",),
    ("update", "step"): ("update", "stage"),
    ("checkpoints", "restore_cure"): ("checkpoints", "restore_remedy"),
}
"""Former path of a field -> current path. For one release both are written, and either is read:
a topology may run the previous engine."""


def _parent(data: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The parent object of a path's last name; any other value if missing."""
    return data if len(path) == 1 else data.get(path[0])


def _copy(data: dict[str, Any], source: tuple[str, ...], target: tuple[str, ...]) -> None:
    """Add a second name of a field, if the field is present and the name is not."""
    parent = _parent(data, source)
    if isinstance(parent, dict) and source[-1] in parent:
        parent.setdefault(target[-1], parent[source[-1]])


def _with_new_names(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON of this engine or the previous one, as a copy with the new names."""
    if not isinstance(data, dict):
        return data  # malformed; its reader reports the error
    copied = {key: dict(part) if isinstance(part, dict) else part for key, part in data.items()}
    for old, new in OLD_NAMES.items():
        _copy(copied, old, new)
    return copied


class TopologyStats(Struct, frozen=True, kw_only=True):
    """All numbers of a running topology."""

    topology: str
    state: str
    """heron_core.plans.TopologyState"""
    epoch: int
    """Of the physical plan; 0 without a plan."""
    phase: str
    """How far the end of a finite topology has come."""
    drained: bool
    """Whether nothing is in flight, by the last probe."""
    lost: int
    """Deliveries sent, not processed, and never replayed."""
    lost_uncounted: bool = False
    """Whether a stream manager has ended at most once: the content of its queues is unknown."""
    in_flight: int | None = None
    """Deliveries that were sent and are not processed; None if an instance has not reported."""
    waiting_for: tuple[str, ...] = ()
    """During a stop or an end: the instances, component[index], still awaited."""
    stuck: Mapping[str, float] = field(default_factory=dict)
    """component[index] -> for how many seconds its call of user code has not returned."""
    starting: Mapping[str, float] = field(default_factory=dict)
    """component[index] -> for how many seconds its process is expected and has not reported: user
    code may take its time in `initialize`."""
    unheard: Mapping[str, float] = field(default_factory=dict)
    """component[index] -> for how many seconds tuples wait for it and its reports are overdue: its
    process does not run."""
    tracked: bool = False
    """Whether tuples are acked: at least once."""
    events: tuple[TopologyEvent, ...] = ()
    """Events of the topology, the newest last."""
    update: UpdateStats | None = None
    """None without update support."""
    checkpoints: CheckpointStats | None = None
    """None without checkpoints."""
    clock: ClockStats | None = None
    """The slowest of the components' clocks; None if no component knows event time."""
    minimum_clock: MinimumClockStats | None = None
    """None before the first report of each stream manager, and for a query of Spark."""
    containers: tuple[int, ...]
    """Containers whose stream managers are registered and have reported lately."""
    containers_expected: tuple[int, ...]
    registered: Mapping[int, RegisteredStats]
    """By container."""
    components: Mapping[str, ComponentStats]
    """By name, in order of the topology."""
    paused: Mapping[int, PauseStats]
    """By task id, for the instances that were ever paused."""
    stream_managers: Mapping[int, StreamManagerStats]
    """By container."""
    version: str = ""
    """Version of the engine that the topology master runs."""
    master: Mapping[str, int]
    """The master's counters: malformed messages, refused connections, connections that ended."""
    live_queries: Mapping[str, int] = field(default_factory=dict)
    """Outcome counts of the topology master and of all stream managers, each since its start
    (query_counts.py); empty without queries."""
    log_levels: tuple[LogLevelStats, ...] = ()
    """Those that differ from the config now."""
    errors: Mapping[int, str]
    """By task id: why it could not start."""
    pending_max: Mapping[str, int] = field(default_factory=dict)
    """spout -> unfinished tracked tuples of an instance at most (topology.max.spout.pending); empty
    without acks."""
    memory_bytes_max: Mapping[str, int] = field(default_factory=dict)
    """component -> most memory of an instance, above which the instance is restarted
    (topology.component.rammap)."""
    sizing: SizingLimits = SizingLimits()
    """Limits for the advice on numbers of instances."""
    instances: tuple[InstanceStats, ...] | None = None
    """Instances of the requested component, or of all; None if not requested."""

    def to_json(self) -> dict[str, Any]:
        """For transfer and for `heronpy stats --json`."""
        data: dict[str, Any] = to_json(self)
        for old, new in OLD_NAMES.items():
            _copy(data, new, old)
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "TopologyStats":
        """The inverse of `to_json`; ProtocolError with the field that is wrong."""
        kind = QueryStats if "batch" in data else TopologyStats
        return from_json(kind, _with_new_names(data), WHERE)


class QueryStats(TopologyStats, frozen=True, kw_only=True):
    """All numbers of a topology that runs as a query of Spark."""

    batch: int | None
    """Number of the newest batch that is done."""
    batch_secs: float
    """Seconds that the batch took."""
    ready: bool
    """Whether user code is loaded everywhere, or waits because the topology is paused."""


class StatsSource(Protocol):
    """Source of a running topology's statistics."""

    def stats(self, component: str | None, now: float) -> TopologyStats:
        """All statistics, at `now` in seconds of any monotonic clock; with the instances of the
        given component, if known, or of EVERY_COMPONENT."""
