"""An update without checkpoints, an instance's part: its saved state, its rest afterwards, its
initial keys, and the keys of its next process. With a real store of files."""

import logging
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heron_core import config as keys
from heron_core.plans import MovedStates, PackingPlan, PhysicalPlan, TopologyState, physical_to_json
from heron_core.records import replace
from heron_core.state.keys import owner
from heron_core.topology import GroupingKind, GroupingSpec, StreamSpec
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind
from heron_core.wire.packets import encode_roots
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import (
    ControlReceived,
    Event,
    InputEmpty,
    InstanceReceived,
    InstanceTimer,
    SaveState,
    SendControl,
    Turn,
)
from heron_instance.input.spout import SpoutDriver
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from heron_instance.stored_states import MovedStateFiles, NewestState
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.run_marker import RunMarker
from heronpy_compat.windows import KeyedWindowBolt, Tumbling
from tests.unit.heron_instance.instance_support import (
    OTHER,
    SHUFFLE,
    SOURCE,
    batch,
    packing,
    reads,
    topology_of,
)
from tests.unit.heron_instance.test_periodic_saving import Numbers, Stateless, Unsaveable
from tests.unit.heron_instance.test_scaling_with_state import KEYS, NEW, Count, one_more

PREVIOUS = {"tested": (SOURCE,)}
SAID = (
    messages.SavedForUpdate,
    messages.NotSavedForUpdate,
    messages.FailsDeferred,
    messages.Restored,
    messages.RestoreFailed,
)


class Process:
    """An instance's core with the steps of its control thread and its saving threads."""

    def __init__(
        self,
        kind: type,
        folder: Path,
        mode: str = keys.ATLEAST_ONCE,
        task: int = SOURCE,
        plan: PackingPlan | None = None,
        fed_by: GroupingSpec = SHUFFLE,
    ) -> None:
        self.now, self.task = 100.0, task
        self.said: list[Any] = []
        self.sent: list[Any] = []
        self.meanwhile: Any = None
        """Events while back-pressure holds a call amid its emits."""
        self.shared = SharedState()
        self.packing = plan or packing()
        config = {keys.RELIABILITY_MODE: mode, keys.CHECKPOINT_INTERVAL_SECS: 1000}
        streams = (StreamSpec("default", ("a", "b")),)
        topology = topology_of(kind, streams, [reads(SHUFFLE)], config, fed_by=fed_by)
        LocalFiles(str(folder)).begin_run("t", "run")
        marker = RunMarker("t", "run", is_folder=True)
        self.newest = NewestState(partial(LocalFiles, str(folder)), "t", "run", task, marker)
        self.moved = MovedStateFiles(partial(LocalFiles, str(folder)), "t", "run", task)
        environment = InstanceEnvironment(
            lambda: self.now,
            Random(1),
            self.sent.extend,
            self._admit,
            logging.Logger("tested"),
            may_send=lambda: self.shared.may_send,
            newest_state=self.newest if mode == keys.ATLEAST_ONCE else None,
            load_moved=self.moved.load,
        )
        self.core = InstanceCore(
            topology, self.packing, Identity(task, 1, 5), environment, self.shared
        )
        assert self.core.transfer is not None
        self.moved.reported = self.core.transfer.written
        if self.core.saving is not None:
            self.newest.reported = self.core.saving.reported

    def _admit(self) -> None:
        while not self.shared.may_send:
            self.now += 1  # it takes its time, and the main thread sees that
            self.meanwhile()

    @property
    def component(self) -> Any:
        return self.core.instance.adapter.users_object

    @property
    def counts(self) -> dict[int, int]:
        found: dict[int, int] = self.component.counts
        return found

    def handle(self, event: Event) -> None:
        """An event, with all its consequences."""
        for each in self.core.handle(event, self.now):
            if isinstance(each, SaveState):
                states = self.moved if each.moves else self.newest
                states.write(each.checkpoint, each.state)
            elif isinstance(each, SendControl) and isinstance(each.message, SAID):
                self.said.append(each.message)

    def hear(self, message: Any) -> list[Any]:
        """Messages to the master about a message."""
        self.said.clear()
        self.handle(ControlReceived(message))
        for _ in range(3):
            self.handle(Turn())
        return list(self.said)

    def plan(self, epoch: int, *arguments: Any, **more: Any) -> list[Any]:
        """Messages about a plan (`plan_of`)."""
        return self.hear(self.plan_of(epoch, *arguments, **more))

    def plan_of(
        self,
        epoch: int,
        packing: PackingPlan | None = None,
        saved: tuple[int, ...] = (),
        previous: dict[str, tuple[int, ...]] | None = None,
        state: str = TopologyState.PAUSED,
        rescaled: int = 0,
    ) -> messages.Plan:
        """A plan; spouts stand still during an update. `rescaled`: epoch of the component's
        tasks."""
        moved = MovedStates(5, saved, previous or PREVIOUS) if saved else None
        made = PhysicalPlan(
            "t", epoch, state, packing or self.packing, {1: "a", 2: "b"},
            moved=moved, rescaled={"tested": rescaled} if rescaled else {},
        )  # fmt: skip
        return messages.Plan(physical_to_json(made))

    def save(self) -> list[Any]:
        """Messages when an update requests the state."""
        return self.hear(messages.SaveForUpdate(5, 1, (self.task,)))

    def count(self, *values: int) -> None:
        self.handle(InstanceReceived(batch(*([value, "x"] for value in values))))


