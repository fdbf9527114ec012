"""When is a topology done? Counting waves (Mattern's four-counter method), then last words.

Every instance counts the deliveries it sent and those it processed. When all spouts are finished,
a wave asks all of them; if two waves in a row find every instance idle and the same numbers, with
as many processed as sent, nothing is on its way. Then bolts run on_finish level by level, sources
first, each level again until all is quiet.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from heron_core.topology import TopologySpec
from heron_core.wire.messages import QuiescenceReport


@dataclass
class Waves:
    """Waves of counts; `quiet` once nothing is on its way any more."""

    tasks: frozenset[int]
    patience_secs: float
    quiet_secs: float
    wave: int = 0
    sent_at: float = 0.0
    answers: dict[int, QuiescenceReport] = field(default_factory=dict)
    quiet: bool = False
    lost: int = 0
    """Deliveries that were sent and never processed, once quiet."""
    uncounted: int = 0
    """By how much more was sent than processed, as counted by those that are left, without anything
    being lost: instances that a scaling ended took their counts along."""
    _latest: dict[int, QuiescenceReport] = field(default_factory=dict)
    """The last answer of each task since `begin`, of whatever wave."""
    _last: tuple[int, int] | None = None
    _accepted: int = 0
    """By how much the counts differ, once quiet; negative if the dead had sent more than they had
    processed."""
    _unchanged_since: float = 0.0

    def begin(self) -> None:
        """Something new may be on its way: what was found so far counts no more."""
        self.quiet = False
        self._last = None
        self._latest = {}
        self.answers = {}
        self.wave += 1
        self.sent_at = float("-inf")

    def retask(self, tasks: frozenset[int], gone: frozenset[int]) -> None:
        """The topology was scaled: these are its tasks now. The processes of `gone` end; some of
        them come up elsewhere and count from zero."""
        for task in gone & self._latest.keys():
            counts = self._latest.pop(task)
            self.uncounted -= counts.sent - counts.processed
        self.tasks = tasks
        self.begin()

    def busy(self) -> set[int]:
        """The tasks that had something left to do when they were asked last, or never answered."""
        idle = {task for task, counts in self._latest.items() if counts.idle}
        return set(self.tasks - idle)

    def due(self, now: float, interval_secs: float) -> bool:
        """Whether the next wave is to be sent now."""
        waiting = len(self.answers) < len(self.tasks)
        return not self.quiet and now - self.sent_at >= (
            self.patience_secs if waiting and self.sent_at > float("-inf") else interval_secs
        )

    def send(self, now: float) -> int:
        """The number of a new wave, sent now."""
        self.wave += 1
        self.sent_at = now
        self.answers = {}
        return self.wave

    def answer(self, counts: QuiescenceReport, now: float) -> None:
        """Take one answer; the last one of a wave decides."""
        complete = len(self.answers) == len(self.tasks)
        if counts.task in self.tasks:
            self._latest[counts.task] = counts
        if complete or counts.wave != self.wave or counts.task not in self.tasks:
            return
        self.answers[counts.task] = counts
        if len(self.answers) == len(self.tasks):
            self._judge(now)

    def _judge(self, now: float) -> None:
        found = self.answers.values()
        if not all(each.idle for each in found):
            self._last = None
            return
        total = (sum(each.sent for each in found), sum(each.processed for each in found))
        if total != self._last:
            self._last, self._unchanged_since = total, now
            return
        missing = total[0] - total[1] - self.uncounted
        # What was found missing before is not waited for again when the bolts say their last words.
        if missing in (0, self._accepted) or now - self._unchanged_since >= self.quiet_secs:
            self.quiet = True
            self._accepted = missing
            self.lost = max(0, missing)


class Phase(Enum):
    """How far the end has come."""

    RUNNING = "running"
    COUNTING = "counting"
    LAST_WORDS = "last words"
    ENDED = "ended"


def finish_levels(
    topology: TopologySpec, tasks_of: Mapping[str, list[int]]
) -> list[frozenset[int]]:
    """Tasks of the bolts, level by level: each after all that feed it (a cycle counts as one)."""
    level: dict[str, int] = {each.name: 0 for each in topology.components if each.is_spout}
    bolts = [each for each in topology.components if not each.is_spout]
    # As many rounds as there are bolts settle any graph without cycles; in a cycle the levels
    # would grow for ever, so they stop there.
    for _ in bolts:
        for bolt in bolts:
            sources = [level[each.component] for each in bolt.inputs if each.component in level]
            level[bolt.name] = min(max(sources, default=0) + 1, len(bolts))
    found: dict[int, set[int]] = {}
    for bolt in bolts:
        found.setdefault(level[bolt.name], set()).update(tasks_of[bolt.name])
    return [frozenset(found[each]) for each in sorted(found)]
