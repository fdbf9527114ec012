"""The stream manager's control plane: registrations, processes that died, plans, its master."""

from typing import Any

import pytest

from heron_core.exit_codes import FINAL_CODES, ExitCode, describe_end
from heron_core.records import replace
from heron_core.transition_log import STEPS_MAX
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, header, with_consumed
from heron_engine.stream_manager import events
from heron_engine.stream_manager.core import MALFORMED_LOG_SECS
from tests.unit.stream_manager.manager_support import (
    FAR,
    NEAR,
    PACKED,
    ROOT,
    SPOUT,
    TOPOLOGY,
    Manager,
    ack,
    batch,
    fill,
    manager,
    of_type,
)


def control(instructions: list[events.Instruction], task: int) -> list[object]:
    sent = of_type(events.ToLocalControl, instructions)
    return [each.message for each in sent if each.task == task]


def test_a_newcomer_gets_the_plan_and_a_stranger_nothing() -> None:
    made = Manager(TOPOLOGY, PACKED)
    told = control(made.hello(SPOUT), SPOUT)
    assert [type(each) for each in told] == [messages.Pause, messages.Plan]
    assert made.hello(SPOUT) == []
    assert of_type(events.ToLocalControl, made.hello(99)) == []


def test_who_was_served_by_a_dead_stream_manager_is_asked_for_its_name() -> None:
    made = manager(introduced=False)
    beat = messages.InstanceHeartbeat(SPOUT, {"incarnation": 5})
    out = made.control(SPOUT, beat, 5)
    assert out == [events.ToLocalControl(SPOUT, 5, messages.Resync())]
    made.hello(SPOUT, incarnation=5)
    assert made.control(SPOUT, beat, 5) == []


def test_of_two_processes_of_a_task_one_ends_also_at_a_new_stream_manager() -> None:
    # Found by the simulation (seed 10052): a process stopped and replaced under the previous stream
    # manager was not known as superseded here, and sent tuples for ever.
    made = manager(introduced=False)
    made.hello(SPOUT, incarnation=6)
    beat = messages.InstanceHeartbeat(SPOUT, {"incarnation": 5})
    assert made.control(SPOUT, beat, 5) == [events.ToLocalControl(SPOUT, 5, messages.Resync())]
    made.hello(SPOUT, incarnation=5)
    (order,) = made.control(SPOUT, beat, 6)
    assert isinstance(order, events.ToLocalControl)
    assert type(order.message) is messages.Superseded
    assert order.incarnation == 6
    assert made.core.statistics()["superseded"] == 1


def test_its_story_says_what_happened() -> None:
    # For the question why an instance was paused: registrations, plans and causes are logged.
    made = manager()
    fill(made, NEAR)
    steps = made.core.transition_log().steps
    assert [step.cause.partition(" ")[0] for step in steps] == [
        "plan", "registered", "registered", "cause",
    ]  # fmt: skip
    assert str(steps[-1]) == f"0.000 cause task={NEAR}"


def test_a_story_is_bounded() -> None:
    made = manager()
    for epoch in range(2, 2 * STEPS_MAX):
        made.plan(epoch)
    assert len(made.core.transition_log().steps) == STEPS_MAX


def test_a_packet_of_another_kind_is_refused_and_counted() -> None:
    # ACKED goes to spouts only.
    made = manager()
    (log,) = made.peer([header(FrameKind.ACKED, 1, 1, 1, 0), b""])
    assert isinstance(log, events.StreamManagerLog)
    assert made.core.statistics()["malformed"] == 1
    assert any("malformed" in str(step) for step in made.core.transition_log().steps)


def test_garbage_that_comes_for_ever_is_counted_and_told_of_once_a_minute() -> None:
    # A scanner of ports, or a peer of another release: the log is not for each of its frames.
    made = manager()
    told = []
    for made.now in (10.0, 11.0, 10.0 + MALFORMED_LOG_SECS):
        told += [made.now for _ in of_type(events.StreamManagerLog, made.peer([b"nonsense"]))]
    assert told == [10.0, 10.0 + MALFORMED_LOG_SECS]
    assert made.core.statistics()["malformed"] == 3


def test_a_newcomer_answers_the_wave_and_finishes_like_the_others() -> None:
    # A bolt is replaced while the end of the run is near: the master must not wait for ever.
    made = manager()
    made.handle(events.FromMaster(messages.QuiescenceProbe(4)))
    made.handle(events.FromMaster(messages.FinishBolts((NEAR, FAR))))
    told = control(made.hello(NEAR, incarnation=2), NEAR)
    assert messages.QuiescenceProbe(4) in told
    assert messages.FinishBolts((NEAR,)) in told
    made.control(NEAR, messages.BoltFinished(NEAR), 2)
    assert messages.FinishBolts((NEAR,)) not in control(made.hello(NEAR, incarnation=3), NEAR)


def test_answers_to_a_probe_leave_behind_one_heartbeat() -> None:
    # Near the end each of two hundred instances answers fifty probes a second; the stream manager's
    # total counts are not computed for each.
    made = manager()
    answers = [messages.QuiescenceReport(task, 4, 10, 10, True, 1) for task in (SPOUT, NEAR)]
    beats = [messages.InstanceHeartbeat(each.task, {"emitted": each.task}) for each in answers]
    finished = messages.BoltFinished(NEAR)
    arrived: list[Any] = [*beats, *answers, finished, answers[1]]
    out = made.handle(*(events.FromInstanceControl(each.task, 1, each) for each in arrived))
    told = [each.message for each in of_type(events.ToMaster, out)]
    first, *between, newest, last = told
    assert first.instances == {SPOUT: {"emitted": SPOUT}, NEAR: {"emitted": NEAR}}
    assert between == [*answers, finished]
    assert newest.instances == {NEAR: {"emitted": NEAR}}
    assert last == answers[1]