MODES = pytest.mark.parametrize("mode", [keys.ATLEAST_ONCE, keys.ATMOST_ONCE])
TWO = one_more("tested")


def mine(index: int) -> dict[int, int]:
    return {key: 1 for key in KEYS if owner(key, 2) == index}


def counted(folder: Path, mode: str = keys.ATLEAST_ONCE) -> Process:
    """A bolt that has counted KEYS, saved for the update."""
    bolt = Process(Count, folder, mode)
    bolt.plan(1)
    bolt.count(*KEYS)
    (stored,) = bolt.save()
    assert (stored.task, stored.update) == (SOURCE, 5)
    assert stored.size_bytes
    return bolt


@MODES
def test_keys_go_to_the_new_task_and_back_if_that_fails(mode: str, tmp_path: Path) -> None:
    bolt = counted(tmp_path, mode)
    assert bolt.plan(2, TWO, (SOURCE,)) == [messages.Restored(SOURCE, 1, 2)]
    assert bolt.counts == mine(0)
    new = Process(Count, tmp_path, mode, NEW, TWO)
    assert new.plan(2, TWO, (SOURCE,)) == [messages.Restored(NEW, 1, 2)]
    assert new.counts == mine(1)
    if mode == keys.ATLEAST_ONCE:  # so do their next processes
        assert Process(Count, tmp_path, mode).counts == mine(0)
        assert Process(Count, tmp_path, mode, NEW, TWO).counts == mine(1)
    # Another process in the middle of the update has equal keys.
    again = Process(Count, tmp_path, mode, NEW, TWO)
    again.plan(2, TWO, (SOURCE,))
    assert again.counts == mine(1)
    assert bolt.plan(3, packing(), (SOURCE,)) == [messages.Restored(SOURCE, 1, 3)]
    assert bolt.counts == dict.fromkeys(KEYS, 1)
    if mode == keys.ATLEAST_ONCE:
        assert Process(Count, tmp_path, mode).counts == dict.fromkeys(KEYS, 1)


def test_a_process_that_stays_has_the_code_that_it_has_loaded(tmp_path: Path) -> None:
    """The file of the new code, with an unchanged class, is not on the process's search path."""
    bolt = counted(tmp_path)
    elsewhere = bolt.core._submitted.with_class("tested", "later_file.Count")
    plan = replace(TWO, changed=elsewhere)
    assert bolt.plan(2, plan, (SOURCE,)) == [messages.Restored(SOURCE, 1, 2)]
    assert bolt.counts == mine(0)


def test_fewer_take_the_keys_of_those_that_are_gone(tmp_path: Path) -> None:
    previous: dict[str, tuple[int, ...]] = {"tested": (SOURCE, NEW)}
    both = [Process(Count, tmp_path, task=task, plan=TWO) for task in (SOURCE, NEW)]
    for index, bolt in enumerate(both):
        bolt.plan(1)
        bolt.count(*mine(index))
        bolt.save()
    both[0].plan(2, packing(), (SOURCE, NEW), previous)
    assert both[0].counts == dict.fromkeys(KEYS, 1)


