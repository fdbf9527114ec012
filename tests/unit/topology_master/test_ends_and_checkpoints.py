"""The tables of the end of a finite run and of a checkpoint."""

from collections.abc import Callable
from typing import Any

import pytest

from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Phase
from heron_core.records import replace
from heron_core.topology import TopologySpec
from heron_core.transitions import Transitions
from heron_core.wire import messages
from heron_engine.topology_master import checkpoints, termination
from heron_engine.topology_master.checkpoints import Checkpoints
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.termination import Ended, Finish, Save, Termination
from tests.transitions_seen import arrows, transitions_seen
from tests.unit.topology_master.test_checkpoints import (
    EXACT,
    OPTIONS,
    Made,
    all_input_is_processed,
    bolts_finish,
    phase,
)
from tests.unit.topology_master.test_master_core import (
    FIRST,
    LAST,
    NOTHING,
    PACKED,
    SPOUT,
    TOPOLOGY,
)

SPOUT_ALONE = replace(TOPOLOGY, components=TOPOLOGY.components[:1])
ALONE = PackingPlan("t", (ContainerPlan(1, (InstancePlan(SPOUT, "spout", 0, NOTHING),), NOTHING),))
WITHOUT_CHECKPOINTS = MasterOptions.of(TOPOLOGY.config)


class Run:
    """The end of a run, whose instances answer as if drained."""

    def __init__(
        self,
        options: MasterOptions = OPTIONS,
        topology: TopologySpec = EXACT,
        packing: PackingPlan = PACKED,
    ) -> None:
        self.end = Termination(topology, packing, options, 0)
        self._packing = packing
        self._now = 0.0

    def input_ends(self) -> None:
        """The spout is finished, and all know it."""
        self.end.spout_finished(SPOUT, True)
        assert self.end.advance() is None

    def next_step(self) -> Finish | Save | Ended | None:
        """Two rounds of probes confirm the drain."""
        for _ in range(2):
            self._now += 1.0
            number = self.end.next_round(self._now)
            assert number is not None
            for task in self._packing.instances:
                self.end.take(messages.QuiescenceReport(task, number, 5, 5, True, 1), self._now)
        step = self.end.advance()
        self.end.validate(self._packing.instances.keys())
        assert not isinstance(step, termination.StopTicks)
        return step

    def save(self, number: int) -> None:
        """A checkpoint is taken."""
        assert self.next_step() == Save()
        self.end.await_checkpoint(number)
        assert self.end.next_round(self._now + 1.0) is None, "probes say nothing of a checkpoint"
        self.end.checkpoint_completed(number)

    def finish_bolts(self) -> None:
        """Level by level."""
        for bolt in (FIRST, LAST):
            assert self.next_step() == Finish(frozenset({bolt}))
            self.end.bolt_finished(bolt)

    def restore(self, awaited: int | None = None) -> Phase:
        """All are restored; returns the phase."""
        self.end.restore(self._packing, awaited)
        self.end.validate(self._packing.instances.keys())
        return self.end.phase


def test_with_checkpoints_the_end_is_saved_before_bolts_finish_and_after_it() -> None:
    run = Run()
    run.input_ends()
    run.save(7)
    run.finish_bolts()
    run.save(8)
    assert run.next_step() == Ended(0)
    assert run.restore() is Phase.ENDED


def test_without_checkpoints_bolts_finish_and_that_is_the_end() -> None:
    run = Run(WITHOUT_CHECKPOINTS, TOPOLOGY)
    run.input_ends()
    run.finish_bolts()
    assert run.next_step() == Ended(0)


@pytest.mark.parametrize(
    ("options", "saved"), [(WITHOUT_CHECKPOINTS, ()), (OPTIONS, (7, 8))], ids=["without", "with"]
)
def test_spouts_alone_have_nothing_to_finish(
    options: MasterOptions, saved: tuple[int, ...]
) -> None:
    run = Run(options, SPOUT_ALONE, ALONE)
    run.input_ends()
    for number in saved:
        run.save(number)
    assert run.next_step() == Ended(0)


def test_a_spout_that_emits_again_takes_the_end_back() -> None:
    run = Run()
    run.input_ends()
    run.end.spout_finished(SPOUT, False)
    assert (run.end.advance(), run.end.phase) == (None, Phase.RUNNING)
    run.input_ends()
    assert run.next_step() == Save()
    run.end.await_checkpoint(7)
    run.end.spout_finished(SPOUT, False)
    assert (run.end.advance(), run.end.phase, run.end.awaited) == (None, Phase.RUNNING, None)


