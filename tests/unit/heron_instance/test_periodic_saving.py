"""At least once: an instance saves its own state now and then, the initial state of its next
process.

With a real store of files; the saving thread's work is done by the test.
"""

import logging
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heron_api.state.stateful_component import StatefulComponent
from heron_api.windows.window_bolt import SlidingWindowBolt
from heron_core import config as keys
from heron_core.errors import StateError
from heron_core.plans import PhysicalPlan, TopologyState, physical_to_json
from heron_core.topology import StreamSpec
from heron_core.wire import messages
from heron_core.wire.frames import ROOT_COUNTER_BITS, FrameKind, header_of
from heron_core.wire.packets import decode_pairs, encode_roots
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import (
    ControlReceived,
    Event,
    FinishLoop,
    InputEmpty,
    InstanceReceived,
    InstanceTimer,
    SaveState,
    Stopped,
    Turn,
)
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from heron_instance.stored_states import NewestState
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.run_marker import RunMarker
from heronpy_compat import Bolt, Spout
from tests.unit.heron_instance.instance_support import (
    SHUFFLE,
    SOURCE,
    batch,
    packing,
    reads,
    topology_of,
)

INTERVAL_SECS = 10.0


class Numbers(Spout, StatefulComponent):
    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        self.at = self.state.get("at") or 0
        self.saved: list[str] = []

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("at", self.at)

    def post_save(self, checkpoint_id: Any) -> None:
        self.saved.append(checkpoint_id)

    def next_tuple(self) -> None:
        if self.at % 10 < 3:
            self.at += 1
            self.emit([self.at, "x"], tup_id=self.at)


class Unsaveable(Numbers):
    def pre_save(self, checkpoint_id: Any) -> None:
        raise StateError("unsaveable: its value of key 'lock' cannot be serialised")


class Stateless(Bolt):
    def process(self, tup: Any) -> None:
        pass


class Windows(SlidingWindowBolt):
    def processWindow(self, window_info: Any, tuples: Any) -> None:  # noqa: N802
        pass


class Process:
    """An instance's core with the steps of its control thread and its saving thread."""

    def __init__(
        self, kind: type, folder: Path, run: str = "run", *, is_first: bool = True
    ) -> None:
        self.now = 100.0
        self.sent: list[Any] = []
        self.shared = SharedState()
        config = {
            keys.RELIABILITY_MODE: keys.ATLEAST_ONCE,
            keys.CHECKPOINT_INTERVAL_SECS: INTERVAL_SECS,
            "topology.bolts.window.length": 5,
            "slidingwindowbolt_duration_secs": 5,
            "slidingwindowbolt_slide_secs": 1,
        }
        streams = (StreamSpec("default", ("a", "b")),)
        topology = topology_of(kind, streams, [reads(SHUFFLE)], config)
        if is_first:
            LocalFiles(str(folder)).begin_run("t", run)
        opened, marker = partial(LocalFiles, str(folder)), RunMarker("t", run, is_folder=True)
        self.newest = NewestState(opened, "t", run, SOURCE, marker, clock=float)
        environment = InstanceEnvironment(
            lambda: self.now,
            Random(1),
            self.sent.extend,
            lambda: None,
            logging.Logger("tested"),
            may_send=lambda: self.shared.may_send,
            newest_state=self.newest,
        )
        identity = Identity(SOURCE, 1, 5)
        self.core = InstanceCore(topology, packing(), identity, environment, self.shared)
        if self.core.saving is not None:
            self.newest.reported = self.core.saving.reported
        plan = PhysicalPlan("t", 1, TopologyState.RUNNING, packing(), {1: "a", 2: "b"})
        self.handle(ControlReceived(messages.Plan(physical_to_json(plan))))
        self.handle(Turn())

    @property
    def component(self) -> Any:
        return self.core.instance.adapter.users_object

    def handle(self, event: Event) -> None:
        for each in self.core.handle(event, self.now):
            if isinstance(each, SaveState):
                self.newest.write(each.checkpoint, each.state)

    def emit(self) -> None:
        self.handle(InputEmpty())

    def settle(self, kind: FrameKind) -> None:
        roots = list(self.core.driver.collector.pending)  # type: ignore[attr-defined]
        self.handle(InstanceReceived(encode_roots(kind, 1, 0, SOURCE, roots)))

    def wait(self, secs: float = INTERVAL_SECS) -> None:
        self.now += secs
        self.handle(InstanceTimer())
        self.handle(Turn())