def test_a_process_that_an_update_starts_saves_no_state_of_its_own_before_its_plan(
    tmp_path: Path,
) -> None:
    """The update may still be aborted: the running process keeps the task's state."""
    bolt, new = counted(tmp_path), Process(Count, tmp_path)
    new.now += 5000
    new.handle(InstanceTimer())
    new.handle(Turn())
    assert bolt.plan(2) == []
    bolt.now += 5000
    bolt.handle(InstanceTimer())
    bolt.handle(Turn())
    assert Process(Count, tmp_path).counts == bolt.counts == dict.fromkeys(KEYS, 1)
    new.plan(2)
    new.now += 5000
    new.handle(InstanceTimer())
    new.handle(Turn())
    assert Process(Count, tmp_path).counts == {}


def test_between_saving_and_the_end_of_the_update_nothing_happens(tmp_path: Path) -> None:
    bolt = counted(tmp_path)
    assert bolt.save() == bolt.save()  # asked again it says the same
    bolt.handle(Turn())
    assert bolt.core.transfer is not None
    assert bolt.core.transfer.rests
    assert bolt.core.saving is not None
    assert bolt.core.saving.last() is None  # what ends now has a successor with what was saved
    bolt.plan(1)  # the same once more, of a new stream manager
    assert bolt.core.transfer.rests
    bolt.plan(2, TWO, (SOURCE,))
    assert bolt.core.transfer.rests
    bolt.plan(2, TWO)
    assert not bolt.core.transfer.rests
    assert bolt.core.saving.last() is not None


def test_a_bolt_that_moves_as_a_whole_begins_with_what_its_process_saved(tmp_path: Path) -> None:
    bolt = counted(tmp_path, keys.ATMOST_ONCE)
    before = bolt.component
    bolt.plan(2, packing(), (SOURCE,))
    assert bolt.component is before  # it stays, another one of its component moves
    other = Process(Count, tmp_path, keys.ATMOST_ONCE)
    other.plan(2, packing(), (SOURCE,))
    assert other.counts == dict.fromkeys(KEYS, 1)


class Both(Count):
    """Keyed state, and state of the instance besides."""

    def init_state(self, stateful_state: Any) -> None:
        super().init_state(stateful_state)
        self.state = stateful_state
        if stateful_state.get("who") is None:
            stateful_state.put("who", id(self))


def test_what_no_key_divides_stays_with_its_task(tmp_path: Path) -> None:
    bolt = Process(Both, tmp_path)
    bolt.plan(1)
    bolt.count(*KEYS)
    bolt.save()
    who = bolt.component.state.get("who")
    bolt.plan(2, TWO, (SOURCE,))
    assert (bolt.counts, bolt.component.state.get("who")) == (mine(0), who)
    new = Process(Both, tmp_path, task=NEW, plan=TWO)
    new.plan(2, TWO, (SOURCE,))
    assert new.core.transfer is not None
    assert new.core.transfer.rests, "the update may be rolled back, and this process end"
    assert new.counts == mine(1)
    assert new.component.state.get("who") != who
    # The state of a removed task would be lost.
    for each in (bolt, new):
        each.plan(2, TWO)
        each.save()
    (failed,) = bolt.plan(3, packing(), (SOURCE, NEW), {"tested": (SOURCE, NEW)})
    assert "tested had 2 instances and has 1 now, but state saved by put()" in failed.reason


def test_a_state_that_cannot_be_had_is_looked_for_again(tmp_path: Path) -> None:
    bolt = counted(tmp_path)
    file = tmp_path / f"t/own/run/moved/5/{SOURCE}"
    good = file.read_bytes()
    file.write_bytes(b"")
    (failed,) = bolt.plan(2, TWO, (SOURCE,))
    assert isinstance(failed, messages.RestoreFailed)
    file.write_bytes(good)
    bolt.said.clear()
    bolt.now += 2
    for event in (InstanceTimer(), Turn(), Turn()):
        bolt.handle(event)
    assert bolt.said == [messages.Restored(SOURCE, 1, 2)]


def test_a_spout_saves_when_all_that_it_has_emitted_is_acked(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    spout.plan(1, state=TopologyState.RUNNING)
    spout.handle(InputEmpty())
    assert spout.save() == []  # spouts run: this is of an update that was aborted
    spout.plan(1)
    assert spout.save() == []  # the master asks again
    roots = list(spout.core.driver.collector.pending)  # type: ignore[attr-defined]
    spout.handle(InstanceReceived(encode_roots(FrameKind.ACKED, 1, OTHER, SOURCE, roots)))
    (stored,) = spout.save()
    assert stored.update == 5


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (Unsaveable, messages.NotSavedForUpdate),
        (Stateless, messages.SavedForUpdate),
    ],
)
def test_who_has_no_state_or_cannot_save_it_says_so(
    kind: type, answer: type, tmp_path: Path
) -> None:
    process = Process(kind, tmp_path)
    process.plan(1)
    (said,) = process.save()
    assert isinstance(said, answer)
    assert not getattr(said, "size_bytes", 0)
    assert not LocalFiles(str(tmp_path)).runs("t")


