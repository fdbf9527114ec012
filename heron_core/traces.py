"""Traced tuple trees: which ones, and what instances report of them.

Whether a tree is traced is a function of its root's id, so every process knows it by itself and
nothing travels with the tuples. Instances report what they have executed; the topology master
makes spans of it (topology_master.spans). Times are seconds of a monotonic clock inside of an
instance, and of the calendar from its report on.
"""

from collections.abc import Iterable
from typing import NamedTuple

from heron_core.errors import ProtocolError
from heron_core.wire.messages import Json

MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: roots that are counted one by one are spread evenly over all
numbers, and one in N of them is not the same place in every round of a shuffle."""
MASK = (1 << 64) - 1
NO_TASK = 0
"""Who sent a spout its tuples."""
ACKED, FAILED, EXPIRED, EXECUTED, RAISED = "acked", "failed", "expired", "executed", "raised"
OUTCOMES = frozenset((ACKED, FAILED, EXPIRED, EXECUTED, RAISED))
TIME_MAX = float(1 << 40)
"""35,000 years."""
TUPLES_MAX = 1 << 40


class Execution(NamedTuple):
    """A part of a traced tree in one instance: tuples of its root that came in one batch; of a
    spout, the whole tree."""

    root: int
    source: int
    """The task that sent the tuples; NO_TASK in a spout."""
    came: float
    """When their batch was there."""
    began: float
    """Before the first of them was executed; of a spout, when it was emitted."""
    ended: float
    """After the last one; of a spout, when it heard of the end of the tree."""
    busy_secs: float
    """How long they were executed in all."""
    tuples: int
    outcome: str


def limit_of(one_in: int) -> int:
    """Roots whose spread number is below this are traced, one in so many; 0 for none."""
    return (MASK + 1) // one_in if one_in else 0


def sampled(roots: Iterable[int], limit: int) -> set[int]:
    """Those of some roots that are traced; 0 stands for none."""
    return {root for root in roots if (root * MULTIPLIER & MASK) < limit} - {0}


# --- reports --------------------------------------------------------------------------------------


def report_of(executions: Iterable[Execution]) -> Json:
    """What an instance reports."""
    return {"executions": [list(each) for each in executions]}


def dated(report: Json, calendar_secs: float) -> Json:
    """The report with what its clock lacks to the seconds since 1970."""
    return {**report, "calendar_secs": calendar_secs}


def executions_of(report: Json) -> list[Execution]:
    """What was reported, in seconds since 1970; ProtocolError if that makes no sense."""
    try:
        secs = float(report["calendar_secs"])
        executions = [Execution(*fields) for fields in report["executions"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"no report of a trace: {error!r:.100}") from None
    if not 0 <= secs < TIME_MAX or not all(map(_makes_sense, executions)):
        raise ProtocolError("a report of a trace without sense")
    return [
        execution._replace(
            came=execution.came + secs, began=execution.began + secs, ended=execution.ended + secs
        )
        for execution in executions
    ]


def _makes_sense(each: Execution) -> bool:
    wholes, times = (each.root, each.source, each.tuples), each[2:6]
    return (
        all(type(x) is int and 0 <= x <= MASK for x in wholes)
        and all(type(x) in (int, float) and 0 <= x < TIME_MAX for x in times)
        and each.tuples < TUPLES_MAX
        and type(each.outcome) is str
        and each.outcome in OUTCOMES
    )
