"""The end of a finite topology: all spouts finished, then drained, then bolts finish in order.

Bolts run on_finish level by level, sources first, and the topology is drained again after each
level, for what one level emits while it finishes the next one has still to process.

A topology that takes checkpoints takes two more. One when all input is processed, so that a failure
from here on leads back to this moment; one when all bolts have finished, which makes what they have
emitted then as good as anything before (Flink: FLIP-147). Each is complete, and has been told to
all components, before the next step.

TRANSITIONS is the table of the phases, which docs/ARCHITECTURE.md draws. What an answer of an
instance changes is noted when it arrives; the phase changes in `advance`, one step at a time, and
in `restore`, with which everything that was noted is discarded. A restore leads to the phase before
the end, because the checkpoints of SAVING are restored like any other: the spouts are at the end of
their input, say so once more, and all follows from that. Only the checkpoint of COMMITTING has the
states of bolts that have run on_finish, which are not to run it twice. ENDED is stored, and the
scheduler ends all processes: whatever is restored meanwhile does not lead out of it.
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
"""Those in which a checkpoint is taken; it is remembered with it in which one."""


class Finish(Struct, frozen=True):
    """These tasks are to run on_finish."""

    tasks: frozenset[int]


class Save(Struct, frozen=True):
    """A checkpoint is to be taken now; it goes on when that is complete."""


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
    """Which spouts are finished, which bolts have still to finish, and in which phase that is."""

    def __init__(
        self, topology: TopologySpec, packing: PackingPlan, options: MasterOptions, uncounted: int
    ) -> None:
        """`uncounted`: see TerminationDetector; a master before this one may have stored it."""
        self.phase = TRANSITIONS.begin(Phase.RUNNING)
        self.awaited: int | None = None
        """The end waits for a checkpoint of this number, or a higher one."""
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
        """The spouts that are finished."""
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
        """All instances are restored from a checkpoint and count from there: to before the end, or
        to the last one; then it is only for the checkpoint `awaited` to be complete. What has ended
        stays so, with what it has lost."""
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
            # Of one that an update has ended it says nothing about a later one of the same number.
            self._finished.add(task)

    def bolt_finished(self, task: int) -> None:
        """A bolt's on_finish has run."""
        self.finishing.discard(task)

    def await_checkpoint(self, number: int) -> None:
        """The one that is to be taken now has this number."""
        self.awaited = number

    def checkpoint_completed(self, number: int) -> None:
        """It is stored that a checkpoint is complete, and all components are told so: what they do
        about it is waited for as well."""
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
        """The tasks that the next step of the end waits for. If nothing moves any more, and tuples
        wait for their outcome, these are the bolts that keep them."""
        if self.finishing or not self.is_near or self.awaited is not None:
            return set(self.finishing)
        if self.detector.still_since is None:
            return self.detector.busy()
        holders = self.detector.holders()
        return holders - self._spouts or holders

    def is_drained(self, is_killed: bool) -> bool:
        """Whether nothing is in flight, and of a topology that is killed: nothing can be."""
        return self.detector.drained and not (is_killed and self.has_ticks)

    def next_round(self, now: float) -> int | None:
        """The number of the round of probes that is to be sent now; None if none is due."""
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
        """It was drained: what waited for a tick has had it. What another tick emits would be lost,
        so that there are none from now on; then it is drained once more."""
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
        """AssertionError if something holds that never may; `tasks`: all that may have a say."""
        assert self._finished <= self._spouts, "a finished task is not a spout"
        assert self.finishing <= tasks, "an unknown bolt cannot finish"
        assert not self.finishing or self.phase is Phase.FINISHING, "bolts finish before their time"
        assert self.awaited is None or self.phase in (Phase.SAVING, Phase.COMMITTING), (
            f"{self.phase}, and a checkpoint is waited for"
        )
        assert self.detector.reports.keys() <= self.detector.tasks, "a stranger answered a probe"