BY_VALUE = GroupingSpec(GroupingKind.FIELDS, ("value",))


class Windows(KeyedWindowBolt):
    outputs = ["a", "b"]
    key_fields = ["value"]
    window = Tumbling(1000)
    timestamp_field = "value"

    def values(self, result: Any) -> list[Any]:
        return [result.window.start_ms, result.value]


def test_open_windows_fail_what_they_hold_and_the_watermark_goes_with_the_keys(
    tmp_path: Path,
) -> None:
    bolt = Process(Windows, tmp_path, fed_by=BY_VALUE)
    bolt.plan(1)
    bolt.handle(InstanceReceived(batch([1], [2500], roots=[(7, 1), (8, 2)])))
    bolt.component.advance_watermark(2500)
    (stored,) = bolt.save()
    assert stored.size_bytes
    assert bolt.core.driver.statistics().failed == 1
    assert bolt.save() == [stored], "asked once more"
    new = Process(Windows, tmp_path, task=NEW, plan=TWO, fed_by=BY_VALUE)
    assert new.plan(2, TWO, (SOURCE,)) == [messages.Restored(NEW, 1, 2)]
    assert new.component.time_runner.operator.watermark_ms == 2500
    assert not new.component.time_runner.operator.open_windows


def test_a_spout_that_defers_fail_is_told_of_it_when_the_update_is_over(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    spout.plan(1, state=TopologyState.RUNNING)
    spout.handle(InputEmpty())
    spout.plan(1)
    driver = spout.core.driver
    assert isinstance(driver, SpoutDriver)
    pending = list(driver.collector.pending)
    assert len(pending) == 3
    told = spout.hear(messages.DeferFails(5, 1, (SOURCE,)))
    assert told == [messages.FailsDeferred(SOURCE, 5)]
    spout.handle(InstanceReceived(encode_roots(FrameKind.FAILED, 1, SOURCE, SOURCE, pending[:2])))
    spout.handle(InstanceReceived(encode_roots(FrameKind.EXPIRED, 1, SOURCE, SOURCE, pending[2:])))
    assert not driver.counts()[2], "they are to come again"
    assert driver.metrics.failed == 0
    spout.plan(2)
    assert (driver.metrics.failed, driver.metrics.expired) == (3, 1)


class Replaying(Numbers):
    def fail(self, tup_id: Any) -> None:
        self.emit([tup_id, "x"], tup_id=tup_id)


def test_a_spout_that_replays_within_fail_is_told_of_the_next_ones_when_they_are_settled(
    tmp_path: Path,
) -> None:
    spout = Process(Replaying, tmp_path)
    spout.plan(1, state=TopologyState.RUNNING)
    spout.handle(InputEmpty())
    spout.plan(1)
    driver = spout.core.driver
    assert isinstance(driver, SpoutDriver)
    spout.hear(messages.DeferFails(1, 1, (SOURCE,)))
    for told_of in (0, 3):
        pending = list(driver.collector.pending)
        spout.handle(InstanceReceived(encode_roots(FrameKind.FAILED, 1, SOURCE, SOURCE, pending)))
        assert driver.metrics.failed == told_of
        assert not spout.save()


def test_a_spout_is_told_of_what_failed_before_its_state_is_saved(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    spout.plan(1, state=TopologyState.RUNNING)
    spout.handle(InputEmpty())
    spout.plan(1)
    driver = spout.core.driver
    assert isinstance(driver, SpoutDriver)
    first, *others = list(driver.collector.pending)
    spout.hear(messages.DeferFails(1, 1, (SOURCE,)))
    spout.handle(InstanceReceived(encode_roots(FrameKind.EXPIRED, 1, SOURCE, SOURCE, [first])))
    assert not spout.save(), "the others are in flight"
    assert driver.metrics.failed == 0
    spout.handle(InstanceReceived(encode_roots(FrameKind.ACKED, 1, SOURCE, SOURCE, others)))
    (stored,) = spout.save()
    assert isinstance(stored, messages.SavedForUpdate)
    assert driver.metrics.failed == 1
