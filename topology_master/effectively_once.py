"""Effectively-once parts of a topology master: checkpoints and recovery."""

from collections.abc import Iterator, Set
from functools import partial

from heron_core.naming import NAMED_MAX
from heron_core.plans import (
    PackingPlan,
    Phase,
    PhysicalPlan,
    Restore,
    TopologyState,
    instance_name,
)
from heron_core.records import replace
from heron_core.stats import CheckpointStats
from heron_core.wire.messages import (
    CheckpointCompleted,
    Json,
    RegisterStreamManager,
    RestoreTrouble,
    TuplesAbandoned,
)
from heron_engine.topology_master.checkpoints import Checkpoints
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.recovery import Recovery
from heron_engine.topology_master.termination import Termination
from heron_engine.topology_master.update.record import CheckpointView, names_of

SWITCHED = "the plan is switched"
"""To begin with a checkpoint: an update is no failure, and an event of its own."""
ANOTHER_TRY = "another try"
"""To restore: the first one of a checkpoint is an event."""
ROLLED_BACK = "the checkpoint after it was in memory, and is lost"
"""To restore an earlier checkpoint, of the store."""

Troubles = tuple[str, str]
"""(why the last checkpoint failed, why too few containers hold a state); empty without trouble."""


class EffectivelyOnce:
    """Checkpoints of a topology, and the restore of its newest plan."""

    def __init__(
        self,
        options: MasterOptions,
        stored: Json,
        previous: PhysicalPlan | None,
        wall_clock_secs: float,
    ) -> None:
        """`stored`, `previous`: checkpoints and plan of a previous master."""
        self.checkpoints = Checkpoints(options, stored, wall_clock_secs)
        if previous is None:
            self.checkpoints.begin_run()
        self.recovery = Recovery(previous.restore if previous else None)
        self._processes: dict[int, int] = {}
        """container -> incarnation of its stream manager, as known to the master"""
        if previous is not None and self._may_have_finished():
            self.recovery.wanted = "another topology master took over while the topology was ending"

    def _may_have_finished(self) -> bool:
        """Whether bolts may have run on_finish since the start of the newest plan: the bolts
        concerned are unknown, so checkpoints wait until all instances are restored."""
        newest = self.checkpoints.completed[:1]
        if not newest or not newest[0].at_end:
            return False
        is_after = newest[0].number != self.restore.checkpoint
        return is_after or newest[0].at_end == Phase.COMMITTING.value

    def awaited_at_end(self, number: int, now: float) -> int | None:
        """The checkpoint still required after a restore from the last checkpoint: it commits
        prepared data of components. None after any other restore."""
        if self.checkpoints.at_end(number) != Phase.COMMITTING.value:
            return None
        return self.checkpoints.request(now)

    def is_new_process(self, who: RegisterStreamManager) -> bool:
        """Whether a new stream manager process, without a plan, serves the container."""
        is_known = self._processes.get(who.container) == who.incarnation
        self._processes[who.container] = who.incarnation
        return not is_known and not who.epoch

    @property
    def restore(self) -> Restore:
        """With which states the newest plan begins."""
        return self.recovery.restore

    def begin_epoch(self) -> Restore:
        """All are restored, from the newest completed checkpoint."""
        self.checkpoints.abandon()
        restore = self.recovery.begin(self.checkpoints.newest)
        previous = self.checkpoints.previous(restore.checkpoint)
        abandoning = self.checkpoints.abandoning(restore.checkpoint)
        with_input = self.checkpoints.with_input(restore.checkpoint)
        self.recovery.restore = replace(
            restore, previous=previous, abandoning=abandoning, with_input=with_input
        )
        return self.recovery.restore

    def newest_stored(self, epoch: int) -> CheckpointCompleted | None:
        """The newest checkpoint stored as complete, for processes of the epoch; None without
        one."""
        number = self.checkpoints.stored_number
        return self.checkpoints.completed_message(number, epoch) if number else None

    def may_begin(self, state: str, termination: Termination) -> bool:
        """Whether a checkpoint may begin in a topology of the state. A paused topology does not
        change, so it takes checkpoints on request only, and for its end."""
        if not self.recovery.is_released or self.recovery.wanted:
            return False
        is_paused = state != TopologyState.RUNNING and not self.checkpoints.is_requested
        is_running = termination.phase in (Phase.RUNNING, Phase.DRAINING)
        return termination.awaited is not None or (not is_paused and is_running)

    @property
    def troubles(self) -> Troubles:
        """What `news_since` compares."""
        return self.checkpoints.failure, self.checkpoints.backup.shortfall

    def news_since(self, before: Troubles, packing: PackingPlan) -> Iterator[tuple[str, str]]:
        """Event texts with their reasons, of what a completed checkpoint has changed."""
        (failed, shortfall_before), (fails, shortfall) = before, self.troubles
        if failed and not fails:
            yield "checkpoints work again", ""
        if shortfall and not shortfall_before:
            names = names_of(packing, packing.instances.keys() & self.checkpoints.backup.shortfalls)
            yield f"too few containers hold the states of {names} in memory", shortfall
        if shortfall_before and not shortfall:
            yield "other containers hold all states in memory again", ""

    @property
    def is_lost(self) -> bool:
        """Whether the checkpoint being restored was in memory, and exists nowhere any more."""
        newest = self.checkpoints.completed[:1]
        is_lost = self.recovery.trouble is RestoreTrouble.LOST
        return is_lost and bool(newest) and newest[0].in_memory

    def failure_text(self, reason: str, topology: str) -> tuple[str, str]:
        """Event text with the reason: an instance cannot restore its state."""
        what = f"checkpoint {self.restore.checkpoint} cannot be restored"
        return what, f"{reason}; {self.remedy(topology)}"

    @property
    def restore_text(self) -> str:
        """For an event: where the restore that has begun takes the topology."""
        number = self.restore.checkpoint
        source = f"from checkpoint {number}" if number else "to its initial state"
        return f"the topology is restored {source}"

    def recovered_text(self) -> tuple[str, str] | None:
        """Event text and reason of a complete recovery; None if the first try succeeded."""
        tries = self.recovery.take_tries()
        what = f"checkpoint {self.restore.checkpoint} is restored"
        return (what, f"failed tries before: {tries}") if tries else None

    def note_abandoned(self, message: TuplesAbandoned) -> None:
        """A bolt has abandoned something that the checkpoint under way covers."""
        members = self.restore.members or {}
        self.checkpoints.note_abandoned(message, members.get(message.task, 0))

    def remedy(self, topology: str) -> str:
        """Remedy for a failing restore."""
        match self.recovery.trouble:
            case RestoreTrouble.AWAY:
                return "make the checkpoint store reachable; the restore is retried"
            case RestoreTrouble.REFUSED:
                return "fix the code that rejects the state; the restore is retried"
            case RestoreTrouble.DAMAGED | RestoreTrouble.GONE:
                return self._remedy_of_loss(topology)
            case RestoreTrouble.LOST:
                durable = next((x.number for x in self.checkpoints.completed if not x.in_memory), 0)
                source = f"checkpoint {durable} of the store" if durable else "the initial state"
                return f"all are restored from {source}, and later input is processed again"

    def _remedy_of_loss(self, topology: str) -> str:
        older = self.checkpoints.numbers()[1:2]
        put_back = "put the file back (the restore is retried)"
        if not older:
            return f"{put_back}; an older checkpoint does not exist"
        command = f"heronpy restore {topology} --checkpoint {older[0]}"
        cost = f"sinks will repeat the output that they committed after checkpoint {older[0]}"
        return f"{put_back}, or restore an older checkpoint with `{command}`: {cost}"

    def missing(self, tasks: Set[int]) -> set[int]:
        """The tasks for whose state all wait: to be restored, or else to be stored."""
        if not self.recovery.is_released:
            return tasks - self.recovery.restored.keys()
        pending = self.checkpoints.pending
        return set(pending.left) if pending is not None else set()

    def view(self, tasks: Set[int]) -> CheckpointView:
        """Input of an update of a topology with the tasks."""
        checkpoints, recovery = self.checkpoints, self.recovery
        return CheckpointView(
            is_restoring=not recovery.is_released,
            restore_failure=recovery.failure_of_try,
            newest=checkpoints.newest,
            latest=checkpoints.latest,
            is_under_way=checkpoints.pending is not None or checkpoints.is_requested,
            failure=checkpoints.failure,
            missing=self.missing(tasks),
        )

    def stats(self, packing: PackingPlan, now: float) -> CheckpointStats:
        """For people."""
        missing = sorted(self.missing(packing.instances.keys()))[:NAMED_MAX]
        names = tuple(instance_name(packing, task) for task in missing)
        name_of = partial(instance_name, packing)
        stats = self.checkpoints.stats(self.recovery, names, name_of, now)
        remedy = self.remedy(packing.topology) if stats.restore_failure else ""
        return replace(stats, restore_remedy=remedy)

    def validate(self, tasks: Set[int]) -> None:
        """AssertionError if something holds that never may."""
        self.checkpoints.validate(tasks)
        self.recovery.validate(tasks, self.checkpoints.newest)
        assert self.recovery.is_released or self.checkpoints.pending is None, (
            "a checkpoint is under way, and not all have the state of the one before"
        )
