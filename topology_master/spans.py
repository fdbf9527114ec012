"""Spans of a traced tuple tree, derived from the instances' reports."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from msgspec import Struct

from heron_core.traces import EXPIRED, FAILED, NO_TASK, RAISED, Execution


class Executed(NamedTuple):
    """An execution, and the task whose it is."""

    task: int
    what: Execution


class Span(Struct, frozen=True):
    """One span, in OpenTelemetry's terms."""

    task: int
    trace_id: int
    span_id: int
    parent_id: int | None
    began: float
    ended: float
    attributes: dict[str, Any]
    is_error: bool


def trace_id_of(topology: str, root: int) -> int:
    """128 bits: the upper half names the topology, the lower one is the root."""
    return _hash64(topology) << 64 | root


def spans_of(topology: str, root: int, executed: Sequence[Executed]) -> list[Span]:
    """The spans of one tree, the spout's first; the parent of a span is the span of its sender."""
    ordered = sorted(executed, key=lambda each: (each.what.source != NO_TASK, each.what.began))
    ids = [_hash64(f"{topology} {root} {at} {each.task}") for at, each in enumerate(ordered)]
    return [_span(topology, root, at, ordered, ids) for at in range(len(ordered))]


def _span(
    topology: str, root: int, at: int, ordered: Sequence[Executed], ids: Sequence[int]
) -> Span:
    task, what = ordered[at]
    parent = _parent_of(at, ordered)
    attributes: dict[str, Any] = {"heronpy.task": task, "heronpy.outcome": what.outcome}
    if what.source != NO_TASK:
        attributes |= {
            "heronpy.source_task": what.source,
            "heronpy.tuples": what.tuples,
            "heronpy.execute_ms": what.busy_secs * 1000,
        }
    if parent is not None:
        waited_secs = max(0.0, what.began - _sent_at(ordered[parent].what))
        attributes["heronpy.queue_wait_ms"] = waited_secs * 1000
    return Span(
        task, trace_id_of(topology, root), ids[at], None if parent is None else ids[parent],
        what.began, max(what.began, what.ended), attributes,
        what.outcome in (FAILED, EXPIRED, RAISED),
    )  # fmt: skip


def _sent_at(parent: Execution) -> float:
    """Time in transit of emitted tuples, as far as known."""
    return parent.began if parent.source == NO_TASK else parent.ended


def _parent_of(at: int, ordered: Sequence[Executed]) -> int | None:
    """The last execution at the source started before the tuples arrived; the spout's if
    unknown."""
    what = ordered[at].what
    if what.source == NO_TASK:
        return None
    at_source = [x for x, each in enumerate(ordered) if each.task == what.source and x != at]
    before = [x for x in at_source if ordered[x].what.began <= what.came]
    if before:
        return before[-1]
    if at_source:
        return at_source[0]
    return 0 if ordered[0].what.source == NO_TASK else None


def _hash64(text: str) -> int:
    """Never 0, which is an invalid id."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") or 1
