"""The answer of `stats`: what a topology's numbers are, typed, for whoever makes or shows them.

Names are those of the JSON (`heronpy stats --json`), except where a field says otherwise.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Protocol

from msgspec import Struct, field

from heron_core.algorithms.autoscale.sizing import SizingLimits
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
"""What errors call the whole."""
BUSY_SHARE = 0.9
"""A bolt that works for this share of its time cannot do much more: it is shown as full, and is a
bottleneck."""
EVERY_COMPONENT = "*"
"""Instead of a component's name: the instances of all of them."""


class LatencyStats(Struct, frozen=True, kw_only=True):
    """One kind of duration of a component's tuples, in milliseconds; None without any."""

    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    """The percentiles are those of the last minute, on Spark since the start as the mean."""
    buckets: Mapping[int, int] = field(default_factory=dict)
    """The histogram of a sample since the start (heron_core.algorithms.histogram): bucket ->
    durations in it."""


class ComponentLatencies(Struct, frozen=True, kw_only=True):
    """What is measured of a component's tuples."""

    execute: LatencyStats
    """One call of the component."""
    process: LatencyStats
    """From a tuple's arrival at a bolt until it is acked there."""
    complete: LatencyStats
    """From a spout's emit until all that came of the tuple is acked."""


class ClockStats(Struct, frozen=True, kw_only=True):
    """How far an instance is in event time; of several, that of the one behind all others."""

    instance: str
    """component[index]"""
    task: int
    watermark_ms: int | None
    """No event below it is expected, in ms since 1970; None if there is none, or no end of it."""
    complete: bool
    """Whether all of its sources have finished."""
    waits_for: str | None
    """The source that holds it back: component[index], or component.stream where the sources are
    streams; None if all are idle or have finished."""
    waits_for_task: int | None
    silent_secs: float
    """For how long that source has sent nothing."""
    idle: tuple[str, ...]
    """Sources that are left out because they are silent."""


class HotKeyStats(Struct, frozen=True, kw_only=True):
    """A frequent key of a component's input."""

    key: str
    """As Python shows it, shortened."""
    share: float
    """Of the component's input, 0 to 1, as far as a sample shows."""


class RecentCounts(Struct, frozen=True, kw_only=True):
    """What a component has counted in the last seconds."""

    secs: float
    """How many those are."""
    executed: int = 0
    acked: int = 0
    failed: int = 0
    callback_errors: int = 0
    undeclared: int = 0
    expired: int = 0
    """In the last minute: tuples that are not acked in time end together, once in a time-out."""
    acked_in_minute: int = 0
    """In the same minute."""


class ComponentStats(SummedNumbers, frozen=True, kw_only=True):
    """One component: the sum over its instances, those included that an update or a crash ended."""

    inherits_last: ClassVar[bool] = True
    type: str
    """"spout" or "bolt"."""
    instances: int
    """How many there are by plan."""
    up: int
    """How many of them have reported lately."""
    emitted: Annotated[int, counter("Tuples emitted", metric="emitted_tuples")]
    queue_bytes: int
    """What waits for the component in stream managers, or was handed to it and is not processed."""
    queue_tuples: int = 0
    """The same in tuples."""
    queue_secs: float = 0.0
    """How long the slowest of its instances needs for its part of them, as far as one can see."""
    emitted_per_sec: float
    executed_per_sec: float
    capacity: float
    """Share of its time that the busiest instance works, 0 to 1."""
    latency: ComponentLatencies
    last_error: str | None
    """The newest traceback of user code."""
    user: Mapping[str, Any]
    """Metrics that user code registered, in their last time bucket: name -> value, or key ->
    value."""
    user_totals: Mapping[str, Any] = field(default_factory=dict)
    """Those of them that count, since the start."""
    user_net: tuple[str, ...] = ()
    """Those of `user_totals` that fall when a restore takes tuples back."""
    processes: int = 0
    """Processes of its instances that have reported, ended ones included: a restart is one more."""
    recent: RecentCounts | None = None
    """None where reports do not come regularly: on Spark."""
    silent_secs: float | None = None
    """Of a spout that has not finished: since its instances emitted last, or began."""
    unsettled_tuples: int = 0
    """Of a bolt: tuples that its present processes have executed and neither acked nor failed."""
    unsettled_secs: float = 0.0
    """For how long one of its instances has held some and settled none, beyond the time that it may
    (InstanceReport.settle_secs_max)."""
    emitted_by_stream: Mapping[str, int] = field(default_factory=dict)
    """Stream -> its part of `emitted`."""
    executed_by_input: Mapping[str, int] = field(default_factory=dict)
    """Of a bolt: COMPONENT/STREAM -> its part of `executed`; a query of Spark does not say."""
    unsaved_attributes: tuple[str, ...] = ()
    """Of any of its instances, on Spark: what cannot be saved between two batches."""
    forgotten_by_attribute: Mapping[str, int] = field(default_factory=dict)
    """Attribute -> its part of `forgotten`."""
    clock: ClockStats | None = None
    """None for a component that knows no event time."""
    hot_keys: tuple[HotKeyStats, ...] = ()
    """Of its input that is grouped by fields, the most frequent first; by a sample of it."""