def test_a_new_process_of_a_spout_goes_on_behind_what_is_acked(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    spout.emit()
    spout.settle(FrameKind.ACKED)
    spout.wait()
    assert spout.component.saved == ["1"]
    successor = Process(Numbers, tmp_path)
    assert successor.component.at == 3
    successor.wait()
    assert successor.component.saved == ["2"]  # numbers go on
    assert Process(Numbers, tmp_path, "another run").component.at == 0


def test_a_spouts_state_counts_when_all_that_it_covers_is_acked(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    spout.emit()
    spout.wait()
    spout.wait(0.5)
    assert Process(Numbers, tmp_path).component.at == 0
    spout.settle(FrameKind.ACKED)
    spout.component.at = 20  # it goes on meanwhile
    spout.emit()
    spout.wait(0.5)
    assert spout.component.saved == ["1"]
    assert Process(Numbers, tmp_path).component.at == 3


def test_a_process_that_an_update_may_end_has_nothing_to_save(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    saving = spout.core.saving
    assert saving is not None
    assert not saving.is_due(spout.now)
    assert saving.is_due(spout.now + INTERVAL_SECS)
    saving.rests = True
    assert not saving.is_due(spout.now + INTERVAL_SECS)


def test_a_spouts_state_that_covers_what_has_failed_never_counts(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    spout.emit()
    spout.wait()
    spout.settle(FrameKind.FAILED)
    spout.wait(0.5)
    assert spout.component.saved == []
    spout.wait()
    assert spout.component.saved == ["2"]


def test_at_an_end_in_good_order_the_last_moment_is_saved(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    spout.emit()
    assert spout.core.saving is not None
    assert spout.core.saving.last() is None  # nobody would emit again what is not acked
    spout.settle(FrameKind.ACKED)
    last = spout.core.saving.last()
    assert last is not None
    spout.newest.write(*last)
    assert Process(Numbers, tmp_path).component.at == 3


def test_the_newest_that_is_whole_is_taken(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    for at in (20, 30, 40):
        spout.component.at = at
        spout.wait()
    folder = tmp_path / f"t/own/run/{SOURCE}"
    assert sorted(each.name for each in folder.iterdir()) == ["2", "3"]
    state = folder / "3" / str(SOURCE)
    state.write_bytes(state.read_bytes()[:-1])
    assert Process(Numbers, tmp_path).component.at == 30
    (folder / "2" / str(SOURCE)).write_bytes(b"")
    with pytest.raises(Exception, match="is damaged: it does not match its checksum"):
        Process(Numbers, tmp_path)


def test_a_state_that_cannot_be_saved_is_reported_and_the_one_before_stays(tmp_path: Path) -> None:
    spout = Process(Numbers, tmp_path)
    spout.component.at = 20
    spout.wait()
    successor = Process(Unsaveable, tmp_path)
    successor.wait()
    assert "cannot be serialised" in str(successor.core.driver.metrics.last_error)
    assert Process(Numbers, tmp_path).component.at == 20


def test_a_store_that_is_away_is_reported(tmp_path: Path) -> None:
    (tmp_path / "t").touch()
    store = Process(Stateless, tmp_path, is_first=False).newest
    reported: list[str] = []
    store.reported = lambda number, failure: reported.append(failure)
    store.write(1, b"state")
    assert "Not a directory" in reported[0]


def test_a_process_that_dies_while_its_disk_is_not_mounted_does_not_begin_anew(
    tmp_path: Path,
) -> None:
    """The folder is as empty as in a first run; saves there are refused meanwhile."""
    spout = Process(Numbers, tmp_path)
    spout.emit()
    spout.settle(FrameKind.ACKED)
    spout.wait()
    (tmp_path / "t").rename(tmp_path / "unmounted")
    reported: list[str] = []
    spout.newest.reported = lambda number, failure: reported.append(failure)
    spout.newest.write(9, b"state")
    with pytest.raises(CheckpointStoreError, match=r"/t has none of .*: mount its disk") as away:
        Process(Numbers, tmp_path, is_first=False)
    assert reported == [str(away.value)]
    assert not (tmp_path / "t").exists()
    (tmp_path / "unmounted").rename(tmp_path / "t")
    assert Process(Numbers, tmp_path, is_first=False).component.at == spout.component.at


@pytest.mark.parametrize("kind", [Stateless, Windows])
def test_who_keeps_no_state_or_gets_its_tuples_again_saves_none(kind: type, tmp_path: Path) -> None:
    bolt = Process(kind, tmp_path)
    bolt.wait()
    assert bolt.core.saving is None
    assert not LocalFiles(str(tmp_path)).runs("t")


class SlowSink(Bolt, StatefulComponent):
    """Takes a second for each tuple, and stopped in one."""

    told: Any = None

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def process(self, tup: Any) -> None:
        (value,) = tup.values
        self.state.put("at", value)
        self.ack(tup)
        type(self).told(value)


def test_a_slow_bolt_that_stops_amid_a_message_saves_and_acks_what_it_has_processed(
    tmp_path: Path,
) -> None:
    bolt = Process(SlowSink, tmp_path)
    heard: list[Any] = []

    def told(value: int) -> None:
        bolt.now += 1.0
        if value == 10:
            heard.extend(bolt.core.handle(Stopped(), bolt.now))

    SlowSink.told = told
    roots = [((3 << ROOT_COUNTER_BITS) + at, at + 1) for at in range(60)]
    found = bolt.core.handle(
        InstanceReceived(batch(*([each] for each in range(60)), roots=roots)), 100.0
    )
    assert list(found) == [FinishLoop()]
    last, saving = bolt.component.state.get("at"), bolt.core.saving
    assert 10 <= last < 13
    assert saving is not None
    saved = saving.last()
    assert saved is not None
    bolt.newest.write(*saved)
    bolt.core.driver.flush()
    heads = ((header_of(each), each) for each in bolt.sent)
    acks = [decode_pairs(head, each) for head, each in heads if head.kind == FrameKind.ACK]
    acked = {root for pairs in acks for root in pairs[::2]}
    assert acked == {root for root, _ in roots[: last + 1]}, "the others come again"
    assert Process(SlowSink, tmp_path).component.state.get("at") == last
