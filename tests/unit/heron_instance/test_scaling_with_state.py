"""A topology with checkpoints is scaled, an instance's part: its initial keys, and cases without a
change."""

from typing import Any

from heron_api.state.stateful_component import StatefulComponent
from heron_core import config as keys
from heron_core.plans import (
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Restore,
    TopologyState,
    physical_to_json,
)
from heron_core.records import replace
from heron_core.state.keys import owner
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind
from heron_core.wire.packets import encode_barrier
from heronpy_compat import Bolt, Spout
from tests.unit.heron_instance.checkpointed_support import INCARNATION, ME, Process
from tests.unit.heron_instance.instance_support import NOTHING, OTHER, Batch, batch, packing

KEYS = list(range(20))
NEW = 7


class Count(Bolt, StatefulComponent):
    def init_state(self, stateful_state: Any) -> None:
        self.count = stateful_state.value_state("count", default=0)

    def process(self, tup: Any) -> None:
        counted = self.count.for_key(tup.values[0])
        counted.put(counted.get() + 1)

    @property
    def counts(self) -> dict[int, int]:
        return dict(self.count.all_items())


class Plain(Count):
    def init_state(self, stateful_state: Any) -> None:
        super().init_state(stateful_state)
        stateful_state.put("at", 1)


class Scaled(Process):
    """An instance's core, and a store with further states."""

    others: dict[tuple[int, int], bytes] = {}
    with_input: tuple[int, ...] = ()

    def _load(self, checkpoint: int, task: int) -> bytes:
        return self.states[checkpoint] if task == ME else self.others[checkpoint, task]

    def counted(self, *keys: int) -> None:
        self.receive(batch(*([key, "x"] for key in keys)))

    def scaled(self, plan: PackingPlan, epoch: int, **previous: tuple[int, ...]) -> list[Any]:
        """Go back to checkpoint 7 by another plan; returns the messages to the master."""
        restore = Restore(7, None, previous, with_input=self.with_input)
        made = PhysicalPlan("t", epoch, TopologyState.RUNNING, plan, {1: "a", 2: "b"}, restore)
        return self.hear(messages.Plan(physical_to_json(made)))

    def all_restored(self, plan: PackingPlan, epoch: int) -> None:
        """All are restored from checkpoint 7, and may go on."""
        restore = Restore(7, dict.fromkeys(plan.instances, INCARNATION))
        made = PhysicalPlan("t", epoch, TopologyState.RUNNING, plan, {1: "a", 2: "b"}, restore)
        self.hear(messages.Plan(physical_to_json(made)))
        self.turn()


def one_more(component: str) -> PackingPlan:
    """The plan with one more instance of a component."""
    first, second = packing().containers
    index = len(packing().tasks_of[component])
    added = (*second.instances, InstancePlan(NEW, component, index, NOTHING))
    return PackingPlan("t", (first, replace(second, instances=added)))


def at_checkpoint(kind: type = Count) -> Scaled:
    """A bolt that has counted KEYS, saved as the complete checkpoint 7."""
    bolt = Scaled(kind)
    bolt.begin(1)
    bolt.counted(*KEYS)
    bolt.trigger(7)
    bolt.hear(messages.CheckpointCompleted(7, 1))
    return bolt


def test_who_keeps_its_keys_and_has_done_nothing_goes_on_as_it_is() -> None:
    bolt = at_checkpoint()
    before = bolt.component
    bolt.states.clear()  # nothing is read
    assert bolt.scaled(one_more("readers"), 2, readers=(2, 3, 4, 5)) == [
        messages.Restored(ME, INCARNATION, 2)
    ]
    assert bolt.component is before
    assert bolt.core.shared.is_restoring
    assert bolt.component.counts == dict.fromkeys(KEYS, 1)


class Numbers(Spout, StatefulComponent):
    def init_state(self, stateful_state: Any) -> None:
        self.acked: list[Any] = []

    def next_tuple(self) -> None:
        self.emit([1, "x"], tup_id="first")
        self.finish()

    def ack(self, tup_id: Any) -> None:
        self.acked.append(tup_id)


def test_a_spout_hears_from_the_new_plan_that_its_checkpoint_is_complete() -> None:
    """The message of the completion may be lost when a stream manager ends; the spout stays
    unchanged."""
    spout = Scaled(Numbers)
    spout.begin(1)
    spout.turn()
    before = spout.component
    spout.trigger(7)
    assert before.acked == []
    spout.states.clear()  # nothing is read
    said = spout.scaled(one_more("readers"), 2, readers=(2, 3, 4, 5))
    assert said == [messages.Restored(ME, INCARNATION, 2)]
    assert (spout.component, before.acked) == (before, ["first"])


def test_an_instance_that_has_done_something_since_is_restored() -> None:
    bolt = at_checkpoint()
    before = bolt.component
    bolt.counted(1, 1)
    bolt.scaled(one_more("readers"), 2, readers=(2, 3, 4, 5))
    assert bolt.component is not before
    assert bolt.component.counts == dict.fromkeys(KEYS, 1)


