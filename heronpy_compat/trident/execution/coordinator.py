"""The spout that starts and commits the batches of a batch group: one task.

batches (txid, attempt, {spout: metadata}) to all tasks of the group's spouts commits (txid,
attempt) to all committing tasks successes (txid, attempt) to all tasks of the group's spouts
settled (txid, attempt) to all tasks of the group's spouts: see `fail`
"""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from heron_api.run_store import RunStore
from heron_api.spout.spout import Spout
from heron_api.stream import Stream
from heron_core import config as keys
from heron_core.errors import ComponentError, HeronError
from heronpy_compat.trident.errors import FailedException
from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.execution.carried_plans import carried_plan
from heronpy_compat.trident.execution.coordinator_core import (
    AnnounceSuccess,
    BatchProgress,
    CoordinatorCore,
    EmitBatch,
    EmitCommit,
    Instruction,
    SaveProgress,
)
from heronpy_compat.trident.execution.numbered_records import NumberedRecords
from heronpy_compat.trident.execution.row_output import ATTEMPT_FIELDS
from heronpy_compat.trident.execution.spout_executors import coordinator_of

BATCHES, COMMITS, SUCCESSES, SETTLED = "batches", "commits", "successes", "settled"
RECORD_RETRY_SECS = 1.0
"""Pause before a record is stored again: an absent store costs one counted error per second."""


@dataclass(frozen=True)
class CoordinatorPlan:
    """Settings of a batch group's coordinator."""

    group: str
    spouts: tuple[tuple[str, Any], ...]
    """Name and spout."""
    batches_max: int
    commits: bool
    interval_ms: int | None = None
    """Pause between batches; None: the value of the config."""


@dataclass(frozen=True)
class MessageId:
    """Of a tracked tuple. Equal for all attempts: a replay settles what failed."""

    txid: int
    stream: str
    attempt: TransactionAttempt = field(compare=False)

    @property
    def is_commit(self) -> bool:
        """Whether the tree belongs to a commit."""
        return self.stream == COMMITS


class SpoutPart:
    """Coordinator of one spout, with the metadata of its batches."""

    def __init__(self, name: str, spout: Any, conf: dict[str, Any], context: Any) -> None:
        self.name = name
        self.coordinator = coordinator_of(name, spout, conf, context)
        store: RunStore = context.get_run_store()
        born_ms = context.get_incarnation().born_ms
        self._records = NumberedRecords(store, f"spout/{name}/batches", born_ms)

    def metadata(self, txid: int) -> Any:
        """Metadata of a batch, stored from the call on."""
        records = self._records
        previous, current = records.before(txid), records.get(txid)
        metadata = self.coordinator.initialize_transaction(txid, previous, current)
        if metadata is not None and (metadata != current or not records.has(txid)):
            records.put(txid, metadata)
        return metadata

    def failed(self, txid: int) -> None:
        """An attempt of the batch has failed, and it comes again."""
        failed = getattr(self.coordinator, "failed", None)
        if failed is not None:
            failed(txid)

    def success(self, txid: int) -> None:
        """The batch is committed."""
        if self._records.has(txid):
            self._records.remove_below(txid)
        success = getattr(self.coordinator, "success", None)
        if success is not None:
            success(txid)


