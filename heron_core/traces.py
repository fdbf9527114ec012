"""Traced tuple trees: the choice of trees, and the reports of instances.

Whether a tree is traced is a function of the id of its root, so every process can compute the
answer and nothing travels with the tuples. Instances report executions; the topology master makes
spans of the reports (topology_master.spans). Times are seconds of a monotonic clock inside of an
instance, and of the calendar from its report on.
"""

from collections.abc import Iterable
from typing import NamedTuple

from heron_core.errors import ProtocolError
from heron_core.wire.messages import Json

MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: roots that are counted one by one are spread evenly over all
numbers, so the traced roots are not at the same place in every round of a shuffle."""
MASK = (1 << 64) - 1
NO_TASK = 0
"""Source task of a spout's executions, as no task sent tuples to a spout."""
ACKED, FAILED, EXPIRED, EXECUTED, RAISED = "acked", "failed", "expired", "executed", "raised"
OUTCOMES = frozenset((ACKED, FAILED, EXPIRED, EXECUTED, RAISED))
TIME_MAX = float(1 << 40)
"""35,000 years."""
TUPLES_MAX = 1 << 40


class Execution(NamedTuple):
    """Part of a traced tree in one instance: the tuples of its root in one batch; in a spout, the
    whole tree."""

    root: int
    source: int
    """The task that sent the tuples; NO_TASK in a spout."""
    came: float
    """Time when the batch arrived."""
    began: float
    """Time before the first tuple was executed; in a spout, the time of the emission."""
    ended: float
    """Time after the last tuple; in a spout, the time of the news that the tree ended."""
    busy_secs: float
    """Seconds of execution of all tuples together."""
    tuples: int
    outcome: str


def limit_of(one_in: int) -> int:
    """Roots whose spread number is below this limit are traced, one in `one_in`; 0 traces none."""
    return (MASK + 1) // one_in if one_in else 0


def sampled(roots: Iterable[int], limit: int) -> set[int]:
    """The roots among `roots` that are traced; 0 stands for no root."""
    return {root for root in roots if (root * MULTIPLIER & MASK) < limit} - {0}


# --- reports --------------------------------------------------------------------------------------


def report_of(executions: Iterable[Execution]) -> Json:
    """Report of an instance on executions."""
    return {"executions": [list(each) for each in executions]}


def dated(report: Json, calendar_secs: float) -> Json:
    """The report with the difference between its clock and the seconds since 1970."""
    return {**report, "calendar_secs": calendar_secs}


def executions_of(report: Json) -> list[Execution]:
    """The reported executions, in seconds since 1970; ProtocolError for an invalid report."""
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