class InstanceStats(InstanceNumbers, frozen=True, kw_only=True):
    """One instance; its counters are those of its present process."""

    inherits_last: ClassVar[bool] = True
    instance: str
    """component[index]"""
    task: int
    up: Annotated[bool, level(
        "1 if the instance has reported lately", summed=Summed.NOW, heron="__up", metric="up"
    )]  # fmt: skip
    container: int
    pid: int | None
    """None if it has not reported yet."""
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
    emitted_by_stream: Mapping[str, int] = field(default_factory=dict)
    executed_by_input: Mapping[str, int] = field(default_factory=dict)
    clock: ClockStats | None = None
    latency_secs: Mapping[str, float] = field(default_factory=dict)
    """execute, process or complete -> the sum of those that were measured, by its process."""
    latency_samples: Mapping[str, int] = field(default_factory=dict)
    """How many that were."""
    next_try_secs: float = 0.0
    """Until its next process starts, if it has none and has ended several times in a row; else
    0."""

    @property
    def component(self) -> str:
        """The name of its component."""
        return component_of(self.instance)


class PauseStats(Struct, frozen=True, kw_only=True):
    """One instance's pauses by back-pressure."""

    instance: str
    """component[index]"""
    causes: tuple[int, ...]
    """The tasks that pause it now; empty if it runs."""
    paused_secs: float
    """In all, since its stream manager runs."""
    this_pause_secs: float
    """Of them the pause that lasts; 0 if it runs."""
    share: float
    """Of the last ten seconds, 0 to 1."""
    because_of: tuple[str, ...]
    """The instances of `causes`, component[index]."""

    @property
    def component(self) -> str:
        """The component of the instance."""
        return component_of(self.instance)


class StreamManagerStats(Struct, frozen=True, kw_only=True):
    """One stream manager; its counters are those of its present process."""

    rest: ClassVar[str] = "counters"
    waiting_bytes: Mapping[int, int]
    """task id -> what it holds for the instance or has handed to it."""
    waiting_tuples: Mapping[int, int] = field(default_factory=dict)
    """task id -> the same in tuples."""
    waiting_secs: Mapping[int, float] = field(default_factory=dict)
    """task id -> how long the instance needs for them, by what it has reported so far."""
    task_bytes_in: Mapping[int, int] = field(default_factory=dict)
    """task id -> what its process has sent the instance since it began, in messages of the data
    plane."""
    task_bytes_out: Mapping[int, int] = field(default_factory=dict)
    """task id -> what it has been sent by the instance."""
    peer_bytes_in: Mapping[int, int] = field(default_factory=dict)
    """container -> what it has been sent by its stream manager; 0: by one that is not known yet."""
    peer_bytes_out: Mapping[int, int] = field(default_factory=dict)
    """container -> what it has sent its stream manager."""
    dropped: int = 0
    """Deliveries that found a queue full, in mode drop."""
    counters: Mapping[str, Any] = field(default_factory=dict)
    """Its other counters and sizes, by name (stream_manager.core)."""


class RegisteredStats(Struct, frozen=True, kw_only=True):
    """A stream manager that is registered with the topology master."""

    host: str
    pid: int
    secs: float
    """Since when it is registered."""
    version: str = ""
    """Of the engine that its container runs."""


class UpdateStats(Struct, frozen=True, kw_only=True):
    """The update that is under way, or how the last one ended."""

    number: int
    """Updates so far."""
    under_way: bool
    reason: str
    """Why the last one was aborted; empty if it was not."""
    uncounted: int
    """See heron_core.algorithms.termination.TerminationDetector."""
    stage: str | None
    """containers, drain or instances; None if none is under way."""
    waiting_for: tuple[str, ...]
    """The containers or instances that the stage waits for."""


class CheckpointStats(Struct, frozen=True, kw_only=True):
    """The checkpoints of a topology that runs effectively once."""

    completed: int
    """Number of the newest one that is complete; 0 for none."""
    age_secs: float | None = None
    """Since it was begun: what was processed after that is processed again after a failure."""
    secs: float | None = None
    """How long it took."""
    size_bytes: int | None = None
    """Of all states in it."""
    input_messages: int = 0
    """Messages of input that its barriers have overtaken, saved with the states."""
    input_bytes: int = 0
    """Of these messages."""
    under_way: int | None = None
    """Number of the one that is under way."""
    latest: int
    """The highest number that was given away."""
    failed: int
    """How many have failed, since this master serves."""
    failure: str
    """Why the last one failed; empty if it did not."""
    restored: int
    """The one with which this epoch began; 0 for none."""
    released: bool
    """Whether all instances have that state, so that data flows."""
    restore_failure: str = ""
    """Why a checkpoint cannot be restored, after several tries; they go on."""
    restore_remedy: str = ""
    """What a person can do about it."""
    waiting_for: tuple[str, ...] = ()
    """The instances that have not, or that have still to store their state, some of them."""
    alignment_ms: Mapping[str, int] = field(default_factory=dict)
    """Of the newest one: component[index] -> how long its first barrier waited for its last one;
    without those where that took less than a millisecond."""


