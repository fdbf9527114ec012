"""The series that are kept of each instance: one table for Heron's names, metrics and history."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from heron_core.stats import InstanceStats


class Series(Struct, frozen=True):
    """One number of an instance."""

    read: Callable[[InstanceStats], float]
    counts: bool
    """Whether it only grows while its process lives; else it is a level."""
    metric: str
    """Its name in OpenMetrics, without the prefix, and without the suffix of a counter; empty for
    what is only recorded."""
    help: str


LATENCIES = ("execute", "process", "complete")
"""OpenMetrics has them as histograms of components."""


def latency_series(kind: str) -> tuple[str, str]:
    """Names of the sum of a kind of latency in seconds, and of how many it is of."""
    return f"__{kind}-secs", f"__{kind}-samples"


def _latencies() -> dict[str, Series]:
    found = {}
    for kind in LATENCIES:
        secs, samples = latency_series(kind)
        found[secs] = Series(_read("latency_secs", kind), True, "", "")
        found[samples] = Series(_read("latency_samples", kind), True, "", "")
    return found


def _read(name: str, kind: str) -> Callable[[InstanceStats], float]:
    return lambda x: getattr(x, name).get(kind, 0)


SERIES: Mapping[str, Series] = {
    "__emit-count": Series(
        lambda x: x.emitted, True, "emitted_tuples", "Tuples emitted by the present process."
    ),
    "__execute-count": Series(
        lambda x: x.executed, True, "executed_tuples", "Tuples executed, or calls of next_tuple."
    ),
    "__ack-count": Series(lambda x: x.acked, True, "acked_tuples", "Tuples acked."),
    "__fail-count": Series(lambda x: x.failed, True, "failed_tuples", "Tuples failed."),
    "__timeout-count": Series(
        lambda x: x.expired, True, "expired_tuples", "Tuples of a spout not acked in time."
    ),
    "__error-count": Series(lambda x: x.errors, True, "errors", "Exceptions of user code."),
    "__pending-acked-count": Series(
        lambda x: x.pending, False, "pending_tuples", "Tuples of a spout that wait for their acks."
    ),
    "__queue-tuples": Series(
        lambda x: x.queue_tuples, False, "queue_tuples", "Tuples that wait for the instance."
    ),
    "__queue-bytes": Series(
        lambda x: x.queue_bytes, False, "queue_bytes", "Bytes that wait for the instance."
    ),
    "__queue-secs": Series(
        lambda x: x.queue_secs, False, "queue_seconds", "How long the instance needs for them."
    ),
    "__capacity": Series(
        lambda x: x.capacity, False, "busy_ratio", "Share of its time that the instance works."
    ),
    "__cpu-share": Series(
        lambda x: x.cpu_share, False, "cpu_cores", "Cores that all its threads use."
    ),
    "__memory-bytes": Series(
        lambda x: x.memory_bytes, False, "memory_bytes", "RAM, what it shares with others included."
    ),
    "__received-bytes": Series(
        lambda x: x.received_bytes, True, "received_bytes", "From its stream manager."
    ),
    "__sent-bytes": Series(lambda x: x.sent_bytes, True, "sent_bytes", "To its stream manager."),
    **_latencies(),
    "__restarts": Series(
        lambda x: x.restarts, False, "restarts", "Processes that it had before the present one."
    ),
    "__up": Series(lambda x: float(x.up), False, "up", "1 if the instance has reported lately."),
}
"""Name, as Heron has it where it has one -> what it is."""


def values_of(instance: InstanceStats) -> dict[str, float]:
    """All series of an instance at once."""
    return {name: float(each.read(instance)) for name, each in SERIES.items()}
