"""The components of a Trident topology on an engine of micro-batches: one batch of its is one here.

The transaction id is the engine's number of the micro-batch plus one. Coordinator, spouts and bolts
run one level after the other, and a level begins when all before it is stored: what a batch has is
the same in each repetition, and rows are all there when a report says how many they are. So nothing
is acked, and no commit is sent: a bolt with states commits when its rows are complete, and repeats
that under the same transaction id if its process dies before the engine has stored what it did.

What goes wrong in a batch is raised at its end, so that the engine repeats it.
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
"""In a component's config: why it cannot run there, as the end of a sentence about it."""


class MicroBatchCoordinator(Spout):
    """Begins one batch of its group in each micro-batch."""

    outputs = MasterBatchCoordinator.outputs
    has_whole_batch = False
    """It emits no more in this micro-batch."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is emitted yet, unless `__setstate__` says otherwise."""
        plan: CoordinatorPlan = carried_plan(config)
        self._txid = 0
        self._emitted: TransactionAttempt | None = None
        """In a batch before, and its success is still to be announced."""
        store, born_ms = context.get_run_store(), context.get_incarnation().born_ms
        self._attempts = NumberedRecords(store, f"coordinator/{plan.group}", born_ms)
        self._parts = [SpoutPart(name, spout, config, context) for name, spout in plan.spouts]

    def __getstate__(self) -> dict[str, Any]:
        """What the engine saves with each batch: all else is in the records of the run."""
        return {"_emitted": self._emitted}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def begin_batch(self, batch_id: int) -> None:
        """See BatchAware."""
        self._txid = batch_id + FIRST_TXID
        self.has_whole_batch = False

    def next_tuple(self) -> None:
        """The micro-batch before is done everywhere; begin the batch of this one."""
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
    """Emits its part of a batch; where that is stored with the batch, it is stored at once."""

    _failure: Exception | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a spout has to remember is in the records of the run."""
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Nothing is saved."""

    def begin_batch(self, batch_id: int) -> None:
        """See BatchAware."""
        self._failure = None

    def process(self, tup: Any) -> None:
        """A batch, or the success of the one before."""
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
        """What a state has to remember it has stored when it commits."""
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
        """Rows, or a report; nothing more of a batch that has failed."""
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
