"""Scaling a running topology, as the topology master sees it: three steps, refusals, rollbacks."""

import re
from typing import Any

import pytest

from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    Phase,
    TopologyState,
    packing_to_json,
    physical_from_json,
)
from heron_core.records import replace
from heron_core.topology import ComponentSpec
from heron_core.wire import messages
from heron_engine.topology_master import events
from heron_engine.topology_master.options import BLOCKED_SECS
from heron_engine.topology_master.update.drain import STILL_SECS
from heron_engine.topology_master.update.draining import ASKED_AGAIN_SECS
from heron_engine.topology_master.update.machine import ENDED_AFTER_SECS
from tests.unit.topology_master.test_master_core import (
    FIRST,
    LAST,
    NOTHING,
    PACKED,
    SPOUT,
    Made,
    sent,
)

NEW = 4
ONE, TWO = PACKED.containers
MORE = PackingPlan(
    "t", (*PACKED.containers, ContainerPlan(3, (InstancePlan(NEW, "last", 1, NOTHING),), NOTHING))
)
FEWER = PackingPlan(
    "t", (ContainerPlan(1, (*ONE.instances, InstancePlan(LAST, "last", 0, NOTHING)), NOTHING),)
)
"""One container less: the last bolt moves."""


class Stateless(Made):
    """A master whose instances keep no state: requests of an update are done at once."""

    def handle(self, event: events.Event) -> list[events.Instruction]:
        """One step of the core, and the instances' answers."""
        out = super().handle(event)
        for _, asked in sent(messages.SaveForUpdate, out)[:1]:
            for task in asked.tasks:
                out += self.receive(messages.SavedForUpdate(task, asked.update, 0))
        return out


def ask(made: Made, command: str, **arguments: Any) -> tuple[messages.Reply, list[Any]]:
    """The reply to a command, and all instructions."""
    out = made.receive(messages.Command(command, arguments), b"cli")
    ((_, reply),) = sent(messages.Reply, out)
    return reply, out


def update(made: Made, packing: PackingPlan) -> list[Any]:
    """Begin an accepted update."""
    reply, out = ask(made, "update", packing=packing_to_json(packing))
    assert reply.ok, reply
    return out


def answers(made: Made, *tasks: int, **more: Any) -> list[Any]:
    """The tasks report idle in two rounds of probes, so that all is drained."""
    out = []
    for _ in range(2):
        out += made.wait(0.02)
        for task in tasks:
            counts = {"sent": 0, "processed": 0, "idle": True, "epoch": made.core.epoch, **more}
            out += made.receive(messages.QuiescenceReport(task, made.core.probe_round, **counts))
    return out


def plans(out: list[Any]) -> list[tuple[int, str, set[int]]]:
    """(epoch, state, tasks) of the plans stored."""
    found = [physical_from_json(each.plan) for each in out if isinstance(each, events.StorePlan)]
    return [(each.epoch, each.state, set(each.packing.instances)) for each in found]


def stored_packings(out: list[Any]) -> list[dict[str, Any]]:
    """The packing plans stored."""
    return [each.packing for each in out if isinstance(each, events.StorePacking)]


def step(made: Made) -> tuple[str | None, list[str]]:
    """Step of the update and its wait, as reported to the command line."""
    found = ask(made, "stats")[0].data["update"]
    return found["step"], found["waiting_for"]


def how_it_ended(made: Made) -> tuple[str, str]:
    """Outcome and reason of an update in the newest event."""
    told = ask(made, "stats")[0].data["events"]
    found = [(each["what"], each["why"]) for each in told if " is " in each["what"]]
    return found[-1]


def test_an_added_container_comes_up_while_data_flows_then_the_plan_is_switched() -> None:
    made = Stateless()
    out = update(made, MORE)
    assert stored_packings(out) == [packing_to_json(MORE)]
    assert not plans(out), "the spouts go on until the new container is there"
    assert step(made) == ("containers", ["container 3"])
    out = made.register(3)
    assert plans(out) == [(1, TopologyState.PAUSED, {SPOUT, FIRST, LAST})]
    assert [receiver for receiver, _ in sent(messages.Plan, out)] == [b"1-1", b"2-1"]
    assert step(made) == ("drain", ["spout[0]", "first[0]", "last[0]"])
    out = answers(made, SPOUT, FIRST, LAST)
    assert plans(out) == [(2, TopologyState.PAUSED, {SPOUT, FIRST, LAST, NEW})]
    out = answers(made, SPOUT, FIRST, LAST)
    assert [receiver for receiver, _ in sent(messages.Plan, out)] == [b"1-1", b"2-1", b"3-1"]
    assert step(made) == ("instances", ["last[1]"])
    out = answers(made, NEW)
    assert plans(out) == [(2, TopologyState.RUNNING, {SPOUT, FIRST, LAST, NEW})]
    assert step(made) == (None, [])


