"""The checkpoint in progress, and the checkpoints available for a restore.

The number of a checkpoint is stored before the checkpoint is triggered, so a number is never
reused, also after a failure of the master. A checkpoint is complete when all instances have
stored their state and the master sees all states in the checkpoint store; completion is stored
before any action on it. A failed checkpoint leaves earlier checkpoints intact: the next follows
after the interval.

TRANSITIONS is the table of states of the current checkpoint, which docs/ARCHITECTURE.md draws.
Two arrows wait for the state store (`stored`), one for the instances (`take`), one for the
checkpoint store (`seen`). Before COMPLETING the checkpoint may be aborted at any moment, and its
stored data is discarded with the next completion; from then on a restore uses the checkpoint, so
a restore also completes it.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any

from msgspec import Struct, field

from heron_core.algorithms.covered_counts import CoveredCounts, ProcessCounts
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.stats import CheckpointStats
from heron_core.transitions import MachineState, Transitions
from heron_core.typed_json import from_json, to_json
from heron_core.wire import messages
from heron_engine.topology_master.backup_progress import BackupProgress
from heron_engine.topology_master.completed_checkpoint import CompletedCheckpoint
from heron_engine.topology_master.events import (
    DescribeCheckpoint,
    DiscardCheckpoint,
    SeekStates,
    StoreCheckpoints,
)
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.recovery import Recovery

Step = (
    StoreCheckpoints
    | SeekStates
    | DescribeCheckpoint
    | DiscardCheckpoint
    | messages.TriggerCheckpoint
    | messages.CheckpointCompleted
)
"""Messages go to all stream managers."""


SIZE_BYTES_MAX = 1 << 40
"""Most errors of one state in the counts: sums over thousands of states have to fit into a
message.
"""


class CheckpointState(MachineState):
    """How far a checkpoint is."""

    NUMBERED = "its number is being stored"
    UNDER_WAY = "the checkpoint is triggered, and instances store their states"
    CHECKING = "all states are stored, the master checks that it can read them"
    """A host without the mounted disk writes states that other hosts cannot read."""
    COMPLETING = "the master sees all states, the completion is being stored"
    COMPLETE = "all components are notified"
    ABORTED = "its states are deleted at the next completion"


ABORTION = "failed, timed out, or all instances are restored"
TRANSITIONS = Transitions(
    "a checkpoint",
    begins={CheckpointState.NUMBERED: "the interval has passed, or a checkpoint is requested"},
    after={
        CheckpointState.NUMBERED: {
            CheckpointState.UNDER_WAY: "its number is stored",
            CheckpointState.ABORTED: ABORTION,
        },
        CheckpointState.UNDER_WAY: {
            CheckpointState.CHECKING: "all instances have stored their states",
            CheckpointState.ABORTED: ABORTION,
        },
        CheckpointState.CHECKING: {
            CheckpointState.COMPLETING: "the master sees all states",
            CheckpointState.ABORTED: f"the check fails, or {ABORTION}",
        },
        CheckpointState.COMPLETING: {
            CheckpointState.COMPLETE: (
                "the completion is stored, or all instances are restored from the checkpoint"
            ),
        },
    },
)


ABORTABLE = frozenset(
    state for state, after in TRANSITIONS.after.items() if CheckpointState.ABORTED in after
)


class PendingCheckpoint(Struct):
    """The checkpoint that is under way."""

    number: int
    since: float
    left: set[int]
    """Tasks that have not stored their state."""
    state: CheckpointState = field(
        default_factory=lambda: TRANSITIONS.begin(CheckpointState.NUMBERED)
    )
    size_bytes: int = 0
    secs: float = field(default=0.0)
    aligned_ms: dict[int, int] = field(default_factory=dict)
    """task -> how long its barriers took from the first to the last"""
    at_end: str = ""
    abandoning: set[str] = field(default_factory=set)
    counted: dict[int, ProcessCounts] = field(default_factory=dict)
    """task -> counts that a restore undoes, if any"""
    aligned: frozenset[int] = frozenset()
    """The tasks whose input no barrier of it overtakes."""
    with_input: set[int] = field(default_factory=set)
    input_messages: int = 0
    input_bytes: int = 0
    only_in_memory: set[int] = field(default_factory=set)
    """Tasks whose state is in the memory of other containers alone."""
    copies: int | None = None
    """The least number of containers that hold a state."""
    shortfalls: dict[int, str] = field(default_factory=dict)
    """task -> why too few containers hold its state"""

    def enter(self, to: CheckpointState) -> None:
        """The only way from one state to another."""
        self.state = TRANSITIONS.follow(self.state, to)


class Checkpoints:
    """The checkpoints of one topology."""

    def __init__(
        self, options: MasterOptions, stored: messages.Json, wall_clock_secs: float
    ) -> None:
        """`stored`: data of a previous master in the state store; ProtocolError if invalid.
        `wall_clock_secs` plus the core's clock are seconds since 1970."""
        self._options = options
        self._wall_clock_secs = wall_clock_secs
        self.latest = int(stored.get("latest", 0))
        """The highest number that was given away."""
        self.completed = [
            from_json(CompletedCheckpoint, completed, "a checkpoint")
            for completed in stored.get("completed", ())
        ]
        """Newest first."""
        self.pending: PendingCheckpoint | None = None
        self.failed = 0
        """How many have failed."""
        self._aligned_ms: dict[int, int] = {}
        """task -> alignment, of the newest checkpoint seen complete by the master."""
        self.failure = ""
        """Failure reason of the last checkpoint; empty on success."""
        self._next_at: float | None = None
        """Time of the next checkpoint; None: not yet determined."""
        self._quiet_secs = 0.0
        self.is_requested = False
        """Whether a checkpoint is requested immediately, also while the topology is paused."""
        self._aligned = frozenset[int]()
        """Of the next one: see PendingCheckpoint."""
        self._garbage = set[int]()
        """The store may hold states of failed checkpoints."""
        self.backup = BackupProgress(options.backup)

    def to_json(self) -> dict[str, Any]:
        """For the state store."""
        return {"latest": self.latest, "completed": [to_json(each) for each in self.completed]}

    def numbers(self) -> list[int]:
        """Complete retained checkpoints, newest first; 0 if none."""
        return [each.number for each in self.completed] or [0]

    @property
    def stored_number(self) -> int:
        """The newest checkpoint stored as complete; 0 without one."""
        pending = self.pending
        is_storing = pending is not None and pending.state is CheckpointState.COMPLETING
        return next((each.number for each in self.completed[is_storing:]), 0)

    @property
    def newest(self) -> int:
        """The checkpoint for a restore; 0: the initial state."""
        return self.numbers()[0]

    @property
    def covered(self) -> CoveredCounts:
        """Counts of the run's instances at the newest completed checkpoint."""
        return self.completed[0].covered if self.completed else CoveredCounts()

    def begin_run(self) -> None:
        """A run starts, and counts from zero: counts of an earlier run are excluded."""
        self.completed = [replace(each, covered=CoveredCounts()) for each in self.completed]

    def with_input(self, number: int) -> tuple[int, ...]:
        """The tasks whose states in a completed one have input."""
        return next((each.with_input for each in self.completed if each.number == number), ())

    def at_end(self, number: int) -> str:
        """Phase of the end during a completed checkpoint; empty before the end."""
        return next((each.at_end for each in self.completed if each.number == number), "")

    def previous(self, number: int) -> Mapping[str, tuple[int, ...]]:
        """Components with other tasks at a completed checkpoint, and their tasks."""
        return next((each.previous for each in self.completed if each.number == number), {})

    def rescaled(self, before: PackingPlan, after: PackingPlan) -> StoreCheckpoints:
        """Note a new plan: all checkpoints completed under the previous plan keep the list of
        changed components with their previous tasks, because the saved states belong to these
        tasks.
        """
        changed = {
            name: tuple(tasks)
            for name, tasks in before.tasks_of.items()
            if after.tasks_of.get(name) != tasks
        }
        # What is new with changed code begins without state.
        changed |= dict.fromkeys(after.tasks_of.keys() - before.tasks_of.keys(), ())
        self.completed = [
            replace(completed, previous={**changed, **completed.previous})
            for completed in self.completed
        ]
        self._aligned_ms = {
            task: aligned_ms
            for task, aligned_ms in self._aligned_ms.items()
            if task in after.instances
        }
        return StoreCheckpoints(self.to_json())

    # --- the way of a checkpoint --------------------------------------------------------------

    def request(self, now: float, quiet_secs: float = 0.0, aligned: Set[int] = frozenset()) -> int:
        """A checkpoint is requested, without input of the tasks `aligned`; returns its number.
        Afterwards automatic checkpoints stop for `quiet_secs`: commits of a later checkpoint
        would be repeated by a topology started from the requested one."""
        self._aligned |= aligned
        self._next_at = now
        self._quiet_secs = quiet_secs
        self.is_requested = True
        return self.backup.number_after(self.latest, is_durable=True)

    def is_due(self, now: float) -> bool:
        """Whether the next one is to begin."""
        if self._next_at is None:
            self._next_at = now + self._options.checkpoint_interval_secs
        return self.pending is None and now >= self._next_at

    def begin(self, tasks: Set[int], now: float, at_end: str = "") -> list[Step]:
        """Start a checkpoint of the tasks, with its number."""
        is_asked = self.is_requested or bool(at_end)
        self.latest = self.backup.number_after(self.latest, is_asked or self.backup.is_durable_next)
        self.pending = PendingCheckpoint(
            self.latest, now, set(tasks), at_end=at_end, aligned=self._aligned
        )
        self._aligned = frozenset()
        self.is_requested = False
        interval_secs = self.backup.begun(self._options.checkpoint_interval_secs)
        self._next_at = now + max(interval_secs, self._quiet_secs)
        self._quiet_secs = 0.0
        return [StoreCheckpoints(self.to_json())]

    def stored(self, epoch: int) -> list[Step]:
        """Continue after a write to the state store."""
        pending = self.pending
        if pending is None:
            return []
        if pending.state is CheckpointState.NUMBERED:
            pending.enter(CheckpointState.UNDER_WAY)
            aligned = tuple(sorted(pending.aligned))
            return [messages.TriggerCheckpoint(pending.number, epoch, aligned=aligned)]
        if pending.state is CheckpointState.COMPLETING:
            self._end(pending, CheckpointState.COMPLETE)
            garbage, self._garbage = self._garbage, set()
            discarded = [DiscardCheckpoint(number) for number in sorted(garbage)]
            return [self.completed_message(pending.number, epoch), *discarded]
        return []

    def abandoning(self, number: int) -> tuple[str, ...]:
        """Bolts with abandoned tuples covered by a completed checkpoint and not by an earlier
        one."""
        return next((each.abandoning for each in self.completed if each.number == number), ())

    def completed_message(self, number: int, epoch: int) -> messages.CheckpointCompleted:
        """Notification of all instances: the checkpoint is complete."""
        return messages.CheckpointCompleted(number, epoch, self.abandoning(number))

    def note_abandoned(self, message: messages.TuplesAbandoned, incarnation: int) -> None:
        """A bolt has abandoned tuples covered by the current or a completed checkpoint;
        `incarnation`: of its process."""
        pending, task, component = self.pending, message.task, message.component
        if pending is None or pending.number != message.checkpoint:
            return
        if message.is_new:
            pending.abandoning.add(component)
        counted = dict(message.counted)
        pending.counted[task] = ProcessCounts(task, component, incarnation, counted)

    def take(self, message: messages.CheckpointStored, now: float) -> list[Step]:
        """An instance has stored its state; the last state makes the master check all."""
        pending = self.pending
        if pending is None or message.checkpoint != pending.number:
            return []
        if pending.state is not CheckpointState.UNDER_WAY:
            return []  # repeated, or of an unknown checkpoint
        if message.task in pending.left:
            pending.left.remove(message.task)
            pending.size_bytes += min(message.size_bytes, SIZE_BYTES_MAX)
            pending.aligned_ms[message.task] = message.aligned_ms
            _add_input(pending, message)
            _add_copies(pending, message)
        if pending.left:
            return []
        pending.enter(CheckpointState.CHECKING)
        pending.secs = now - pending.since
        if pending.only_in_memory == pending.aligned_ms.keys():
            return self.seen(now)  # nothing of it is in the store
        return [
            SeekStates(
                pending.number, tuple(sorted(pending.aligned_ms.keys() - pending.only_in_memory))
            )
        ]

    def is_checking(self, number: int) -> bool:
        """Whether the current checkpoint has the number and waits for the master's check."""
        pending = self.pending
        if pending is None or pending.number != number:
            return False
        return pending.state is CheckpointState.CHECKING

    def seen(self, now: float) -> list[Step]:
        """The master sees all states: the checked checkpoint is complete."""
        pending = self.pending
        assert pending is not None
        pending.enter(CheckpointState.COMPLETING)
        self._next_at = max(self._next_at or now, now + self._options.checkpoint_pause_secs)
        self.failure, self._aligned_ms = "", pending.aligned_ms
        spilled = len(pending.aligned_ms) - len(pending.only_in_memory)
        in_memory = self.backup.completed(
            pending.number, pending.copies, pending.shortfalls, spilled
        )
        newest = CompletedCheckpoint(
            pending.number,
            self._wall_clock_secs + pending.since,
            pending.secs,
            pending.size_bytes,
            pending.at_end,
            abandoning=tuple(sorted(pending.abandoning)),
            with_input=tuple(sorted(pending.with_input)),
            input_messages=pending.input_messages,
            input_bytes=pending.input_bytes,
            covered=self.covered.followed_by(
                pending.counted[task] for task in sorted(pending.counted)
            ),
            in_memory=in_memory,
            has_spilled=in_memory and spilled > 0,
        )
        described = DescribeCheckpoint(newest.number, newest.at, newest.at_end)
        retained = self._retain([newest, *self.completed])
        return [retained] if in_memory else [described, retained]

    def _retain(self, completed: list[CompletedCheckpoint]) -> Step:
        """Of checkpoints in memory alone only the newest is left: containers drop the others."""
        newest = [each for each in completed[:1] if each.in_memory]
        durable = [each for each in completed if not each.in_memory]
        retained = newest + durable[: max(1, self._options.checkpoints_retained - len(newest))]
        known = {one.number for one in (*completed, *self.completed) if one.has_files}
        self._garbage.update(known - {each.number for each in retained})
        self.completed = retained
        return StoreCheckpoints(self.to_json())

    def late(self, now: float) -> PendingCheckpoint | None:
        """The current checkpoint, if timed out."""
        pending = self.pending
        if pending is None or pending.state not in ABORTABLE:
            return None
        return pending if now - pending.since > self._options.checkpoint_timeout_secs else None

    def fail(self, number: int, reason: str, now: float) -> bool:
        """Fail a checkpoint; returns whether it was the one under way."""
        pending = self.pending
        if pending is None or pending.number != number or pending.state not in ABORTABLE:
            return False
        self._abort(pending)
        self.failed += 1
        self.failure = reason
        self._next_at = max(self._next_at or now, now + self._options.checkpoint_pause_secs)
        return True

    def _abort(self, pending: PendingCheckpoint) -> None:
        self._garbage.add(pending.number)
        self._end(pending, CheckpointState.ABORTED)

    def _end(self, pending: PendingCheckpoint, state: CheckpointState) -> None:
        pending.enter(state)
        self.pending = None

    # --- restore ------------------------------------------------------------------------------

    def abandon(self) -> None:
        """Abandon the checkpoint under way because of a restore. A complete checkpoint will be
        stored together with the plan that restores it.
        """
        pending = self.pending
        if pending is None:
            return
        if pending.state in ABORTABLE:
            self._abort(pending)
        else:
            self._end(pending, CheckpointState.COMPLETE)

    def drop_newer(self, number: int) -> Step:
        """Make an older checkpoint the newest, for a requested restore. HeronError if not
        retained, or already the newest."""
        older = self.numbers()[1:]
        if number not in older:
            known = f"retained: {', '.join(map(str, older))}" if older else "none is retained"
            raise HeronError(f"checkpoint {number} is not a retained older checkpoint ({known})")
        self.abandon()
        return self._retain([each for each in self.completed if each.number <= number])

    def released(self, number: int, now: float) -> None:
        """All have restored a checkpoint. With a backup in memory, others follow at once: the
        failed process has taken copies along, and what a restored sink commits is to be final."""
        if number and self.backup.restored():
            self._next_at = now

    def roll_back(self) -> Step:
        """The newest checkpoint was in memory, and is lost: the newest in the store takes its
        place, or the initial state if there is none."""
        self.abandon()
        self.backup.rolled_back += 1
        return self._retain([each for each in self.completed if not each.in_memory])

    def stats(
        self,
        recovery: Recovery,
        waiting_for: tuple[str, ...],
        name_of: Callable[[int], str],
        now: float,
    ) -> CheckpointStats:
        """Summary for people; `name_of` maps a task to its instance."""
        newest = self.completed[0] if self.completed else None
        return CheckpointStats(
            restored=recovery.restore.checkpoint,
            released=recovery.is_released,
            restore_failure=recovery.failure,
            waiting_for=waiting_for,
            completed=newest.number if newest else 0,
            age_secs=max(0.0, self._wall_clock_secs + now - newest.at) if newest else None,
            secs=newest.secs if newest else None,
            size_bytes=newest.size_bytes if newest else None,
            input_messages=newest.input_messages if newest else 0,
            input_bytes=newest.input_bytes if newest else 0,
            under_way=self.pending.number if self.pending else None,
            latest=self.latest,
            failed=self.failed,
            failure=self.failure,
            backup=self.backup.stats(self.completed),
            alignment_ms={
                name_of(task): aligned_ms
                for task, aligned_ms in sorted(self._aligned_ms.items())
                if aligned_ms
            },
        )

    def validate(self, tasks: Set[int]) -> None:
        """AssertionError if something holds that never may."""
        numbers = [each.number for each in self.completed]
        assert numbers == sorted(set(numbers), reverse=True), f"not newest first: {numbers}"
        assert max(numbers, default=0) <= self.latest, "complete before it had a number"
        least = 1 if self._options.backup is None else 2
        assert len(numbers) <= max(least, self._options.checkpoints_retained), "too many retained"
        assert not any(each.in_memory for each in self.completed[1:]), "an older one in memory"
        assert not self._garbage & set(numbers), "retained states are about to be deleted"
        if self.pending is not None:
            assert self.pending.number == self.latest, "an older checkpoint is under way"
            assert self.pending.left <= tasks, "a checkpoint waits for a stranger"
            states = CheckpointState.CHECKING, CheckpointState.COMPLETING
            is_stored = self.pending.state in states
            assert is_stored is not bool(self.pending.left), "a stored checkpoint waits for tasks"


def _add_input(pending: PendingCheckpoint, message: messages.CheckpointStored) -> None:
    if message.input_messages:
        pending.with_input.add(message.task)
        pending.input_messages += min(message.input_messages, SIZE_BYTES_MAX)
        pending.input_bytes += min(message.input_bytes, SIZE_BYTES_MAX)


def _add_copies(pending: PendingCheckpoint, message: messages.CheckpointStored) -> None:
    if not message.is_in_store:
        pending.only_in_memory.add(message.task)
    if message.shortfall:
        pending.shortfalls[message.task] = message.shortfall
    least = message.copies if pending.copies is None else pending.copies
    pending.copies = min(message.copies, least)
