"""Decisions of a supervisor, without processes: the clock and the operating system are a fake."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from heron_core.algorithms.backoff import EXCUSED_EVERY_SECS, PAUSE_SECS_MAX, START_LIMIT, UNLIMITED
from heron_core.exit_codes import ExitCode
from heron_core.plans import MIB
from heron_core.records import replace
from heron_core.transition_log import STEPS_MAX
from heron_engine.scheduler.container.process_state import ProcessPhase
from heron_engine.scheduler.container.supervisor_core import (
    RELOAD_RETRY_SECS,
    TIMER_SECS,
    SupervisorCore,
)
from heron_engine.scheduler.container.supervisor_events import (
    CameUp,
    Event,
    Instruction,
    KillProcess,
    MemoryMeasured,
    ProcessEnded,
    ProcessHeartbeat,
    ProcessPlanChanged,
    ProcessSpec,
    ProcessStarted,
    ProtocolBroken,
    ReadSpecs,
    SpecsChanged,
    SpecsUnknown,
    StartProcess,
    Stop,
    SupervisorExit,
    SupervisorLog,
    SupervisorOutcome,
    SupervisorTimer,
    TerminateProcess,
)
from heron_io.processes import SupervisorLink

SILENT_SECS = 15.0
SHUTDOWN_SECS = 3.0
RESTARTS = 2
TERMINATED = SupervisorOutcome(0, "SIGTERM")


def _never_run(link: SupervisorLink) -> int:
    raise AssertionError("nothing is forked here")


def spec(name: str, *final_codes: int) -> ProcessSpec:
    codes = frozenset(final_codes)
    return ProcessSpec(name, name, _never_run, SHUTDOWN_SECS, killed_with_parent=True,
                       final_codes=codes)  # fmt: skip


@dataclass
class Machine:
    """Carries out and notes the core's instructions; every started process runs until ended by a
    test."""

    core: SupervisorCore
    now: float = 100.0
    done: list[Instruction] = field(default_factory=list)
    """Since it was last asked, without lines for the log."""
    logged: list[str] = field(default_factory=list)
    _pids: int = 0

    def does(self, event: Event, after_secs: float = 0.0) -> list[Instruction]:
        """Actions of the core after an event, starts included."""
        self.now += after_secs
        self.done = []
        self._handle(event)
        return self.done

    def _handle(self, event: Event) -> None:
        instructions = self.core.handle(event, self.now)
        for instruction in instructions:
            if isinstance(instruction, SupervisorLog):
                self.logged.append(instruction.text)
                continue
            self.done.append(instruction)
            if isinstance(instruction, StartProcess):
                self._pids += 1
                self._handle(ProcessStarted(instruction.spec.name, self._pids))
        self.core.validate()

    def passes(self, secs: float, *alive: str) -> list[Instruction]:
        """Time passes second by second, and the given processes send heartbeats; returns the
        actions."""
        done: list[Instruction] = []
        until = self.now + secs
        while self.now < until:
            for name in alive:
                done += self.does(ProcessHeartbeat(name))
            done += self.does(SupervisorTimer(), min(TIMER_SECS, until - self.now))
        return done

    @property
    def phases(self) -> dict[str, ProcessPhase]:
        """name -> where it is."""
        return {each.name: each.phase for each in self.core.statistics()}


def running(*specs: ProcessSpec) -> Machine:
    """A supervisor whose processes all run."""
    machine = Machine(SupervisorCore(specs, RESTARTS, SILENT_SECS))
    assert machine.does(SupervisorTimer()) == [StartProcess(each) for each in specs]
    return machine


def starts(instructions: Sequence[Instruction]) -> list[str]:
    """Names of started processes."""
    return [each.spec.name for each in instructions if isinstance(each, StartProcess)]


# --- restarts -----------------------------------------------------------------------------------


def test_a_process_that_crashes_once_is_back_at_once() -> None:
    # A bolt hits a bad record in the night: at the least possible cost.
    machine = running(spec("manager"), spec("bolt"))
    assert starts(machine.does(ProcessEnded("bolt", 1, "KeyError"))) == ["bolt"]
    assert "bolt ended with exit code 1: KeyError" in machine.logged


def test_the_second_time_it_waits() -> None:
    machine = running(spec("manager"), spec("bolt"))
    machine.does(ProcessEnded("bolt", 1))
    assert machine.does(ProcessEnded("bolt", 1)) == []
    assert 0.0 < machine.core.timeout_secs(machine.now) < TIMER_SECS
    assert starts(machine.does(SupervisorTimer(), machine.core.timeout_secs(machine.now))) == [
        "bolt"
    ]


def test_one_that_keeps_ending_ends_the_supervisor() -> None:
    # A bolt without a connection to its database: its error is the reason of the whole end.
    machine = running(spec("manager"), spec("bolt"))
    machine.does(ProcessEnded("bolt", 1, "no database"))
    machine.does(ProcessEnded("bolt", 1, "no database"))
    machine.does(SupervisorTimer(), 1.0)
    assert machine.does(ProcessEnded("bolt", 1, "no database")) == [TerminateProcess("manager")]
    reason = "bolt ended 3 times in a row: no database"
    assert machine.does(ProcessEnded("manager", 0)) == [
        SupervisorExit(SupervisorOutcome(ExitCode.TOPOLOGY_FAILED, reason))
    ]


def test_one_that_says_nothing_is_described_by_its_signal() -> None:
    machine = running(spec("only"))
    for _ in range(RESTARTS):
        machine.does(ProcessEnded("only", -11))
        machine.does(SupervisorTimer(), 1.0)
    (end,) = machine.does(ProcessEnded("only", -11))
    assert end == SupervisorExit(
        SupervisorOutcome(
            ExitCode.TOPOLOGY_FAILED,
            "only ended 3 times in a row: most recently it was killed by signal 11 (SIGSEGV)",
        )
    )


def test_a_stream_manager_that_was_frozen_and_aborts_once_is_no_failure() -> None:
    """libzmq aborts at times. Repeated aborts count."""
    machine = Machine(SupervisorCore((spec("manager"),), 0, SILENT_SECS))
    machine.does(SupervisorTimer())
    assert starts(machine.does(ProcessEnded("manager", -6))) == ["manager"]
    assert machine.core.outcome is None
    machine.passes(EXCUSED_EVERY_SECS, "manager")
    assert starts(machine.does(ProcessEnded("manager", -6))) == ["manager"]
    machine.passes(1.0, "manager")
    (end,) = machine.does(ProcessEnded("manager", -6))
    assert isinstance(end, SupervisorExit)
    assert end.outcome.code == ExitCode.TOPOLOGY_FAILED


def unlimited(*specs: ProcessSpec, was_up: bool = False) -> Machine:
    """A supervisor for whose restarts the user has set no limit."""
    machine = Machine(SupervisorCore(specs, UNLIMITED, SILENT_SECS, was_up))
    machine.does(SupervisorTimer())
    return machine


def ends(machine: Machine, name: str, times: int) -> list[Instruction]:
    """A process ends as soon as it runs, so often; returns the actions after the last end."""
    done: list[Instruction] = []
    for _ in range(times):
        while machine.phases[name] is not ProcessPhase.RUNNING:
            machine.does(ProcessHeartbeat("manager"))
            machine.does(SupervisorTimer(), machine.core.timeout_secs(machine.now))
        done = machine.does(ProcessEnded(name, 7, "no database"))
    return done


def test_a_database_that_is_away_for_an_hour_ends_nothing() -> None:
    machine = unlimited(spec("manager"), spec("bolt"))
    machine.does(CameUp("bolt"))
    began = machine.now
    ends(machine, "bolt", 130)
    assert machine.now - began > 3600.0
    assert machine.core.outcome is None
    assert "bolt: 130 failures in a row, next try in 30.0 s" in machine.logged
    machine.passes(PAUSE_SECS_MAX, "manager")
    assert machine.phases["bolt"] is ProcessPhase.RUNNING


def test_a_restart_says_how_often_and_when_the_next_try_is() -> None:
    machine = unlimited(spec("manager"), spec("bolt"))
    machine.does(CameUp("bolt"))
    ends(machine, "bolt", 4)
    assert starts(machine.does(SupervisorTimer(), 0.1)) == []
    (start,) = machine.does(SupervisorTimer(), 0.8)
    assert isinstance(start, StartProcess)
    assert start.predecessor == "ended with exit code 7: no database"
    assert start.outlook == "restarted 4 times in a row, next try in 1.6 s"
    assert start.next_try_secs == 1.6


def test_one_that_has_never_been_up_is_told_of_at_once() -> None:
    """Its class cannot be imported: the submitting command waits for an answer."""
    machine = unlimited(spec("manager"), spec("bolt"))
    machine.does(CameUp("manager"))
    began = machine.now
    assert ends(machine, "bolt", START_LIMIT + 1) == [TerminateProcess("manager")]
    assert machine.now - began < 5.0
    assert machine.core.outcome == SupervisorOutcome(
        ExitCode.TOPOLOGY_FAILED, "bolt ended 6 times in a row: no database"
    )


def test_one_that_cannot_start_in_a_container_that_is_replaced_is_waited_for() -> None:
    """Its host is lost while the database is away: the topology has run before."""
    machine = unlimited(spec("manager"), spec("bolt"), was_up=True)
    ends(machine, "bolt", 20)
    assert machine.core.outcome is None


def test_one_that_is_added_while_others_run_and_cannot_start_ends_nothing() -> None:
    machine = unlimited(spec("manager"))
    machine.does(CameUp("manager"))
    machine.does(SpecsChanged([spec("manager"), spec("new")]))
    ends(machine, "new", 20)
    assert machine.core.outcome is None


def test_a_stable_run_wipes_the_slate() -> None:
    machine = running(spec("only"))
    for _ in range(2 * RESTARTS):
        machine.passes(60.0, "only")
        assert starts(machine.does(ProcessEnded("only", 1))) == ["only"]


def test_a_final_code_ends_the_supervisor_with_it() -> None:
    # The topology master reports the end of the work: restarts stop.
    machine = running(spec("master", ExitCode.ENDED), spec("other"))
    assert machine.does(ProcessEnded("master", ExitCode.ENDED, "all done")) == [
        TerminateProcess("other")
    ]
    end = SupervisorExit(SupervisorOutcome(ExitCode.ENDED, "all done"))
    assert machine.does(ProcessEnded("other", 0)) == [end]


# --- silence ------------------------------------------------------------------------------------


def test_a_silent_process_is_killed_and_replaced() -> None:
    # SIGSTOP, a swapped-out machine, a native call that never returns.
    machine = running(spec("manager"), spec("bolt"))
    assert machine.passes(SILENT_SECS + 1.0, "manager") == [KillProcess("bolt")]
    assert starts(machine.does(ProcessEnded("bolt", -9))) == ["bolt"]
    told = "bolt was killed by signal 9 (SIGKILL): it was silent for 15 s, and was killed"
    assert told in machine.logged


def test_one_that_beats_is_left_alone() -> None:
    machine = running(spec("manager"), spec("bolt"))
    assert machine.passes(10 * SILENT_SECS, "manager", "bolt") == []


def test_whoever_was_stopped_itself_kills_nobody() -> None:
    # Ctrl-Z for 18 s and then fg: all stood still, and all are heard of again a moment later.
    machine = running(spec("manager"), spec("bolt"), spec("mute"))
    machine.passes(SILENT_SECS - 5.0, "manager", "bolt")
    assert machine.does(SupervisorTimer(), 18.0) == []
    assert "this process was suspended for 17 s (stopped, or without CPU)" in machine.logged[-1]
    assert machine.passes(4.0, "manager", "bolt") == []
    assert machine.passes(2.0, "manager", "bolt") == [KillProcess("mute")]


def test_whoever_was_stopped_itself_gives_those_that_end_their_time() -> None:
    machine = running(spec("manager"), spec("one"))
    machine.does(Stop(TERMINATED))
    assert machine.does(SupervisorTimer(), 60.0) == []
    assert machine.passes(SHUTDOWN_SECS) == [KillProcess("one")]


def test_one_that_cannot_be_killed_is_killed_again_later() -> None:
    # In an uninterruptible system call, such as a read from a network disk out of reach.
    machine = running(spec("only"))
    assert machine.passes(2 * SILENT_SECS + 3.0) == [KillProcess("only"), KillProcess("only")]


def test_one_that_breaks_the_protocol_is_killed() -> None:
    machine = running(spec("manager"), spec("bolt"))
    assert machine.does(ProtocolBroken("bolt", "nonsense")) == [KillProcess("bolt")]
    machine.does(ProcessEnded("bolt", -9))
    assert (
        "bolt was killed by signal 9 (SIGKILL): its status pipe has nonsense, and it was killed"
        in (machine.logged)
    )


# --- memory -------------------------------------------------------------------------------------


def limited(name: str) -> ProcessSpec:
    return replace(spec(name), memory_bytes_max=100 * MIB)


def test_a_bolt_that_leaks_is_warned_of_and_then_restarted() -> None:
    machine = running(spec("manager"), limited("bolt"))
    assert machine.does(MemoryMeasured("bolt", 50 * MIB)) == []
    assert machine.does(MemoryMeasured("bolt", 95 * MIB)) == []
    assert machine.does(MemoryMeasured("bolt", 96 * MIB)) == []
    (warned,) = [
        each for each in machine.logged if each.endswith("an instance above its limit is restarted")
    ]
    assert "bolt uses 95 MB of the 100 MB that topology.component.rammap has" in warned
    assert machine.does(MemoryMeasured("bolt", 101 * MIB)) == [TerminateProcess("bolt")]
    assert machine.does(MemoryMeasured("bolt", 102 * MIB)) == []
    assert starts(machine.does(ProcessEnded("bolt", 0))) == ["bolt"]
    assert "and is restarted" in machine.logged[-2]


def test_one_beyond_its_memory_that_does_not_end_is_killed() -> None:
    machine = running(spec("manager"), limited("bolt"))
    machine.does(MemoryMeasured("bolt", 200 * MIB))
    assert machine.passes(SHUTDOWN_SECS + 0.1, "bolt") == [KillProcess("bolt")]


def test_without_a_limit_a_process_may_use_what_there_is() -> None:
    machine = running(spec("manager"))
    assert machine.does(MemoryMeasured("manager", 1 << 40)) == []


def test_a_change_of_plan_is_read_once_however_often_it_is_said() -> None:
    machine = running(spec("manager"))
    machine.does(ProcessPlanChanged({"packing": 1}))
    machine.does(ProcessPlanChanged({"packing": 2}))
    assert machine.does(SupervisorTimer()) == [ReadSpecs({"packing": 2})]
    assert machine.does(SupervisorTimer()) == []


def test_new_ones_start_others_end_and_who_stays_is_not_touched() -> None:
    machine = running(spec("manager"), spec("one"), spec("two"))
    wanted = SpecsChanged([spec("manager"), spec("one"), spec("three")])
    assert machine.does(wanted) == [TerminateProcess("two"), StartProcess(spec("three"))]
    assert machine.does(ProcessEnded("two", 0)) == []
    assert machine.phases.keys() == {"manager", "one", "three"}
    assert machine.does(wanted) == []


def test_one_that_stays_is_started_again_by_its_new_spec() -> None:
    machine = running(spec("manager"), spec("one"))
    machine.does(SpecsChanged([spec("manager"), spec("one", 7)]))
    assert machine.does(ProcessEnded("one", 1)) == [
        StartProcess(spec("one", 7), "ended with exit code 1")
    ]


def test_one_that_does_not_leave_is_killed_and_may_come_back_only_then() -> None:
    machine = running(spec("manager"), spec("one"))
    assert machine.does(SpecsChanged([spec("manager")])) == [TerminateProcess("one")]
    assert machine.does(SpecsChanged([spec("manager"), spec("one")])) == []
    assert machine.phases["one"] is ProcessPhase.STOPPING
    assert machine.passes(SHUTDOWN_SECS) == [KillProcess("one")]
    assert machine.passes(SHUTDOWN_SECS) == []
    assert starts(machine.does(ProcessEnded("one", -9))) == ["one"]


def test_one_that_waits_for_its_restart_is_forgotten_if_nobody_wants_it() -> None:
    machine = running(spec("manager"), spec("one"))
    machine.does(ProcessEnded("one", 1))
    machine.does(ProcessEnded("one", 1))
    assert machine.does(SpecsChanged([spec("manager")])) == []
    assert machine.passes(30.0, "manager") == []


def test_a_leaver_s_end_counts_for_nothing() -> None:
    # Whatever its exit code says: the process was told to end.
    machine = running(spec("manager"), spec("one", 5))
    machine.does(SpecsChanged([spec("manager")]))
    assert machine.does(ProcessEnded("one", 5)) == []
    assert machine.core.outcome is None


def test_a_plan_that_cannot_be_read_is_read_again_a_moment_later() -> None:
    # The state store is away just now: processes do not end for this reason.
    machine = running(spec("manager"))
    machine.does(ProcessPlanChanged(None))
    assert machine.does(SupervisorTimer()) == [ReadSpecs(None)]
    assert machine.does(SpecsUnknown("no store")) == []
    assert machine.does(SupervisorTimer(), RELOAD_RETRY_SECS / 2) == []
    assert machine.does(SupervisorTimer(), RELOAD_RETRY_SECS / 2) == [ReadSpecs(None)]


# --- the end ------------------------------------------------------------------------------------


def test_all_end_in_order_the_first_last() -> None:
    # Instances end before their stream manager: their last messages need a receiver.
    machine = running(spec("manager"), spec("one"), spec("two"))
    assert machine.does(Stop(TERMINATED)) == [TerminateProcess("one"), TerminateProcess("two")]
    assert machine.does(ProcessEnded("one", 0)) == []
    assert machine.does(ProcessEnded("two", 0)) == [TerminateProcess("manager")]
    assert machine.does(ProcessEnded("manager", 0)) == [SupervisorExit(TERMINATED)]


def test_whoever_does_not_end_in_time_is_killed() -> None:
    machine = running(spec("manager"), spec("one"))
    machine.does(Stop(TERMINATED))
    assert machine.passes(SHUTDOWN_SECS - 0.1) == []
    assert machine.core.timeout_secs(machine.now) == pytest.approx(0.1)
    assert machine.does(SupervisorTimer(), 0.1) == [KillProcess("one")]
    assert machine.does(ProcessEnded("one", -9)) == [TerminateProcess("manager")]
    assert machine.passes(SHUTDOWN_SECS) == [KillProcess("manager")]
    assert machine.does(ProcessEnded("manager", -9)) == [SupervisorExit(TERMINATED)]


def test_the_first_outcome_counts() -> None:
    machine = running(spec("manager"))
    machine.does(Stop(TERMINATED))
    machine.does(Stop(SupervisorOutcome(ExitCode.ORPHANED, "the parent process is gone")))
    assert machine.does(ProcessEnded("manager", 0)) == [SupervisorExit(TERMINATED)]


def test_nothing_is_started_or_read_once_all_are_to_end() -> None:
    machine = running(spec("manager"), spec("one"))
    machine.does(ProcessPlanChanged(None))
    machine.does(Stop(TERMINATED))
    assert machine.does(ProcessEnded("one", 1)) == [TerminateProcess("manager")]
    assert machine.does(SpecsChanged([spec("manager"), spec("new")])) == []
    assert machine.does(SupervisorTimer(), 1.0) == []


def test_without_processes_the_end_is_at_once() -> None:
    machine = Machine(SupervisorCore([], RESTARTS, SILENT_SECS))
    assert machine.does(Stop(TERMINATED)) == [SupervisorExit(TERMINATED)]
    assert machine.does(SupervisorTimer()) == []


def test_one_that_is_leaving_already_has_to_end_as_the_others() -> None:
    machine = running(spec("manager"), spec("one"), spec("two"))
    machine.does(SpecsChanged([spec("manager"), spec("one")]))
    assert machine.does(Stop(TERMINATED)) == [TerminateProcess("one"), TerminateProcess("two")]
    machine.does(ProcessEnded("two", 0))
    assert machine.does(ProcessEnded("one", 0)) == [TerminateProcess("manager")]


def test_statistics_name_pid_starts_and_failures() -> None:
    machine = running(spec("manager"), spec("bolt"))
    machine.does(ProcessEnded("bolt", 1))
    (_, bolt) = machine.core.statistics()
    assert (bolt.name, bolt.phase, bolt.pid) == ("bolt", ProcessPhase.RUNNING, 3)
    assert (bolt.starts, bolt.failures) == (2, 1)


def test_the_story_has_cause_and_consequence_and_a_bound() -> None:
    machine = running(spec("manager"), spec("bolt"))
    machine.does(ProcessEnded("bolt", 1, "KeyError"))
    steps = {step.cause: step.effects for step in machine.core.transition_log().steps}
    assert steps["ProcessEnded bolt 1 KeyError"] == (
        "StartProcess bolt ended with exit code 1: KeyError",
    )
    machine.passes(60.0, "manager", "bolt")
    assert len(machine.core.transition_log().steps) < 10, "heartbeats are no steps"
    for _ in range(2 * STEPS_MAX):
        machine.does(ProcessPlanChanged(None))
    assert len(machine.core.transition_log().steps) == STEPS_MAX