def test_spouts_stand_still_until_every_instance_works_by_the_new_plan() -> None:
    # An instance probed before its new plan would send to removed tasks.
    made = Stateless()
    update(made, FEWER)
    answers(made, SPOUT, FIRST, LAST)
    assert made.core.epoch == 2
    assert not plans(answers(made, SPOUT, FIRST, LAST, epoch=1))
    assert plans(answers(made, SPOUT, FIRST, LAST)) == [
        (2, TopologyState.RUNNING, {SPOUT, FIRST, LAST})
    ]


def held_by(
    made: Made, *bolts: int, secs: float = STILL_SECS + 0.1, may_fail: bool = False
) -> list[Any]:
    """Probes find for some time that tuples stand still, and that bolts hold tuples of the spout,
    free to fail at any time."""
    out, until = [], made.now + secs
    while made.now < until:
        out += made.wait(0.02)
        number, epoch = made.core.probe_round, made.core.epoch
        for task in (SPOUT, FIRST, LAST):
            is_spout = task == SPOUT
            report = messages.QuiescenceReport(
                task, number, 0, 0, not is_spout, epoch, is_spout or task in bolts, may_fail
            )
            out += made.receive(report)
    return out


def test_an_update_does_not_wait_for_tuples_in_open_windows_of_others() -> None:
    made = Stateless()
    update(made, FEWER)
    assert not plans(held_by(made, FIRST, secs=STILL_SECS / 2))
    found = [(epoch, state) for epoch, state, _ in plans(held_by(made, FIRST))]
    assert found == [(2, TopologyState.PAUSED), (2, TopologyState.RUNNING)]


def test_an_update_waits_for_tuples_that_are_held_by_whom_it_concerns() -> None:
    made = Stateless()
    update(made, FEWER)
    assert not plans(held_by(made, FIRST, LAST, secs=10.0))
    kept = [
        (f"{each}[0] (its state keeps tuples (open windows, for example))")
        for each in ("first", "last")
    ]
    assert step(made) == ("drain", kept), "and says for whom"
    assert plans(held_by(made, FIRST))[-1][0] == 2


def test_a_paused_topology_is_scaled_and_stays_paused() -> None:
    made = Stateless()
    ask(made, "deactivate")
    update(made, FEWER)
    answers(made, SPOUT, FIRST, LAST)
    assert plans(answers(made, SPOUT, FIRST, LAST))[-1][1] == TopologyState.PAUSED
    assert plans(ask(made, "activate")[1])[-1][1] == TopologyState.RUNNING


def test_what_the_user_wants_meanwhile_holds_afterwards() -> None:
    made = Stateless()
    update(made, MORE)
    made.register(3)
    ask(made, "deactivate")
    answers(made, SPOUT, FIRST, LAST)
    assert plans(answers(made, SPOUT, FIRST, LAST, NEW))[-1][1] == TopologyState.PAUSED