OLD_NAMES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("quiet",): ("drained",),
    ("update", "step"): ("update", "stage"),
    ("checkpoints", "restore_cure"): ("checkpoints", "restore_remedy"),
}
"""Path of a field as it was called before -> as it is called now. For one release it is written
under both, and read under either: a topology may run the engine before this one."""


def _parent(data: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The object that the last name of a path belongs to; something else where it is not there."""
    return data if len(path) == 1 else data.get(path[0])


def _copy(data: dict[str, Any], source: tuple[str, ...], target: tuple[str, ...]) -> None:
    """Give a field another name besides its own, where it is there and has not that one."""
    parent = _parent(data, source)
    if isinstance(parent, dict) and source[-1] in parent:
        parent.setdefault(target[-1], parent[source[-1]])


def _with_new_names(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON of this engine or the one before, as a copy."""
    if not isinstance(data, dict):
        return data  # it is malformed, which its reader reports
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
    """Of the physical plan; 0 while there is none."""
    phase: str
    """How far the end of a finite topology has come."""
    drained: bool
    """Whether nothing is in flight, as far as anybody asked."""
    lost: int
    """Deliveries that were sent, are not processed, and that nobody will replay."""
    lost_uncounted: bool = False
    """Whether a stream manager ended at most once: nobody knows how much its queues held."""
    in_flight: int | None = None
    """Deliveries that were sent and are not processed; None if some instance has not said."""
    waiting_for: tuple[str, ...] = ()
    """While it is stopped, or ends: the instances, component[index], that this waits for."""
    stuck: Mapping[str, float] = field(default_factory=dict)
    """component[index] -> for how many seconds its call of user code has not returned."""
    tracked: bool = False
    """Whether tuples are acked: at least once."""
    events: tuple[TopologyEvent, ...] = ()
    """What happened, the newest last."""
    update: UpdateStats | None = None
    """None where there is no such thing as an update."""
    checkpoints: CheckpointStats | None = None
    """None where none are taken."""
    clock: ClockStats | None = None
    """The slowest of the components' clocks; None where no component knows event time."""
    containers: tuple[int, ...]
    """Those whose stream managers are registered and were heard of lately."""
    containers_expected: tuple[int, ...]
    registered: Mapping[int, RegisteredStats]
    """By container."""
    components: Mapping[str, ComponentStats]
    """By name, in order of the topology."""
    paused: Mapping[int, PauseStats]
    """By task id, for the instances that ever were."""
    stream_managers: Mapping[int, StreamManagerStats]
    """By container."""
    version: str = ""
    """Of the engine that the topology master runs."""
    master: Mapping[str, int]
    """The master's counters: malformed messages, refused connections, connections that ended."""
    live_queries: Mapping[str, int] = field(default_factory=dict)
    """What has become of them since the topology master began (query_counts.py); empty: there were
    none."""
    errors: Mapping[int, str]
    """By task id: why it could not start."""
    memory_bytes_max: Mapping[str, int] = field(default_factory=dict)
    """component -> what an instance of it may use, above which it is restarted
    (topology.component.rammap)."""
    sizing: SizingLimits = SizingLimits()
    """What the advice on numbers of instances goes by."""
    instances: tuple[InstanceStats, ...] | None = None
    """Those of the component that was asked for, or of all; None if none was."""

    def to_json(self) -> dict[str, Any]:
        """As it travels, and as `heronpy stats --json` prints it."""
        data: dict[str, Any] = to_json(self)
        for old, new in OLD_NAMES.items():
            _copy(data, new, old)
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "TopologyStats":
        """The inverse of `to_json`; ProtocolError naming the field that is wrong."""
        kind = QueryStats if "batch" in data else TopologyStats
        return from_json(kind, _with_new_names(data), WHERE)


class QueryStats(TopologyStats, frozen=True, kw_only=True):
    """All numbers of a topology that runs as a query of Spark."""

    batch: int | None
    """Number of the newest batch that is done."""
    batch_secs: float
    """How long that took."""
    ready: bool
    """Whether user code is loaded everywhere, or waits because the topology is paused."""


class StatsSource(Protocol):
    """Who knows the numbers of a running topology."""

    def stats(self, component: str | None, now: float) -> TopologyStats:
        """All numbers, at `now` in seconds of any monotonic clock; those of one component's
        instances too if it is given and there is such a component, or of EVERY_COMPONENT's."""
