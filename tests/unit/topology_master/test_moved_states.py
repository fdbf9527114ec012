"""An update with state migration in a topology without checkpoints: the topology master's waits,
the plan, and the rollback."""

from typing import Any

from heron_core.plans import MovedStates, PackingPlan, TopologyState, physical_from_json
from heron_core.records import replace
from heron_core.wire import messages
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.update.moved_states import moving
from tests.unit.topology_master.test_master_core import (
    FIRST,
    LAST,
    OPTIONS,
    PACKED,
    SPOUT,
    Made,
    sent,
)
from tests.unit.topology_master.test_rescale import (
    FEWER,
    MORE,
    NEW,
    ONE,
    TWO,
    _update_of,
    answers,
    ask,
    held_by,
    plans,
    step,
    update,
)

MOVED = MovedStates(1, (LAST,), {"last": (LAST,)})
REASON = "last: the store is away"


def saved(size_bytes: int = 100, options: MasterOptions = OPTIONS) -> tuple[Made, list[Any]]:
    """A topology with an update to one more of the last bolt, the state saved."""
    made = Made(options=options)
    update(made, MORE)
    made.register(3)
    answers(made, SPOUT, FIRST, LAST)
    assert step(made) == ("save", ["last[0]"])
    return made, made.receive(messages.SavedForUpdate(LAST, 1, size_bytes))


def asked(out: list[Any]) -> list[tuple[bool, set[int]]]:
    """Whether tasks are to defer `fail`, or else to save their states, with the tasks."""
    wanted = (messages.DeferFails, messages.SaveForUpdate)
    found = [each for kind in wanted for _, each in sent(kind, out)]
    return [(isinstance(each, messages.DeferFails), set(each.tasks)) for each in found[:1]]


def test_open_windows_fail_their_tuples_when_the_spouts_defer_fail() -> None:
    """At once, and replays of a spout go by the new plan."""
    made = Made()
    update(made, MORE)
    made.register(3)
    out = held_by(made, LAST, may_fail=True)
    assert asked(out) == [(True, {SPOUT})]
    assert made.stored_plan["is_updated"]
    assert step(made) == ("save", ["spout[0]"])
    assert asked(made.receive(messages.FailsDeferred(SPOUT, 1))) == [(False, {LAST})]
    assert not plans(made.wait(0.1))
    assert made.receive(messages.SavedForUpdate(LAST, 1, 0))
    assert made.core.epoch == 2
    answers(made, SPOUT, FIRST, LAST, NEW)
    assert made.core.update_stage is None
    assert "is_updated" not in made.stored_plan


def test_a_spout_that_ends_waits_for_the_outcome_of_its_tuples() -> None:
    """Only this spout can replay."""
    made = Made()
    moved = replace(FEWER, containers=(replace(TWO, instances=(*TWO.instances, *ONE.instances)),))
    update(made, moved)
    held_by(made, LAST, may_fail=True, secs=10.0)
    assert step(made)[0] == "drain"


def test_a_kill_amid_an_update_ends_the_deferral() -> None:
    made = Made()
    update(made, MORE)
    made.register(3)
    held_by(made, LAST, may_fail=True)
    made.receive(messages.FailsDeferred(SPOUT, 1))
    made.receive(messages.SavedForUpdate(LAST, 1, 0))
    assert made.stored_plan["is_updated"]
    ask(made, "drain")
    assert "is_updated" not in made.stored_plan


def moved_of(made: Made) -> MovedStates | None:
    """State of the plan in the state store."""
    return physical_from_json(made.stored_plan).moved


def restored(made: Made, *tasks: int) -> list[Any]:
    """The tasks have their states by the newest plan."""
    out = answers(made, SPOUT, FIRST, LAST, NEW)
    for task in tasks:
        out += made.receive(messages.Restored(task, 7, made.core.epoch))
    return out + made.wait(0.1)


def test_the_spouts_stand_still_until_all_have_their_part_of_what_was_saved() -> None:
    made, out = saved()
    assert plans(out) == [(2, TopologyState.PAUSED, {SPOUT, FIRST, LAST, NEW})]
    assert moved_of(made) == MOVED
    made.wait(0.1)
    assert not plans(restored(made, LAST))
    assert step(made) == ("instances", ["last[1]"])
    made.receive(messages.Restored(NEW, 7, 1))  # by the plan before
    assert step(made) == ("instances", ["last[1]"])
    assert plans(restored(made, NEW)) == [(2, TopologyState.RUNNING, {SPOUT, FIRST, LAST, NEW})]
    assert moved_of(made) is None


def test_where_nobody_keeps_state_nothing_moves() -> None:
    made, out = saved(size_bytes=0)
    assert plans(out)[0][0] == 2
    assert moved_of(made) is None
    assert plans(answers(made, SPOUT, FIRST, LAST, NEW))[-1][1] == TopologyState.RUNNING


def test_who_cannot_have_its_part_takes_all_back_to_what_they_had() -> None:
    made, _ = saved()
    made.wait(0.1)
    made.receive(messages.RestoreFailed(NEW, made.core.epoch, REASON))
    made.wait(0.1)
    plan = physical_from_json(made.stored_plan)
    assert (plan.packing, plan.moved, plan.state) == (PACKED, MOVED, TopologyState.PAUSED)
    assert plans(restored(made, LAST)) == [(3, TopologyState.RUNNING, {SPOUT, FIRST, LAST})]
    assert moved_of(made) is None
    assert ask(made, "stats")[0].data["update"]["reason"] == REASON


def test_who_is_late_with_its_part_takes_all_back_to_what_they_had() -> None:
    made, _ = saved(options=replace(OPTIONS, reactivate_wait_secs=20.0))
    restored(made, LAST)
    made.wait(21.0)
    plan = physical_from_json(made.stored_plan)
    assert (plan.packing, plan.moved, plan.state) == (PACKED, MOVED, TopologyState.PAUSED)
    assert plans(restored(made, LAST)) == [(3, TopologyState.RUNNING, {SPOUT, FIRST, LAST})]
    assert ask(made, "stats")[0].data["update"]["reason"] == "last[1] without state after 20 s"


def successor(made: Made, out: list[Any], packing: PackingPlan) -> Made:
    """The master that takes over, with the state store's content."""
    told = {"state": "RUNNING", "update": _update_of(out)}
    previous = physical_from_json(made.stored_plan)
    after = Made(False, packing, previous=previous, execution=told)
    after.stored_plan = made.stored_plan
    for container in (1, 2, 3):
        after.register(container)
    return after


def test_the_next_master_goes_on_with_what_was_saved() -> None:
    made, out = saved()
    made = successor(made, out, MORE)
    assert moved_of(made) == MOVED
    assert not plans(restored(made, LAST))
    out = made.receive(messages.RestoreFailed(NEW, made.core.epoch, REASON))
    made = successor(made, out, PACKED)  # which rolls back
    made.wait(0.1)
    plan = physical_from_json(made.stored_plan)
    assert (plan.packing, plan.moved) == (PACKED, MOVED)
    assert plans(restored(made, LAST))[-1][1] == TopologyState.RUNNING


def test_those_save_whose_process_ends_or_whose_component_has_other_tasks() -> None:
    assert moving(PACKED, MORE) == {LAST}
    assert moving(MORE, PACKED) == {LAST, NEW}
    assert moving(PACKED, FEWER) == {LAST}
    assert moving(PACKED, PACKED) == set()