def test_what_came_of_a_source_that_has_gone_is_still_counted() -> None:
    bolt = at_checkpoint()
    before = bolt.component
    bolt.scaled(one_more("other"), 2, other=(OTHER,))
    bolt.core.driver.deliver(batch([1, "x"], epoch=2, source=NEW))
    bolt.scaled(packing(), 3, other=(OTHER, NEW))
    assert bolt.component is not before
    assert bolt.core.control.report(bolt.now).executed_by_input == {"other/default": len(KEYS) + 1}


def test_a_component_with_more_instances_keeps_the_keys_that_are_its_own() -> None:
    bolt = at_checkpoint()
    bolt.scaled(one_more("tested"), 2, tested=(ME,))
    mine = [key for key in KEYS if owner(key, 2) == 0]
    assert bolt.component.counts == dict.fromkeys(mine, 1)
    # Another failure: once more. And back to the previous plan: all keys are present.
    bolt.scaled(one_more("tested"), 3, tested=(ME,))
    assert bolt.component.counts == dict.fromkeys(mine, 1)
    bolt.scaled(packing(), 4, tested=(ME,))
    assert bolt.component.counts == dict.fromkeys(KEYS, 1)


def test_an_update_divides_what_a_barrier_has_overtaken() -> None:
    """By key where the stream is grouped so; the tuples before are in the state."""
    bolt = Scaled(Count, config={keys.ALIGNED_TIMEOUT_MS: 0})
    bolt.begin(1)
    bolt.counted(*KEYS)
    bolt.hear(messages.Pause(on=True))
    bolt.receive(batch(*([key, "x"] for key in KEYS), epoch=1), encode_barrier(1, 0, ME, 7))
    bolt.hear(messages.OvertakeInput(7, 1))
    bolt.hear(messages.CheckpointCompleted(7, 1))
    bolt.with_input = (ME,)
    bolt.scaled(one_more("tested"), 2, tested=(ME,))
    mine = [key for key in KEYS if owner(key, 2) == 0]
    assert bolt.core.driver.counts()[:2] == (len(KEYS) // 2, 0)
    bolt.plan(2, 7, INCARNATION)
    bolt.hear(messages.Pause(on=False))
    bolt.turn()
    assert bolt.component.counts.keys() == {*mine, *KEYS[::2]}
    assert sum(bolt.component.counts.values()) == len(mine) + len(KEYS) // 2


def test_a_component_with_fewer_instances_takes_the_keys_of_those_that_are_gone() -> None:
    bolt = Scaled(Count, {7: saved([key for key in KEYS if owner(key, 2) == 0])})
    bolt.others = {(7, NEW): saved([key for key in KEYS if owner(key, 2) == 1])}
    bolt.scaled(packing(), 1, tested=(ME, NEW))
    assert bolt.component.counts == dict.fromkeys(KEYS, 1)


def saved(keys: list[int]) -> bytes:
    """The state of a bolt with the given counts."""
    bolt = Scaled(Count)
    bolt.begin(1)
    bolt.counted(*keys)
    bolt.trigger(7)
    return bolt.states[7]


def test_what_no_key_divides_is_not_divided() -> None:
    bolt = at_checkpoint(Plain)
    (failed,) = bolt.scaled(one_more("tested"), 2, tested=(ME,))
    assert "tested had 1 instances and has 2 now, but state saved by put()" in failed.reason


class Held(Bolt):
    """Acks its tuples later, and declares itself when idle."""

    acks_later = True

    def initialize(self, config: Any, context: Any) -> None:
        self.got: list[Any] = []

    def process(self, tup: Any) -> None:
        self.got.append(tup)
        self.emit([tup.values[0], "held"], anchors=[tup])

    def is_idle(self) -> bool:
        return True


def without(task: int) -> PackingPlan:
    """The plan without one of the instances."""
    containers = (
        replace(each, instances=tuple(x for x in each.instances if x.task != task))
        for each in packing().containers
    )
    return PackingPlan("t", tuple(containers))


def test_what_is_emitted_and_not_acked_goes_to_the_tasks_of_the_new_plan() -> None:
    """A bolt that acks later has chosen the tasks of its emits by the old plan."""
    bolt = Scaled(Held)
    bolt.begin(1)
    bolt.counted(*KEYS)
    bolt.trigger(7)
    bolt.scaled(without(5), 2, readers=(2, 3, 4, 5))
    bolt.all_restored(without(5), 2)
    bolt.sent.clear()
    for each in list(bolt.component.got):
        bolt.component.ack(each)
    bolt.core.driver.flush()
    arrived = [
        Batch(each) for each in bolt.sent if each[0][2] in (FrameKind.DATA, FrameKind.FANOUT)
    ]
    assert not {5} & {task for each in arrived for task in each.targets}
    assert sorted(values[0] for each in arrived for values in each.values) == KEYS
