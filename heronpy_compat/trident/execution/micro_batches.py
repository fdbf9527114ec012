"""Components of a Trident topology on a micro-batch engine: one Trident batch per micro-batch.

The transaction id is the engine's micro-batch number plus one. Coordinator, spouts and bolts run
level by level; a level starts after all output of the previous level is stored: each repetition
reads equal input, and all rows are present when a report gives their number. So acks and commit
messages are not needed: a bolt with states commits when the rows are complete, and repeats the
commit under an equal transaction id if the process dies before the engine stores the result.

Errors in a batch are raised at the end of the batch, so that the engine repeats the batch.
"""

from typing import Any

from heron_api.spout.spout import Spout
from heronpy_compat.trident.errors import FailedException, TridentError
from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.execution.batch_tracker import BatchTracker
from heronpy_compat.trident.execution.carried_plans import carried_plan
from heronpy_compat.trident.execution.coordinator import (
    BATCHES,
    SUCCESSES,
    CoordinatorPlan,
    MasterBatchCoordinator,
    SpoutPart,
)
from heronpy_compat.trident.execution.coordinator_core import FIRST_TXID
from heronpy_compat.trident.execution.numbered_records import NumberedRecords
from heronpy_compat.trident.execution.operator_bolt import (
    OperatorBolt,
    OperatorPlan,
    TasksThatReport,
)
from heronpy_compat.trident.execution.spout_bolt import SpoutBolt
from heronpy_compat.trident.execution.spout_executors import commits
from heronpy_compat.trident.plan import ComponentPlan

NOT_ON_SPARK = "trident.not.on.spark"
"""Config key: the reason why a component cannot run on the engine, as the end of a sentence."""


class MicroBatchCoordinator(Spout):
    """Starts one batch of the group in each micro-batch."""

    outputs = MasterBatchCoordinator.outputs
    has_whole_batch = False
    """Whether the micro-batch's output is complete."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Initial state, unless restored by `__setstate__`."""
        plan: CoordinatorPlan = carried_plan(config)
        self._txid = 0
        self._emitted: TransactionAttempt | None = None
        """In a batch before, and its success is still to be announced."""
        store, born_ms = context.get_run_store(), context.get_incarnation().born_ms
        self._attempts = NumberedRecords(store, f"coordinator/{plan.group}", born_ms)
        self._parts = [SpoutPart(name, spout, config, context) for name, spout in plan.spouts]

    def __getstate__(self) -> dict[str, Any]:
        """State saved with each batch; everything else is in the run's records."""
        return {"_emitted": self._emitted}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def begin_batch(self, batch_id: int) -> None:
        """See BatchAware."""
        self._txid = batch_id + FIRST_TXID
        self.has_whole_batch = False

    def next_tuple(self) -> None:
        """The previous micro-batch is complete everywhere; start the next batch."""
        if self.has_whole_batch:
            return
        self._announce()
        coordinators = [part.coordinator for part in self._parts]
        if all(each.is_finished(self._txid) for each in coordinators):
            self.finish()
        elif all(each.is_ready(self._txid) for each in coordinators):
            self._begin()

    def _announce(self) -> None:
        if self._emitted is not None:
            for part in self._parts:
                part.success(self._emitted.txid)
            self.emit([*self._emitted], stream=SUCCESSES)
            self._emitted = None

    def _begin(self) -> None:
        try:
            metadata = {part.name: part.metadata(self._txid) for part in self._parts}
        except FailedException as error:
            self.log(f"batch {self._txid} does not begin yet: {error}", "warn")
            return
        failed = self._attempts.get(self._txid)
        attempt = TransactionAttempt(self._txid, 0 if failed is None else failed + 1)
        self._attempts.put(*attempt)
        self._attempts.remove_below(self._txid)
        self.emit([*attempt, metadata], stream=BATCHES)
        self._emitted, self.has_whole_batch = attempt, True

    def close(self) -> None:
        """Close the coordinators of the spouts."""
        for part in getattr(self, "_parts", ()):
            part.coordinator.close()


class MicroBatchSpoutBolt(SpoutBolt):
    """Emits a part of a batch; metadata stored with the batch is stored immediately."""

    _failure: Exception | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Empty: the spout's state is in the run's records."""
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Nothing is saved."""

    def begin_batch(self, batch_id: int) -> None:
        """See BatchAware."""
        self._failure = None

    def process(self, tup: Any) -> None:
        """A batch, or the success of the previous batch."""
        attempt = TransactionAttempt(tup.values[0], tup.values[1])
        self.output.begin()
        try:
            if tup.stream == SUCCESSES:
                self._executor.success(attempt)
            elif tup.stream == BATCHES:
                self._emit_batch(attempt, tup)
                if commits(self._node.spout):
                    self._executor.commit(attempt)
        except Exception as error:
            self.output.discard()
            self._failure = self._failure or error

    def end_batch(self) -> None:
        """See BatchAware."""
        if self._failure is not None:
            raise self._failure


class MicroBatchOperatorBolt(OperatorBolt):
    """Passes the rows of a batch through the operations, and commits it."""

    _failure: Exception | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Empty: states are stored at the commit."""
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Nothing is saved."""

    def _tracker(self, component: ComponentPlan, group: str, plan: OperatorPlan) -> BatchTracker:
        senders = TasksThatReport(component, group, frozenset(), self._context)
        return BatchTracker(senders, False, plan.batches_max[group])

    def begin_batch(self, batch_id: int) -> None:
        """See BatchAware."""
        self._failure = None

    def process(self, tup: Any) -> None:
        """Rows or a report; input of a failed batch is ignored."""
        if self._failure is None:
            self._output.begin()
            try:
                self._take_in(tup)
            except Exception as error:
                self._output.discard()
                self._failure = error

    def _take_in(self, tup: Any) -> None:
        attempt, group = TransactionAttempt(tup.values[0], tup.values[1]), self._group_of(tup)
        tracker = self._trackers[group]
        batch, _ = tracker.batch_of(attempt)
        if batch is None or not self._advance(tracker, group, batch, tup):
            raise self.failed_by or TridentError(f"{attempt} has not come whole")

    def end_batch(self) -> None:
        """See BatchAware."""
        if self._failure is not None:
            raise self._failure
        for group, tracker in self._trackers.items():
            if len(tracker):
                raise TridentError(f"a batch of {group} is not complete at the end of its level")