def test_a_restore_leads_to_before_the_end_or_to_the_last_checkpoint() -> None:
    run = Run()
    assert run.restore() is Phase.RUNNING
    assert run.restore(awaited=9) is Phase.COMMITTING
    assert run.restore(awaited=10) is Phase.COMMITTING, "it is restored once more"
    assert run.restore() is Phase.RUNNING, "a person restores an older one"
    run.input_ends()
    run.save(11)
    assert run.next_step() == Finish(frozenset({FIRST}))
    assert run.restore() is Phase.RUNNING
    assert not run.end.finishing, "all levels finish again"
    run.input_ends()
    run.save(12)
    run.finish_bolts()


def test_a_master_that_takes_over_at_the_end_hears_of_the_spouts_before_all_are_restored() -> None:
    before = all_input_is_processed()
    bolts_finish(before)
    before.wait(1.1)
    before.complete(3)
    before.wait(0.1)
    made = Made(before, containers=(1,))
    made.receive(messages.SpoutFinished(SPOUT, True))
    assert phase(made) == "draining"
    made.register(2)
    made.wait(0.1)
    assert (phase(made), made.restore.checkpoint) == ("committing", 3)


ENDS = (
    test_a_master_that_takes_over_at_the_end_hears_of_the_spouts_before_all_are_restored,
    test_with_checkpoints_the_end_is_saved_before_bolts_finish_and_after_it,
    test_without_checkpoints_bolts_finish_and_that_is_the_end,
    lambda: test_spouts_alone_have_nothing_to_finish(WITHOUT_CHECKPOINTS, ()),
    lambda: test_spouts_alone_have_nothing_to_finish(OPTIONS, (7, 8)),
    test_a_spout_that_emits_again_takes_the_end_back,
    test_a_restore_leads_to_before_the_end_or_to_the_last_checkpoint,
)


def begun(is_triggered: bool = True) -> Checkpoints:
    """With number 1 under way."""
    made = Checkpoints(OPTIONS, {}, 1e6)
    made.begin({SPOUT, LAST}, 0.0)
    if is_triggered:
        assert made.stored(1) == [messages.TriggerCheckpoint(1, 1)]
    return made


def store_states(made: Checkpoints, number: int = 1) -> list[checkpoints.Step]:
    """All instances report their states; returns the effects of the last report."""
    made.take(messages.CheckpointStored(SPOUT, number, 10), 0.5)
    steps = made.take(messages.CheckpointStored(LAST, number, 10), 0.5)
    made.validate({SPOUT, LAST})
    return steps


def test_a_state_of_a_checkpoint_that_was_not_triggered_counts_for_nothing() -> None:
    made = begun(is_triggered=False)
    assert store_states(made) == []
    assert made.stored(1) == [messages.TriggerCheckpoint(1, 1)]
    assert store_states(made), "the same, when it is"


def test_a_checkpoint_is_aborted_as_long_as_it_is_not_complete() -> None:
    for made in begun(is_triggered=False), begun():
        assert made.fail(1, "the disk is full", 1.0)
        assert (made.pending, made.failed) == (None, 1)
    made = begun()
    assert store_states(made)
    assert made.is_checking(1)
    made.abandon()
    assert (made.pending, made.newest) == (None, 0)


def test_a_restore_completes_what_is_being_stored_as_complete() -> None:
    made = begun()
    store_states(made)
    made.seen(1.0)
    assert not made.fail(1, "too late", 1.0)
    assert made.late(1e9) is None
    assert made.stored_number == 0
    made.abandon()
    assert (made.pending, made.newest, made.stored_number) == (None, 1, 1)


CHECKPOINTS = (
    test_a_checkpoint_is_aborted_as_long_as_it_is_not_complete,
    test_a_restore_completes_what_is_being_stored_as_complete,
)


@pytest.mark.parametrize(
    ("machine", "ways"),
    [(termination.TRANSITIONS, ENDS), (checkpoints.TRANSITIONS, CHECKPOINTS)],
)
def test_each_arrow_of_the_drawing_is_taken(
    machine: Transitions[Any], ways: tuple[Callable[[], None], ...]
) -> None:
    """A new arrow needs a test here."""
    with transitions_seen() as seen:
        for way in ways:
            way()
    assert {arrow for arrow in seen if arrow.machine == machine.name} == arrows(machine)
