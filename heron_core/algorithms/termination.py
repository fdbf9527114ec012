"""Termination detection: Mattern's four-counter method, and the order in which bolts finish.

Every instance counts sent and processed deliveries. A round of probes asks all instances for
their counts. If two consecutive rounds find every instance idle and equal sums, with as many
processed as sent, then nothing is in flight: the topology is drained. Two rounds are needed
because a round reads the instances at different moments.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from heron_core.graph_walks import levels
from heron_core.topology import TopologySpec
from heron_core.wire.messages import QuiescenceReport

PATIENCE_DOUBLINGS_MAX = 5
"""Of the time that a round has, each after a round that was aborted: where thousands of instances
need longer to answer, each answer would otherwise come too late for ever. From 2 s up to 64 s."""


class TerminationDetector(Struct):
    """Rounds of probes over all tasks; `drained` once nothing is in flight any more."""

    tasks: frozenset[int]
    patience_secs: float
    """Timeout of a round without all answers, doubled for each further round."""
    lost_after_secs: float
    """Time after which unequal, unchanged sums count as a loss, with every task idle."""
    round_number: int = 0
    sent_at: float = 0.0
    """When the newest round was sent; minus infinity if the next one is to be sent at once."""
    reports: dict[int, QuiescenceReport] = field(default_factory=dict)
    """The answers of the newest round, by task."""
    drained: bool = False
    still_since: float | None = None
    """Time since the last progress, while tuples wait for their outcome; else None."""
    lost: int = 0
    """Deliveries that were sent and not processed, or by a bolt that had run on_finish before, once
    drained."""
    uncounted: int = 0
    """By how much more was sent than processed, as counted by the tasks that are left, without
    anything being lost: instances that an update ended took their counts along."""
    _latest: dict[int, QuiescenceReport] = field(default_factory=dict)
    """The last answer of each task since `restart`, of whatever round."""
    _unanswered: int = 0
    """Rounds in a row that not all tasks have answered in time."""
    _last_sums: tuple[int, int] | None = None
    """(sent, processed) of the last round in which every task was idle."""
    _accepted: int = 0
    """By how much the sums differ, once drained; negative if processes that died had sent more
    than they had processed."""
    _unchanged_since: float = 0.0
    _finished: dict[int, int] = field(default_factory=dict)
    """Processed counts of finishing tasks at the request."""
    _missed: int = 0
    """Earlier deliveries counted as lost."""

    def restart(self) -> None:
        """Something new may be in flight: what was found so far does not count any more."""
        self.drained = False
        self.still_since = self._last_sums = None
        self._latest = {}
        self.reports = {}
        self.round_number += 1
        self.sent_at = float("-inf")

    def recount(self) -> None:
        """All tasks count from zero again, and nothing of before is in flight."""
        self.uncounted = self._accepted = self.lost = self._missed = 0
        self._finished = {}
        self.restart()

    def finish(self, tasks: frozenset[int]) -> None:
        """Tasks run on_finish now, without lost deliveries, which stay lost even if they arrive
        later, after a host hang or a network partition."""
        self._missed = max(self._missed, self.lost)
        self._finished |= {task: self.reports[task].processed for task in tasks}
        self.restart()

    def retask(self, tasks: frozenset[int], gone: frozenset[int]) -> None:
        """The topology was rescaled to the tasks. Processes of `gone` end; some of the tasks
        start elsewhere with zero counts."""
        for task in gone & self._latest.keys():
            report = self._latest.pop(task)
            self.uncounted -= report.sent - report.processed
        self._finished = {task: at for task, at in self._finished.items() if task not in gone}
        self.tasks = tasks
        self.restart()

    def busy(self) -> set[int]:
        """Tasks busy or silent in the last round of probes."""
        idle = {task for task, report in self._latest.items() if report.idle}
        return set(self.tasks - idle)

    def holders(self) -> set[int]:
        """Tasks that waited for tuple outcomes in the last round of probes."""
        return {task for task, report in self._latest.items() if report.is_waiting}

    def paused(self) -> set[int]:
        """Tasks blocked by back-pressure in the last round of probes."""
        return {task for task, report in self._latest.items() if report.paused}

    def may_fail(self, task: int) -> bool:
        """Whether a bolt can fail its retained tuples."""
        return task in self._latest and self._latest[task].may_fail

    def is_due(self, now: float, interval_secs: float) -> bool:
        """Whether the next round is to be sent now."""
        wanted_secs = self._patience_secs if self._waits else interval_secs
        return not self.drained and now - self.sent_at >= wanted_secs

    @property
    def _waits(self) -> bool:
        """Whether a round was sent that not all tasks have answered."""
        return self.sent_at > float("-inf") and len(self.reports) < len(self.tasks)

    @property
    def _patience_secs(self) -> float:
        return float(self.patience_secs * 2 ** min(self._unanswered, PATIENCE_DOUBLINGS_MAX))

    def start_round(self, now: float) -> int:
        """The number of a new round, sent now."""
        self._unanswered = self._unanswered + 1 if self._waits else 0
        self.round_number += 1
        self.sent_at = now
        self.reports = {}
        return self.round_number

    def take(self, report: QuiescenceReport, now: float) -> None:
        """Process one answer; the last answer of a round decides."""
        complete = len(self.reports) == len(self.tasks)
        if report.task in self.tasks:
            self._latest[report.task] = report
        if complete or report.round_number != self.round_number or report.task not in self.tasks:
            return
        self.reports[report.task] = report
        if len(self.reports) == len(self.tasks):
            self._decide(now)

    def _decide(self, now: float) -> None:
        reports = self.reports.values()
        if not all(report.idle or report.is_waiting for report in reports):
            self.still_since = self._last_sums = None
            return
        sums = (sum(report.sent for report in reports), sum(report.processed for report in reports))
        if sums != self._last_sums:
            self._last_sums, self._unchanged_since = sums, now
            self.still_since = None
            return
        if not all(report.idle for report in reports):
            if self.still_since is None and sums[0] - sums[1] - self.uncounted == 0:
                self.still_since = now
            self._unchanged_since = now
            return
        self.still_since = None
        missing = sums[0] - sums[1] - self.uncounted
        # What was found missing before is not waited for again when the bolts finish.
        unchanged_secs = now - self._unchanged_since
        if missing in (0, self._accepted) or unchanged_secs >= self.lost_after_secs:
            self.drained = True
            self._accepted = missing
            self.lost = max(0, missing) + self._late(missing)

    def _late(self, missing: int) -> int:
        """Lost deliveries processed after on_finish.

        Output exchanged by bolts of a cycle while finishing is also processed by then; the
        result is capped at the losses.
        """
        grown = (self.reports[task].processed - before for task, before in self._finished.items())
        return min(max(0, self._missed - max(0, missing)), sum(max(0, each) for each in grown))


def finish_order(topology: TopologySpec, tasks_of: Mapping[str, list[int]]) -> list[frozenset[int]]:
    """Tasks of the bolts, level by level: each level after its sources (a cycle is one node)."""
    bolts = [each.name for each in topology.components if not each.is_spout]
    level = levels(topology.feeders, dict.fromkeys(bolts, 1))
    tasks_by_level: dict[int, set[int]] = {}
    for bolt in bolts:
        tasks_by_level.setdefault(level[bolt], set()).update(tasks_of[bolt])
    return [frozenset(tasks_by_level[number]) for number in sorted(tasks_by_level)]
