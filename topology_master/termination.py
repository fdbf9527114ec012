"""The end of a finite topology: all spouts finished, then drained, then bolts finish in order.

Bolts run on_finish level by level, sources first, and the topology is drained again after each
level, because output of one level is input of the next.

A topology with checkpoints takes two more: one when all input is processed, so that later
failures restore this moment; one when all bolts have finished, which commits their last output
(Flink: FLIP-147). Each is complete, and all components are notified, before the next step.

TRANSITIONS is the table of the phases, which docs/ARCHITECTURE.md draws. Answers of instances
are recorded on arrival; the phase changes in `advance`, one step at a time, and in `restore`,
which discards the records. A restore leads to the phase before the end, because checkpoints of
SAVING are restored like any other: the spouts are at the end of their input, report their end
once more, and everything follows. Only the checkpoint of COMMITTING has states of bolts after
on_finish, which must not run twice. ENDED is stored, and the scheduler ends all processes: a
later restore does not leave the phase.
"""

from collections.abc import Set

from msgspec import Struct

from heron_core.algorithms.termination import TerminationDetector, finish_order
from heron_core.plans import PackingPlan, Phase
from heron_core.topology import TopologySpec
from heron_core.transitions import Transitions
from heron_core.wire.messages import QuiescenceReport
from heron_engine.topology_master.options import MasterOptions

ALL_RESTORED = "all instances are restored from a checkpoint before the last one"
LAST_IS_RESTORED = "all are restored from the last checkpoint"
TRANSITIONS = Transitions(
    "the end",
    begins={Phase.RUNNING: "the topology starts, or a master takes over"},
    after={
        Phase.RUNNING: {
            Phase.DRAINING: "all spouts are finished",
            Phase.COMMITTING: LAST_IS_RESTORED,
            Phase.RUNNING: ALL_RESTORED,
        },
        Phase.DRAINING: {
            Phase.SAVING: "all tuples are processed, and checkpoints are taken",
            Phase.FINISHING: "all tuples are processed",
            Phase.ENDED: "all tuples are processed, and the topology has only spouts",
            Phase.COMMITTING: LAST_IS_RESTORED,
            Phase.RUNNING: f"a spout emits again, or {ALL_RESTORED}",
        },
        Phase.SAVING: {
            Phase.FINISHING: "the checkpoint is complete, and all tuples are processed",
            Phase.COMMITTING: f"the same, and there are no bolts, or {LAST_IS_RESTORED}",
            Phase.RUNNING: f"a spout emits again, or {ALL_RESTORED}",
        },
        Phase.FINISHING: {
            Phase.FINISHING: (
                "the level has finished, all tuples are processed: the next level starts"
            ),
            Phase.COMMITTING: "the last level has finished, and checkpoints are taken",
            Phase.ENDED: "the last level has finished, all tuples are processed",
            Phase.RUNNING: ALL_RESTORED,
        },
        Phase.COMMITTING: {
            Phase.ENDED: "the last checkpoint is complete, and all tuples are processed",
            Phase.COMMITTING: LAST_IS_RESTORED,
            Phase.RUNNING: ALL_RESTORED,
        },
    },
)

AT_END = frozenset({Phase.SAVING, Phase.COMMITTING})
"""Phases with a checkpoint; stored with the checkpoint."""


class Finish(Struct, frozen=True):
    """Tasks whose on_finish is due."""

    tasks: frozenset[int]


class Save(Struct, frozen=True):
    """A checkpoint is due; the end continues when complete."""


class StopTicks(Struct, frozen=True):
    """No bolt is to have a tick any more."""


class Ended(Struct, frozen=True):
    """The topology has come to its end, with so many deliveries lost."""

    lost: int


def spouts_of(topology: TopologySpec, packing: PackingPlan) -> set[int]:
    """The tasks of all spouts."""
    return {
        task
        for component in packing.topology_of(topology).components
        if component.is_spout
        for task in packing.tasks_of[component.name]
    }