def test_a_silent_master_is_looked_up_again() -> None:
    made = manager(planned=False)
    assert made.handle(events.MasterConnected()) == [events.ToMaster(made.identity)]
    made.now = 2.9
    assert not of_type(events.FindMaster, made.handle(events.StreamManagerTimer()))
    made.now = 3.1
    assert of_type(events.FindMaster, made.handle(events.StreamManagerTimer()))
    made.now = 9.0
    assert not of_type(events.FindMaster, made.handle(events.StreamManagerTimer()))


def test_a_refusal_ends_the_process_with_its_reason() -> None:
    (told,) = manager(planned=False).handle(
        events.FromMaster(messages.RegistrationRejected("pid 7 on host has it"))
    )
    assert isinstance(told, events.StreamManagerExit)
    assert "pid 7 on host has it" in told.reason
    assert told.code == ExitCode.UNSTARTED, "the one that has it may be about to end"


def test_a_stream_manager_that_was_replaced_while_its_host_hung_ends_its_container() -> None:
    made = manager(planned=False)
    made.handle(events.FromMaster(messages.HeartbeatAck()))
    (told,) = made.handle(events.FromMaster(messages.RegistrationRejected("pid 7 on host has it")))
    assert isinstance(told, events.StreamManagerExit)
    assert told.code == ExitCode.SUPERSEDED
    assert told.code not in FINAL_CODES, "the container is started again, should it be wanted"


@pytest.mark.parametrize(
    ("before", "code"),
    [
        ("was killed by signal 6 (SIGABRT)", ExitCode.SUPERSEDED),
        (describe_end(ExitCode.UNSTARTED, "the topology master refused us"), ExitCode.UNSTARTED),
    ],
)
def test_one_that_died_as_it_woke_up_has_a_successor_that_ends_the_container(
    before: str, code: ExitCode
) -> None:
    """The successor was never accepted; a refused process is unknown."""
    made = Manager(TOPOLOGY, PACKED, planned=False, predecessor=before)
    made.handle(events.MasterConnected())
    told = made.handle(events.FromMaster(messages.RegistrationRejected("pid 7 on host has it")))
    assert [each.code for each in of_type(events.StreamManagerExit, told)] == [code]


def test_a_zombie_is_told_to_end_and_not_listened_to() -> None:
    # A stopped process (SIGSTOP, a sleeping laptop) wakes up after its replacement.
    made = manager()
    made.hello(NEAR, incarnation=2)
    out = made.data(batch(FAR), NEAR, incarnation=1)
    assert [type(each.message) for each in of_type(events.ToLocalControl, out)] == [
        messages.Superseded
    ]
    assert not of_type(events.ToPeer, out)
    assert made.data(batch(FAR), NEAR, incarnation=2)
    assert made.hello(NEAR, incarnation=1) == out


def test_consumed_reports_ride_on_any_message() -> None:
    made = manager()
    for _ in range(2):
        made.data(batch(NEAR, 100), SPOUT)
    told = ack(SPOUT, ROOT, 1)
    told[0] = with_consumed(told[0], 2)
    made.data(told, NEAR)
    assert made.core.statistics()["waiting_bytes"][NEAR] == 0


def test_the_master_hears_how_a_process_ended_and_what_it_took_along() -> None:
    """kill -9 of a bolt: its successor knows the signal, its stream manager the lost tuples."""
    made = Manager(TOPOLOGY, PACKED)
    made.hello(NEAR)
    made.data(batch(NEAR))
    made.consumed(NEAR, 1)
    made.data(batch(NEAR, roots=[(SPOUT << 44) + 1]))
    hello = messages.RegisterInstance(
        task=NEAR, incarnation=2, pid=1, predecessor="was killed by signal 9 (SIGKILL)"
    )
    made.now += 10.0
    made.handle(events.StreamManagerTimer())
    assert not to_master(made.control(NEAR, hello, 2)), "there is no master yet"
    told = to_master(made.handle(events.MasterConnected()))
    assert told[1:] == [messages.InstanceReplaced(NEAR, hello.predecessor, 0, 1)]
    made.data(batch(NEAR))
    (replaced,) = to_master(made.control(NEAR, replace(hello, incarnation=3), 3))
    assert (replaced.lost, replaced.failed) == (1, 0)
    again = to_master(made.handle(events.MasterConnected()))
    assert len(again) == 1, "it is told once"
    assert not to_master(made.handle(events.MasterConnected(registers=False)))


def test_what_the_master_missed_is_sent_when_it_is_reached_again() -> None:
    made = Manager(TOPOLOGY, PACKED)
    made.hello(NEAR)
    made.handle(events.MasterConnected())
    made.handle(events.MasterReplaced())
    died = messages.RegisterInstance(task=NEAR, incarnation=2, pid=1, predecessor="was killed")
    assert not to_master(made.control(NEAR, died, 2)), "the master is looked for"
    told = to_master(made.handle(events.MasterConnected(registers=False)))
    assert told == [messages.InstanceReplaced(NEAR, died.predecessor, 0, 0)]


def to_master(out: list[events.Instruction]) -> list[Any]:
    return [each.message for each in out if isinstance(each, events.ToMaster)]
