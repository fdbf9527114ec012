"""The instance report: each number of an instance, with meaning and sum over a component.

An instance makes a report about every second, the stream manager forwards the report unchanged, and
the topology master checks (`report_of`) and sums the reports. A field below is the only definition
of a number: limits, counter or level, sum, names in Heron's tracker and in OpenMetrics, help. The
counters of a process, the checks, the sums, the rows of `heronpy stats`, the history, OpenMetrics
and docs/METRICS.md derive from the fields.

    SummedNumbers ─┬─ InstanceNumbers ─┬─ InstanceReport    on the wire
                   │                   └─ InstanceStats     an instance's row (heron_core.stats)
                   └─ ComponentStats                        a component's row

A new number is one field: of SummedNumbers if components have the number, too, else of
InstanceNumbers. The field has a default, because another version with the same protocol may leave
the number out.
"""

import reprlib
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import asdict, fields

from heron_core.algorithms.clock_state import ClockState, is_clock_state
from heron_core.algorithms.histogram import merged
from heron_core.algorithms.hot_keys import are_hot_keys
from heron_core.algorithms.user_metrics import are_user_metrics
from heron_core.errors import ProtocolError

NUMBER_MAX = 1 << 50
"""Largest number. A count reaches the limit in 35 years at a million a second, and the sum of
thousands of numbers fits into the 64 bits of a message."""
SETTLES_LATER = float(NUMBER_MAX)
"""`settle_secs_max` of bolts whose tuples wait for the end of a window or, with `acks_later`, for a
later ack."""
BUCKET_MAX = 400
"""10^23 seconds."""

Count = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
Amount = Annotated[float, Meta(ge=0, le=NUMBER_MAX)]
"""A number of a report. NaN is refused, although above and below compare false."""
Bucket = Annotated[int, Meta(ge=0, le=BUCKET_MAX)]


class MeasureKind(Enum):
    """How a number moves."""

    COUNTER = "counter"
    """The number only grows while its process lives."""
    NET = "net count"
    """A count that a restore or a replay reduces."""
    LEVEL = "level"


class Summed(Enum):
    """How the number of a component derives from those of its instances."""

    EVER = "sum, ended processes included"
    HISTORY = "sum, ended processes included; what a restore has undone is taken back"
    """In a topology with checkpoints: the number of valid events, without the undone work."""
    NOW = "sum"
    MOST = "highest"
    ALONE = "none"
    """Only instances have the number."""


class Measure(Struct, frozen=True):
    """Properties of a number, given in the annotation of the number's field."""

    what: str
    """One line, the help of the number's series, without the full stop."""
    kind: MeasureKind
    summed: Summed
    heron: str = ""
    """Name in Heron's tracker and in the history; empty: the number is not in these."""
    metric: str = ""
    """Name in OpenMetrics behind `heron_instance_`, and behind `heron_component_` if a component
    sums the number over all processes; without the suffix of counters. Empty: without a
    series."""
    more: str = ""
    """Further text for docs/METRICS.md."""


def counter(what: str, *, summed: Summed = Summed.EVER, **names: str) -> Measure:
    """A number that grows during the life of a process; `names`: heron, metric, more."""
    return Measure(what, MeasureKind.COUNTER, summed, **names)


def net_count(what: str, *, summed: Summed = Summed.HISTORY, **names: str) -> Measure:
    """A number that grows, and falls after a restore or a replay. Not a counter of OpenMetrics:
    readers interpret a fall as the restart of a process, and add the whole number again."""
    return Measure(what, MeasureKind.NET, summed, **names)


def level(what: str, *, summed: Summed = Summed.ALONE, **names: str) -> Measure:
    """A number of the moment."""
    return Measure(what, MeasureKind.LEVEL, summed, **names)