class Termination:
    """Finished spouts, unfinished bolts, and the phase."""

    def __init__(
        self, topology: TopologySpec, packing: PackingPlan, options: MasterOptions, uncounted: int
    ) -> None:
        """`uncounted`: see TerminationDetector; possibly stored by a previous master."""
        self.phase = TRANSITIONS.begin(Phase.RUNNING)
        self.awaited: int | None = None
        """The end waits for a checkpoint of the number or a higher one."""
        self._saves = options.checkpoints
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
        """The finished spouts."""
        self.has_ticks = True
        """Whether bolts have ticks."""
        self._levels: list[frozenset[int]] = []
        """The bolts that have not been asked to finish yet, in order."""
        self.finishing: set[int] = set()
        """The bolts that were asked to finish and have not answered yet."""
        self._take_plan(packing)

    def _enter(self, to: Phase) -> None:
        """The only way from one phase to another."""
        self.phase = TRANSITIONS.follow(self.phase, to)

    def _take_plan(self, packing: PackingPlan) -> None:
        self._spouts = spouts_of(self._topology, packing)
        self._levels = finish_order(packing.topology_of(self._topology), packing.tasks_of)

    def rescale(self, packing: PackingPlan, gone: frozenset[int]) -> None:
        """The topology runs by another packing plan now; the processes of `gone` end."""
        self.detector.retask(frozenset(packing.instances), gone)
        self._finished -= gone
        self._take_plan(packing)

    def restore(self, packing: PackingPlan, awaited: int | None = None) -> None:
        """All instances are restored from a checkpoint and count from there. The phase becomes
        the one before the end, or, for the last checkpoint, waits for the checkpoint `awaited`.
        ENDED stays, with its losses."""
        if self.phase is Phase.ENDED:
            return
        self._enter(Phase.RUNNING if awaited is None else Phase.COMMITTING)
        self.awaited = awaited
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
            # An answer of an update's ended checkpoint says nothing about a later one of the
            # number.
            self._finished.add(task)

    def bolt_finished(self, task: int) -> None:
        """A bolt's on_finish has run."""
        self.finishing.discard(task)

    def await_checkpoint(self, number: int) -> None:
        """Number of the due checkpoint."""
        self.awaited = number

    def checkpoint_completed(self, number: int) -> None:
        """A checkpoint is stored as complete, and all components are notified: their reactions
        are awaited as well."""
        if self.awaited is not None and number >= self.awaited:
            self.awaited = None
            self.detector.restart()

    @property
    def at_end(self) -> str:
        """The phase in which a checkpoint is taken; empty before the end."""
        return self.phase.value if self.phase in AT_END else ""

    @property
    def is_near(self) -> bool:
        """Whether probes are needed to find the end."""
        return self.phase not in (Phase.RUNNING, Phase.ENDED)

    @property
    def _waits(self) -> bool:
        """Whether something has to come first that no probe tells of."""
        return bool(self.finishing) or self.awaited is not None

    def waits_for(self) -> set[int]:
        """Tasks awaited by the next step of the end. Without progress, with tuples waiting for
        their outcome, these are the bolts with retained tuples."""
        if self.finishing or not self.is_near or self.awaited is not None:
            return set(self.finishing)
        if self.detector.still_since is None:
            return self.detector.busy()
        holders = self.detector.holders()
        return holders - self._spouts or holders

    def is_drained(self, is_killed: bool) -> bool:
        """Whether the topology is drained, or killed and thus beyond draining."""
        return self.detector.drained and not (is_killed and self.has_ticks)

    def next_round(self, now: float) -> int | None:
        """Number of the due round of probes; None if not due."""
        if self._waits or not self.detector.is_due(now, self._probe_interval_secs):
            return None
        return self.detector.start_round(now)

    def advance(self, is_killed: bool = False) -> Finish | Save | Ended | StopTicks | None:
        """One step towards the end, if its condition holds."""
        if is_killed:
            return self._stop_ticks()
        if not self._finished >= self._spouts and self.phase is not Phase.COMMITTING:
            # A spout got a fail and emits again.
            if self.phase in (Phase.DRAINING, Phase.SAVING):
                self._enter(Phase.RUNNING)
                self.awaited = None
        elif self.phase is Phase.RUNNING:
            self._enter(Phase.DRAINING)
            self.detector.restart()
        elif self.is_near and self.detector.drained and not self._waits:
            return self._next_step()
        return None

    def _stop_ticks(self) -> StopTicks | None:
        """After a drain, tuples waiting for a tick have had it. Emits of another tick would be
        lost, so ticks stop; then the topology is drained once more."""
        if not self.detector.drained or not self.has_ticks:
            return None
        self.has_ticks = False
        self.detector.restart()
        return StopTicks()

    def _next_step(self) -> Finish | Save | Ended:
        if self._saves and self.phase is Phase.DRAINING:
            self._enter(Phase.SAVING)
            return Save()
        if self._levels and self.phase is not Phase.COMMITTING:
            return self._next_level()
        if self._saves and self.phase is not Phase.COMMITTING:
            self._enter(Phase.COMMITTING)
            return Save()
        self._enter(Phase.ENDED)
        return Ended(self.detector.lost)

    def _next_level(self) -> Finish:
        self._enter(Phase.FINISHING)
        level = self._levels.pop(0)
        self.finishing = set(level)
        self.detector.finish(level)
        return Finish(level)

    def validate(self, tasks: Set[int]) -> None:
        """AssertionError for a violated invariant; `tasks`: all participating tasks."""
        assert self._finished <= self._spouts, "a finished task is not a spout"
        assert self.finishing <= tasks, "an unknown bolt cannot finish"
        assert not self.finishing or self.phase is Phase.FINISHING, "bolts finish before their time"
        assert self.awaited is None or self.phase in (Phase.SAVING, Phase.COMMITTING), (
            f"{self.phase}, and a checkpoint is waited for"
        )
        assert self.detector.reports.keys() <= self.detector.tasks, "a stranger answered a probe"