class MasterBatchCoordinator(Spout):
    """Emits the attempts that the core says, and follows their trees."""

    outputs = [
        Stream([*ATTEMPT_FIELDS, "metadata"], BATCHES),
        Stream(ATTEMPT_FIELDS, COMMITS),
        Stream(ATTEMPT_FIELDS, SUCCESSES),
        Stream(ATTEMPT_FIELDS, SETTLED),
    ]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Go on where the process before has ended."""
        plan: CoordinatorPlan = carried_plan(config)
        if config[keys.RELIABILITY_MODE] != keys.ATLEAST_ONCE:
            raise ComponentError(
                f"Trident replays batches, which takes {keys.RELIABILITY_MODE}: {keys.ATLEAST_ONCE}"
            )
        configured = keys.value_of(config, keys.TRIDENT_BATCH_INTERVAL_MS)
        interval_ms = configured if plan.interval_ms is None else plan.interval_ms
        self._interval_secs = interval_ms / 1000
        self._due = 0.0
        self._pending: deque[Instruction] = deque()
        """Instructions behind a record that could not be stored, in order. Without acks of their
        tuples the core gives at most a few for each of the `batches_max` batches."""
        # Records carry the start of the coordinator's process: after a replacement, a suspended
        # process writes under its own start, and those records are ignored.
        self._lives = NumberedRecords(
            context.get_run_store(),
            f"coordinator/{plan.group}",
            context.get_incarnation().born_ms,
        )
        newest = self._lives.numbers[-1:]
        saved = self._lives.get(newest[0]) if newest else None
        progress = BatchProgress() if saved is None else BatchProgress(saved[0], dict(saved[1]))
        self._life = newest[0] + 1 if newest else 1
        self.core = CoordinatorCore(progress, plan.batches_max, plan.commits)
        self._save(progress)
        self._lives.remove_below(self._life)
        self._parts = [SpoutPart(name, spout, config, context) for name, spout in plan.spouts]

    def next_tuple(self) -> None:
        """Start the next batch when due; HeronError while a record cannot be stored."""
        now = time.monotonic()
        if now < self._due:
            return
        self._perform([])
        for txid in self.core.due():
            if all(part.coordinator.is_finished(txid) for part in self._parts):
                if not self.core.active:
                    self.finish()
                return
            if all(part.coordinator.is_ready(txid) for part in self._parts):
                self._due = now + self._interval_secs
                self._begin(txid)
                return

    def _begin(self, txid: int) -> None:
        try:
            metadata = {part.name: part.metadata(txid) for part in self._parts}
        except FailedException as error:
            self.log(f"batch {txid} cannot start yet: {error}", "warn")
            return
        except HeronError:
            self._pause()
            raise
        self._metadata = metadata
        self._perform(self.core.begin(txid))

    def ack(self, tup_id: MessageId) -> None:
        """A tree is complete."""
        if tup_id.stream != SUCCESSES:
            self._perform(self.core.acked(tup_id.attempt, tup_id.is_commit))

    def fail(self, tup_id: MessageId) -> None:
        """A tree has failed: `next_tuple` replays the batch.

        The outdated attempt's trigger may have been acked, and the engine would count the attempt
        as failed permanently: a tuple with an equal id, acked by the spouts, settles the count. A
        success is settled as well, because spouts may ignore successes.
        """
        is_over = tup_id.stream == SUCCESSES
        if is_over or not self.core.failed(tup_id.attempt, tup_id.is_commit):
            self.emit([*tup_id.attempt], tup_id=tup_id, stream=SETTLED)
            return
        self.log(f"{tup_id.attempt} has failed, and comes again")
        for part in self._parts:
            part.failed(tup_id.txid)

    def _perform(self, instructions: list[Instruction]) -> None:
        """Carry out instructions in order; HeronError if a record cannot be stored.

        The record and all instructions behind it stay pending, for `next_tuple`: a
        batch in progress without its tuples would neither complete nor fail, and stop the group.
        After an exception of user code the others go on at the next call."""
        pending = self._pending
        pending.extend(instructions)
        while pending:
            if isinstance(pending[0], SaveProgress):
                self._save_or_pause(pending[0].progress)
            self._carry_out(pending.popleft())

    def _save_or_pause(self, progress: BatchProgress) -> None:
        try:
            self._save(progress)
        except HeronError:
            self._pause()
            raise

    def _pause(self) -> None:
        self._due = max(self._due, time.monotonic() + RECORD_RETRY_SECS)

    def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case SaveProgress():
                pass  # stored already
            case EmitBatch(attempt):
                self._emit_tracked([*attempt, self._metadata], attempt, BATCHES)
            case EmitCommit(attempt):
                self._emit_tracked([*attempt], attempt, COMMITS)
            case AnnounceSuccess(attempt):
                self._emit_tracked([*attempt], attempt, SUCCESSES)
                for part in self._parts:
                    part.success(attempt.txid)

    def _emit_tracked(self, values: list[Any], attempt: TransactionAttempt, stream: str) -> None:
        tup_id = MessageId(attempt.txid, stream, attempt)
        self.emit(values, tup_id=tup_id, stream=stream)

    def _save(self, progress: BatchProgress) -> None:
        self._lives.put(self._life, [progress.current, list(progress.attempts.items())])

    def close(self) -> None:
        """Close the coordinators of the spouts."""
        for part in getattr(self, "_parts", ()):
            part.coordinator.close()