@pytest.mark.parametrize(
    ("packing", "told"),
    [
        (PACKED, "already runs by this plan"),
        (PackingPlan("t", (ONE,)), "components are not the topology's: last"),
        (PackingPlan("other", PACKED.containers), "the packing plan is of 'other'"),
        (PackingPlan("t", (*PACKED.containers, ContainerPlan(3, (), NOTHING))), "without inst"),
        (
            PackingPlan("t", (ONE, ContainerPlan(2, (
                InstancePlan(LAST, "last", 1, NOTHING),), NOTHING))),
            r"task 3 is last\[0\] in the running plan: a plan must not change the place of a task",
        ),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_is_refused(packing: PackingPlan, told: str) -> None:
    reply, out = ask(Stateless(), "update", packing=packing_to_json(packing))
    assert not reply.ok
    assert re.search(told, reply.data["error"]), reply.data
    assert not stored_packings(out)


def test_a_second_update_is_refused_while_one_is_under_way() -> None:
    made = Stateless()
    update(made, MORE)
    reply, _ = ask(made, "update", packing=packing_to_json(FEWER))
    assert reply.data["error"] == "an update of t is under way: wait until it is done"


def test_without_its_containers_an_update_is_aborted() -> None:
    # The cluster has no room.
    made = Stateless()
    update(made, MORE)
    out = made.wait(made.core.options.reactivate_wait_secs + 1)
    assert stored_packings(out) == [packing_to_json(PACKED)]
    found = ask(made, "stats")[0].data["update"]
    assert not found["under_way"]
    assert found["reason"] == "container 3 did not come up within 600 s"
    assert not plans(out), "nothing was paused"
    assert not sent(messages.RegistrationRejected, made.register(3)), (
        "it is left in peace until it is ended"
    )


def test_without_an_update_there_is_none_to_cancel() -> None:
    reply = ask(Stateless(), "cancel", reason="a mistake")[0]
    assert not reply.ok
    assert "no update of t is under way" in reply.data["error"]


def test_a_cancelled_update_lets_the_spouts_go_on() -> None:
    made = Stateless()
    update(made, MORE)
    made.register(3)
    out = ask(made, "cancel", reason="Aurora gave it another number")[1]
    assert plans(out) == [(1, TopologyState.RUNNING, {SPOUT, FIRST, LAST})]
    assert stored_packings(out) == [packing_to_json(PACKED)]
    assert how_it_ended(made) == ("update 1 is cancelled", "Aurora gave it another number")


def test_an_update_that_is_cancelled_while_containers_start_has_paused_no_spout() -> None:
    made = Made()
    update(made, MORE)
    out = ask(made, "cancel", reason="a mistake")[1]
    assert not plans(out)
    assert stored_packings(out) == [packing_to_json(PACKED)]


def test_a_container_left_of_an_update_that_was_aborted_is_not_taken_for_the_next_ones() -> None:
    # It has the instances of the first update. The manager was known and never registered again, so
    # the second update waited for ten minutes (simulation, seeds 52099 and 53493).
    made = Stateless()
    update(made, MORE)
    made.register(3)
    ask(made, "cancel", reason="no room")
    made.receive(messages.Heartbeat(3, {"waiting_bytes": {}}, {}, {}), b"3-1")
    reply = ask(made, "update", packing=packing_to_json(MORE))[0]
    assert not reply.ok
    assert "container 3 of the update before has not ended yet" in str(reply.data)
    made.wait(ENDED_AFTER_SECS)
    assert ask(made, "update", packing=packing_to_json(MORE))[0].ok


def test_new_code_that_cannot_begin_leaves_the_old_one() -> None:
    made = Stateless()
    instances = (InstancePlan(NEW, "last", 0, NOTHING),)
    spec = made.core._life.topology
    new_code = PackingPlan(
        "t", (ONE, ContainerPlan(TWO.id, instances, NOTHING)), replace(spec, main_file="second.py")
    )
    update(made, new_code)
    assert (max(PACKED.instances), max(new_code.instances)) == (LAST, NEW)
    answers(made, SPOUT, FIRST, LAST)
    assert step(made) == ("instances", ["spout[0]", "first[0]", "last[0]"])
    made.receive(messages.InstanceFailed(FIRST, "it was killed"))  # that one is no matter of ours
    out = made.receive(messages.InstanceFailed(NEW, "no module called words"))
    # With its code: a process started meanwhile knows only the new code.
    assert stored_packings(out) == [packing_to_json(replace(PACKED, changed=spec))]
    assert plans(made.wait(0.02)) == [(3, TopologyState.PAUSED, {SPOUT, FIRST, LAST})]
    out = answers(made, SPOUT, FIRST, LAST)
    assert plans(out)[-1][1] == TopologyState.RUNNING
    reason = "last[0]: no module called words"
    assert f"update: rolled back: {reason}" in [
        each.text for each in out if isinstance(each, events.MasterLog)
    ]
    assert how_it_ended(made) == ("update 1 is rolled back", reason)
    told = ask(made, "stats")[0].data["update"]
    assert (told["under_way"], told["reason"]) == (False, reason)
    reply, _ = ask(made, "update", packing=packing_to_json(new_code))
    assert reply.ok, "it may be tried again"


def test_a_spout_that_goes_is_never_ended_with_tuples_in_flight() -> None:
    # A replay would be impossible.
    moved = PackingPlan("t", (
        ContainerPlan(1, (InstancePlan(FIRST, "first", 0, NOTHING),), NOTHING),
        ContainerPlan(2, (InstancePlan(SPOUT, "spout", 0, NOTHING), *TWO.instances), NOTHING),
    ))  # fmt: skip
    made = Stateless()
    update(made, moved)
    answers(made, SPOUT, idle=False)
    out = made.wait(made.core.options.deactivate_wait_secs + 1)
    reason = ask(made, "stats")[0].data["update"]["reason"]
    assert reason == "spout[0] still had tuples in flight after 60 s"
    assert plans(out) == [(1, TopologyState.RUNNING, {SPOUT, FIRST, LAST})]


def test_a_bolt_that_keeps_tuples_does_not_hold_an_update_up_for_ever() -> None:
    made = Stateless()
    update(made, FEWER)
    answers(made, FIRST, LAST)
    answers(made, SPOUT, idle=False)
    out = made.wait(made.core.options.deactivate_wait_secs + 1)
    assert plans(out) == [(2, TopologyState.PAUSED, {SPOUT, FIRST, LAST})]


def test_a_master_that_takes_over_goes_on_before_and_after_the_switch() -> None:
    first = Stateless()
    out = update(first, MORE)
    told = {"state": "RUNNING", "update": _update_of(out)}
    plan = physical_from_json(first.stored_plan)
    second = Stateless(registered=False, previous=plan, execution=told, packing=MORE)
    for container in (1, 2, 3):
        second.register(container)
    out = answers(second, SPOUT, FIRST, LAST)
    assert plans(out)[-1] == (2, TopologyState.PAUSED, {SPOUT, FIRST, LAST, NEW})
    told = {"state": "RUNNING", "update": _update_of(out)}
    plan = physical_from_json(second.stored_plan)
    third = Stateless(registered=False, previous=plan, execution=told, packing=MORE)
    out = []
    for container in (1, 2, 3):
        out += third.register(container)
    assert {state for _, state, _ in plans(out)} <= {TopologyState.PAUSED}
    out = answers(third, SPOUT, FIRST, LAST, NEW)
    assert plans(out) == [(2, TopologyState.RUNNING, {SPOUT, FIRST, LAST, NEW})]


def _update_of(out: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = [each for each in out if isinstance(each, events.StoreState)][-1].update
    return found


def test_counts_that_ended_instances_take_along_are_no_loss() -> None:
    # The moving bolt had processed 10 tuples; its successor counts from zero.
    made = Stateless()
    update(made, FEWER)
    for processed, times in ((10, 2), (0, 2)):
        rounds_of(made, processed, times)
    made.receive(messages.SpoutFinished(SPOUT, True))
    rounds_of(made, 0, 3)
    assert made.core.phase is Phase.FINISHING
    assert made.core.lost == 0


def test_a_master_that_cannot_write_to_the_state_store_has_no_instance_ended() -> None:
    # Another master may have taken over with the plan before, and would not know what the ended
    # instances had counted (simulation, seed 20413).
    made = Stateless()
    update(made, FEWER)
    out = answers(made, SPOUT, FIRST, LAST)
    assert plans(out) == [(2, TopologyState.PAUSED, {SPOUT, FIRST, LAST})]
    out += made.handle(events.MasterTimer(stored=False))
    out += made.register(1)
    out += ask(made, "deactivate")[1]
    assert not sent(messages.Plan, out)
    ((receiver, message),) = sent(messages.Plan, made.handle(events.MasterTimer(stored=True)))
    assert receiver == b"1-1"
    assert physical_from_json(message.plan).packing == FEWER
    assert not sent(messages.Plan, made.handle(events.MasterTimer(stored=True)))


def rounds_of(made: Made, processed: int, times: int) -> None:
    """Probes find that the spout and the first bolt have sent 10, and the last has got so many."""
    for _ in range(times):
        made.wait(0.02)
        number, epoch = made.core.probe_round, made.core.epoch
        for task, emitted, received in ((SPOUT, 10, 0), (FIRST, 10, 10), (LAST, 0, processed)):
            made.receive(messages.QuiescenceReport(task, number, emitted, received, True, epoch))


def saving() -> Made:
    """A topology whose instances save their states, about to move the last bolt."""
    made = Made()
    update(made, FEWER)
    answers(made, SPOUT, FIRST, LAST)
    assert step(made) == ("save", ["last[0]"])
    return made


def test_who_moves_saves_its_state_before_the_plan_is_switched() -> None:
    made = saving()
    assert made.core.epoch == 1
    made.receive(messages.SavedForUpdate(FIRST, 1, 0))  # it stays
    assert made.core.epoch == 1
    (again, *_) = sent(messages.SaveForUpdate, made.wait(ASKED_AGAIN_SECS + 0.1))
    assert again[1] == messages.SaveForUpdate(1, 1, (LAST,))
    assert plans(made.receive(messages.SavedForUpdate(LAST, 1, 0)))[-1][0] == 2
    assert plans(answers(made, SPOUT, FIRST, LAST))[-1][1] == TopologyState.RUNNING


def test_a_state_that_cannot_be_saved_leaves_the_old_plan() -> None:
    made = saving()
    out = made.receive(messages.NotSavedForUpdate(LAST, 1, "no space is left"))
    assert plans(out) == [(1, TopologyState.RUNNING, {SPOUT, FIRST, LAST})]
    reason = ask(made, "stats")[0].data["update"]["reason"]
    assert reason == f"the state of task {LAST} is not saved: no space is left"


def reports(made: Made, secs: float, paused: frozenset[int], busy: frozenset[int]) -> list[Any]:
    """Probes find for some time instances under back-pressure, and unfinished ones."""
    out, until = [], made.now + secs
    while made.now < until:
        out += made.wait(0.1)
        number, epoch = made.core.probe_round, made.core.epoch
        for task in made.core.packing.instances:
            out += made.receive(
                messages.QuiescenceReport(
                    task, number, 9, 5, task not in busy, epoch, paused=task in paused
                )
            )
    return out


def test_an_update_does_not_wait_for_a_slow_bolt_that_back_pressure_stands_before() -> None:
    made = Stateless()
    update(made, FEWER)
    held, busy = frozenset({FIRST}), frozenset({FIRST, LAST})
    assert not plans(reports(made, BLOCKED_SECS - 0.5, held, busy))
    out = reports(made, 1.0, held, busy)
    assert plans(out)[0][:2] == (2, TopologyState.PAUSED)
    (told,) = [
        each.text for each in out if isinstance(each, events.MasterLog) if "held" in each.text
    ]
    assert told.startswith("update: back-pressure still held first[0] after 6 s: proceeding")
    (done,) = [
        each for each in ask(made, "stats")[0].data["events"] if each["what"].endswith("is done")
    ]
    assert "back-pressure still held first[0]" in done["why"]


def test_an_update_waits_for_a_slow_bolt_that_nothing_stands_before() -> None:
    made = Stateless()
    update(made, FEWER)
    assert not plans(reports(made, 3 * BLOCKED_SECS, frozenset(), frozenset({LAST})))


def test_an_update_waits_for_the_tuples_of_a_spout_that_it_ends() -> None:
    made = Stateless()
    update(made, PackingPlan("t", (replace(TWO, instances=(*ONE.instances, *TWO.instances)),)))
    held = frozenset({FIRST})
    assert not plans(reports(made, 3 * BLOCKED_SECS, held, frozenset({SPOUT, FIRST, LAST})))


def test_the_plan_says_since_when_a_component_has_other_tasks() -> None:
    made = Stateless()
    update(made, MORE)
    made.register(3)
    out = answers(made, SPOUT, FIRST, LAST)
    (plan,) = [each.plan for each in out if isinstance(each, events.StorePlan)]
    assert physical_from_json(plan).rescaled == {"last": 2}


def test_new_code_with_one_more_component_saves_no_state() -> None:
    """No process ends, and no key has another task."""
    made = Made()
    spec = made.core._life.topology
    added = ComponentSpec("added", False, "m.B", 1)
    new_code = PackingPlan(
        "t",
        (ONE, replace(TWO, instances=(*TWO.instances, InstancePlan(NEW, "added", 0, NOTHING)))),
        replace(spec, components=(*spec.components, added)),
    )
    update(made, new_code)
    assert plans(answers(made, SPOUT, FIRST, LAST))[-1][0] == 2
    assert plans(answers(made, SPOUT, FIRST, LAST, NEW))[-1][1] == TopologyState.RUNNING
