"""The end of a finite topology: all spouts finished, then drained, then bolts finish in order.

Bolts run on_finish level by level, sources first, and the topology is drained again after each
level, for what one level emits while it finishes the next one has still to process.
"""

from collections.abc import Set
from dataclasses import dataclass
from enum import Enum

from heron_core.algorithms.termination import TerminationDetector, finish_order
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_core.wire.messages import QuiescenceReport
from topology_master.options import Options


class Phase(Enum):
    """How far the end has come; the values are those that `heronpy stats` shows."""

    RUNNING = "running"
    DRAINING = "draining"
    """All spouts are finished, and something may be in flight."""
    FINISHING = "finishing"
    """Bolts run on_finish."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Finish:
    """These tasks are to run on_finish."""

    tasks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Ended:
    """The topology has come to its end, with so many deliveries lost."""

    lost: int


def spouts_of(topology: TopologySpec, packing: PackingPlan) -> set[int]:
    """The tasks of all spouts."""
    return {
        task
        for component in topology.components
        if component.is_spout
        for task in packing.tasks_of[component.name]
    }


class Termination:
    """Which spouts are finished, which bolts have still to finish, and in which phase that is."""

    def __init__(
        self, topology: TopologySpec, packing: PackingPlan, options: Options, uncounted: int
    ) -> None:
        """`uncounted`: see TerminationDetector; a master before this one may have stored it."""
        self.phase = Phase.RUNNING
        self.detector = TerminationDetector(
            frozenset(packing.instances),
            options.probe_patience_secs,
            options.lost_after_secs,
            uncounted=uncounted,
        )
        self._topology = topology
        self._probe_interval_secs = options.probe_interval_secs
        self._spouts: set[int] = set()
        self._finished: set[int] = set()
        """The spouts that are finished."""
        self._levels: list[frozenset[int]] = []
        """The bolts that have not been asked to finish yet, in order."""
        self.finishing: set[int] = set()
        """The bolts that were asked to finish and have not answered yet."""
        self._take_plan(packing)

    def _take_plan(self, packing: PackingPlan) -> None:
        self._spouts = spouts_of(self._topology, packing)
        self._levels = finish_order(self._topology, packing.tasks_of)

    def rescale(self, packing: PackingPlan, gone: frozenset[int]) -> None:
        """The topology runs by another packing plan now; the processes of `gone` end."""
        self.detector.retask(frozenset(packing.instances), gone)
        self._finished -= gone
        self._take_plan(packing)

    def go_back(self, packing: PackingPlan) -> None:
        """All instances go back to a checkpoint, to before the end, and count from there."""
        self.phase = Phase.RUNNING
        self._finished.clear()
        self.finishing.clear()
        self._take_plan(packing)
        self.detector.recount()

    def take(self, report: QuiescenceReport, now: float) -> None:
        """An instance answers a probe."""
        self.detector.take(report, now)

    def spout_finished(self, task: int, finished: bool) -> None:
        """A spout has nothing more to emit, or has again."""
        if not finished:
            self._finished.discard(task)
        elif task in self._spouts:
            # Of one that an update has ended it says nothing about a later one of the same number.
            self._finished.add(task)

    def bolt_finished(self, task: int) -> None:
        """A bolt's on_finish has run."""
        self.finishing.discard(task)

    @property
    def is_near(self) -> bool:
        """Whether probes are needed to find the end."""
        return self.phase in (Phase.DRAINING, Phase.FINISHING)

    def next_round(self, now: float) -> int | None:
        """The number of the round of probes that is to be sent now; None if none is due."""
        if self.finishing or not self.detector.is_due(now, self._probe_interval_secs):
            return None
        return self.detector.start_round(now)

    def advance(self) -> Finish | Ended | None:
        """One step towards the end, if its condition holds."""
        if not self._finished >= self._spouts:
            # A spout got a fail and emits again.
            if self.phase is Phase.DRAINING:
                self.phase = Phase.RUNNING
        elif self.phase is Phase.RUNNING:
            self.phase = Phase.DRAINING
            self.detector.restart()
        elif self.is_near and self.detector.drained and not self.finishing:
            return self._next_level()
        return None

    def _next_level(self) -> Finish | Ended:
        if not self._levels:
            self.phase = Phase.ENDED
            return Ended(self.detector.lost)
        self.phase = Phase.FINISHING
        level = self._levels.pop(0)
        self.finishing = set(level)
        self.detector.restart()
        return Finish(level)

    def validate(self, tasks: Set[int]) -> None:
        """AssertionError if something holds that never may; `tasks`: all that may have a say."""
        assert self._finished <= self._spouts, "a finished spout is none"
        assert self.finishing <= tasks, "a bolt that is not there is to finish"
        assert not self.finishing or self.phase is Phase.FINISHING, "bolts finish before their time"
        assert self.detector.reports.keys() <= self.detector.tasks, "a stranger answered a probe"
