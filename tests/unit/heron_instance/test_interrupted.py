"""A restore finds a slow bolt amid a message: nothing waits for the rest of it."""

from typing import Any

import pytest

from heron_core.plans import PhysicalPlan, Restore, TopologyState, physical_to_json
from heron_core.wire import messages
from heron_instance.events import ControlReceived, InstanceReceived
from heronpy_compat import BatchBolt
from tests.unit.heron_instance.attempts_support import Asking, Cluster, values_batch
from tests.unit.heron_instance.checkpointed_support import INCARNATION, Counting, Process
from tests.unit.heron_instance.instance_support import batch, packing

MANY = 60
SECS = 0.05
"""What a tuple takes."""
AT = 12
"""The tuple in which something happens."""
FEW = 2
"""A bolt that has become slow looks after each tuple."""


class Slow(Counting):
    """Takes its time, and has something happen in one of its calls."""

    process_of: Any = None
    heard: Any = None

    def process(self, tup: Any) -> None:
        super().process(tup)
        value = tup.values[0]
        type(self).process_of.now += SECS
        if value == AT and type(self).heard is not None:
            heard, type(self).heard = type(self).heard, None
            heard()


def plan(epoch: int, checkpoint: int = 0) -> messages.Plan:
    found = PhysicalPlan(
        "t", epoch, TopologyState.RUNNING, packing(), {1: "a", 2: "b"}, Restore(checkpoint, None)
    )
    return messages.Plan(physical_to_json(found))


def slow_bolt(kind: Any = Slow) -> Process:
    made = Process(kind)
    kind.process_of = made
    made.begin(1)
    return made


def rows(epoch: int = 1) -> Any:
    return batch(*([each] for each in range(MANY)), epoch=epoch)


def test_a_restore_does_not_wait_for_the_message_of_a_sink_that_takes_50_ms() -> None:
    bolt = slow_bolt()
    Slow.heard = lambda: bolt.core.handle(ControlReceived(plan(2)), bolt.now)
    before = bolt.component
    said = bolt.receive(rows())
    assert AT < len(before.seen) <= AT + FEW
    assert messages.Restored(bolt.core.identity.task, INCARNATION, 2) in said
    assert bolt.component is not before
    bolt.plan(2, 0, INCARNATION)
    bolt.turn()
    assert bolt.component.seen == [], "the rest is of before the restore"
    bolt.receive(rows(epoch=2))
    assert bolt.component.seen == list(range(MANY))
    assert bolt.core.driver.counts()[1] == MANY, "what was cut counts for nothing"


def test_a_restore_does_not_wait_for_a_message_that_is_tried_with_care() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: call == 3
    bolt.tuples(*range(5))  # from here on all of a message counts, or nothing
    calls, done = bolt.world.calls, bolt.world.calls + AT

    def asked(value: Any, call: int) -> bool:
        bolt.now += SECS
        if call == done:
            bolt.core.handle(ControlReceived(plan(bolt.epoch + 1)), bolt.now)
        return False

    bolt.world.refuses = asked
    bolt.handle(InstanceReceived(values_batch(list(range(MANY)), bolt.epoch)))
    assert AT <= bolt.world.calls - calls <= AT + FEW
    bolt.restore()
    bolt.world.refuses = lambda value, call: False
    bolt.tuples(*range(5))
    assert bolt.component.seen == list(range(5))
    assert bolt.numbers() == (5, 0)


class Rows(BatchBolt):
    """Hears of something while it is at work on its first batch."""

    heard: Any = None
    process_of: Any = None

    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[list[int]] = []

    def process_batch(self, batch: Any) -> None:
        self.seen.append(batch.column(0).to_pylist())
        type(self).process_of.now += SECS
        if len(self.seen) == 1 and type(self).heard is not None:
            heard, type(self).heard = type(self).heard, None
            heard()


def test_a_restore_waits_for_the_batch_of_columns_that_is_in_work_and_for_no_other() -> None:
    pytest.importorskip("pyarrow")
    bolt = slow_bolt(Rows)
    Rows.heard = lambda: bolt.core.handle(ControlReceived(plan(2)), bolt.now)
    before = bolt.component
    bolt.receive(rows(), rows())
    assert before.seen == [list(range(MANY))]
    bolt.plan(2, 0, INCARNATION)
    bolt.receive(rows(epoch=2))
    assert bolt.component.seen == [list(range(MANY))]