class SummedNumbers(Struct, frozen=True, kw_only=True):
    """Numbers of an instance and of a component."""

    executed: Annotated[Count, counter(
        "Tuples executed, or calls of next_tuple", heron="__execute-count",
        metric="executed_tuples", more="including failed ones",
    )]  # fmt: skip
    acked: Annotated[Count, counter(
        "Tuples acked", heron="__ack-count", metric="acked_tuples",
        more="of a spout: complete trees; in `ATMOST_ONCE` tuples with an id are acked at their"
        " emit",
    )]  # fmt: skip
    failed: Annotated[Count, counter(
        "Tuples failed", heron="__fail-count", metric="failed_tuples", more="of a spout: trees",
    )]  # fmt: skip
    failed_for_good: Annotated[Count, net_count(
        "Failed tuples without a successful replay",
        more="of a bolt: tuples without an id; of a spout: tuples not acked since, so that a tuple"
        " that is being replayed still counts, and only the present processes count",
    )]  # fmt: skip
    expired: Annotated[Count, counter(
        "Tuples of a spout not acked in time", heron="__timeout-count", metric="expired_tuples",
        more="within `topology.message.timeout.secs`; included in `failed`",
    )]  # fmt: skip
    ticks: Annotated[Count, counter("Tick tuples executed")]
    ticks_left_out: Annotated[Count, counter(
        "Ticks merged with another tick that was waiting or running",
        more="ticks have no data, so data is not lost",
    )] = 0  # fmt: skip
    errors: Annotated[Count, counter(
        "Exceptions of user code", heron="__error-count", metric="errors",
    )]  # fmt: skip
    callback_errors: Annotated[Count, net_count(
        "Errors that did not fail a tuple", summed=Summed.EVER, metric="callback_errors",
        more=(
            "in `next_tuple`, `ack`, `fail`, `activate`, `deactivate`, `on_finish`; included in "
            "the errors, which never decrease; without abandoned calls that a restore has undone"
        ),
    )]  # fmt: skip
    calls_given_up: Annotated[Count, net_count(
        "Calls of a bolt about no single tuple that are abandoned",
        more=(
            "ticks, windows, timers, `on_finish`, unless they became dead letters; included in "
            "the callback errors"
        ),
    )] = 0  # fmt: skip
    undeclared: Annotated[Count, net_count(
        "Tuples emitted by a bolt without declared outputs",
        metric="undeclared_tuples",
        more="the tuples are dropped, and the run is INCOMPLETE",
    )] = 0  # fmt: skip
    malformed: Annotated[Count, counter(
        "Messages dropped because they were malformed",
        metric="malformed_messages",
        more="the last error names the task that sent one, and the run is INCOMPLETE",
    )] = 0  # fmt: skip
    fenced: Annotated[Count, counter(
        "Batches dropped because they were routed by an older physical plan",
        metric="fenced_batches",
        more="before a stream manager was replaced or state was moved; their tracked tuples failed",
    )]  # fmt: skip
    late: Annotated[Count, counter(
        "Acks, fails and anchored emits for a tuple that was acked or failed before",
        more="only the first ack or fail has an effect, and such an emit is not tracked",
    )]  # fmt: skip
    unsaved: Annotated[Count, level(
        "Attributes that cannot be saved between batches of Spark", summed=Summed.NOW,
        metric="unsaved_attributes",
        more="after a restart they have their values from `initialize`",
    )] = 0  # fmt: skip
    forgotten: Annotated[Count, counter(
        "Iterators and collections reset by a restart on Spark",
        metric="forgotten_attributes",
        more="attributes of a component that could not be saved; the run is INCOMPLETE",
    )] = 0  # fmt: skip
    pending: Annotated[Count, level(
        "Tuples of a spout waiting for their acks", summed=Summed.NOW,
        heron="__pending-acked-count", metric="pending_tuples", more="0 in `ATMOST_ONCE`",
    )]  # fmt: skip


class InstanceNumbers(SummedNumbers, frozen=True, kw_only=True):
    """Numbers of an instance alone, and metrics of user code."""

    stuck_secs: Annotated[Amount, level(
        "Seconds in the current call of user code, if too long; else 0",
        more="longer than `topology.stuck.report.secs`",
    )]  # fmt: skip
    busy_secs: Annotated[Amount, counter(
        "Seconds that its process has worked", summed=Summed.ALONE
    )] = 0.0  # fmt: skip
    waited_secs: Annotated[Amount, counter(
        "Seconds of these under back-pressure, in the middle of a batch", summed=Summed.ALONE
    )] = 0.0  # fmt: skip
    core_waited_secs: Annotated[Amount, counter(
        "Seconds in which its main thread could have run and had no core", summed=Summed.ALONE,
        more="0 where the kernel does not say",
    )] = 0.0  # fmt: skip
    cpu_share: Annotated[Amount, level(
        "CPU cores used by all its threads", heron="__cpu-share", metric="cpu_cores"
    )] = 0.0  # fmt: skip
    memory_bytes: Annotated[Count, level(
        "RAM, including shared memory", heron="__memory-bytes", metric="memory_bytes"
    )] = 0  # fmt: skip
    unsendable: Annotated[Count, counter(
        "Dropped reports of its control thread", summed=Summed.ALONE,
        more="because 1,024 reports waited for its stream manager",
    )] = 0  # fmt: skip
    settle_secs_max: Amount = 0.0
    """Of a bolt: longest time by design between the arrival of a tuple and the ack or fail: until a
    tick, or SETTLES_LATER for a bolt with windows."""
    fixed_state: bool = False
    """Whether the instance has state that a rescale cannot divide: Heron's put()."""
    user: Mapping[str, Any]
    """Metrics registered by user code, of the last time bucket: name -> value, or key -> value."""
    user_totals: Mapping[str, Any] = field(default_factory=dict)
    """Counters of user code, since the start."""


class Distribution(Struct, frozen=True):
    """One kind of duration: sum in seconds, number of durations, and histogram of a sample."""

    total_secs: Amount = 0.0
    number: Count = 0
    histogram: dict[Bucket, Count] = field(default_factory=dict)
    """heron_core.algorithms.histogram: bucket -> durations in the bucket."""

    def joined(self, other: "Distribution") -> "Distribution":
        """The sum of two distributions."""
        return Distribution(
            self.total_secs + other.total_secs,
            self.number + other.number,
            merged((self.histogram, other.histogram)),
        )


class InstanceReport(InstanceNumbers, frozen=True, kw_only=True):
    """All numbers of an instance since its process began."""

    emitted_by_stream: Mapping[str, Count] = field(name="emitted")
    """Stream -> tuples emitted."""
    executed_by_input: Mapping[str, Count] = field(name="inputs", default_factory=dict)
    """Of a bolt: COMPONENT/STREAM -> the input's part of `executed`."""
    unsaved_attributes: tuple[str, ...] = ()
    """Names of the attributes."""
    forgotten_by_attribute: Mapping[str, Count] = field(default_factory=dict)
    """Name -> the attribute's part of `forgotten`."""
    sent: Count = 0
    """Deliveries to other instances."""
    processed: Count = 0
    """Deliveries of other instances."""
    execute: Distribution
    process: Distribution
    complete: Distribution
    busy_secs: Amount
    user_totals: Mapping[str, Any]
    last_error: str | None
    """The newest traceback of user code."""
    finished: bool
    clock: ClockState | None = None
    """Clock of event time; None without event time."""
    tuple_counts: Mapping[str, Amount] = field(default_factory=dict)
    """Counts of tuples by metrics of user code, each tuple once: name -> total. A restore reduces
    the total by the undone tuples."""
    hot_keys: Mapping[str, Any] | None = None
    """A sample of frequent keys of the instance's input (heron_core.algorithms.hot_keys)."""
    at: Amount
    """Time of the report by the instance's clock."""
    incarnation: int
    pid: int


NUMBERS: tuple[str, ...] = SummedNumbers.__struct_fields__
"""Numbers of which a process keeps counters (heron_instance.runtime.metrics)."""
DISTRIBUTIONS: Mapping[str, str] = {
    "execute": "One call of the component",
    "process": "From a tuple's arrival at a bolt until the bolt acks it",
    "complete": "From a spout's emit until the tuple's tree is acked",
}
"""Fields of a report with durations of an instance's tuples, and their descriptions."""

EMPTY = Distribution()
_ZEROS: dict[str, Any] = {**dict.fromkeys(NUMBERS, 0), **dict.fromkeys(DISTRIBUTIONS, EMPTY)}
NOTHING_REPORTED = InstanceReport(
    **_ZEROS, stuck_secs=0.0, emitted_by_stream={}, busy_secs=0.0, user={}, user_totals={},
    last_error=None, finished=False, at=0.0, incarnation=0, pid=0,
)  # fmt: skip
"""The numbers of an instance before the first report."""

_RENAMED = tuple(
    (name, key)
    for name, key in zip(
        InstanceReport.__struct_fields__, InstanceReport.__struct_encode_fields__, strict=True
    )
    if name != key
)
"""Fields with other names on the wire."""
_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "user": are_user_metrics,
    "user_totals": are_user_metrics,
    "clock": is_clock_state,
    "hot_keys": are_hot_keys,
}
"""Checks of fields beyond the type."""


def to_wire(report: InstanceReport) -> dict[str, Any]:
    """Plain values of a report for the wire, under the names of the protocol."""
    data = asdict(report)
    for name, key in _RENAMED:
        data[key] = data.pop(name)
    for name in DISTRIBUTIONS:
        data[name] = asdict(data[name])
    return data


def report_of(data: Mapping[str, Any]) -> InstanceReport:
    """The report of plain values. ProtocolError names the absent or invalid field: NaN, or a number
    above NUMBER_MAX."""
    report = _converted(data, keys_are_text=False)
    for name, is_valid in _CHECKS.items():
        if not is_valid(value := getattr(report, name)):
            raise ProtocolError(f"a report whose {name} is {reprlib.repr(value):.200}")
    return report


def report_of_json(data: Mapping[str, Any]) -> InstanceReport:
    """Like `report_of`, for a report written as JSON by the task of a query."""
    return _converted(data, keys_are_text=True)


def _converted(data: Mapping[str, Any], keys_are_text: bool) -> InstanceReport:
    try:
        return msgspec.convert(data, InstanceReport, str_keys=keys_are_text)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"a report of an instance is malformed: {error}") from None


@cache
def measures_of(kind: type[Struct]) -> Mapping[str, Measure]:
    """Field -> measure, for the numbers of a report or a row."""
    return {
        each.name: measure
        for each in fields(kind)
        for measure in getattr(each.type, "__metadata__", ())
        if isinstance(measure, Measure)
    }


TOTALS: frozenset[Summed] = frozenset({Summed.EVER, Summed.HISTORY})
"""Sums of counters over all processes of a component."""
HISTORY: tuple[str, ...] = tuple(
    name for name, measure in measures_of(SummedNumbers).items() if measure.summed is Summed.HISTORY
)
"""Numbers that a restore takes back (heron_core.algorithms.covered_counts)."""
