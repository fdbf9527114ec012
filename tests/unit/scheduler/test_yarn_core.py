"""Decisions of the application master, event by event."""

import random

import pytest

from heron_core.algorithms.backoff import PAUSE_SECS_MAX, STABLE_SECS
from heron_core.exit_codes import ExitCode
from heron_core.transition_log import STEPS_MAX
from heron_engine.scheduler.backends.yarn.core import SHUTDOWN_SECS, Core
from heron_engine.scheduler.backends.yarn.events import (
    Allocated,
    Ask,
    AskFor,
    CapacityWanted,
    ContainerCompleted,
    ContainerStarted,
    EndMaster,
    EndRequested,
    Event,
    Grant,
    Instruction,
    MasterEnded,
    NotResized,
    NotStarted,
    Publish,
    Recovered,
    Registered,
    Release,
    Resized,
    RestartRequested,
    StartContainer,
    StartMaster,
    Status,
    TakeBack,
    Tick,
    Unregister,
    YarnLog,
    YarnPlanChanged,
)
from heron_engine.scheduler.backends.yarn.slots import SlotPhase
from heron_engine.scheduler.backends.yarn.standby import STANDBY_FIRST

ASK = Ask(512, 1)
STANDBY = (STANDBY_FIRST, STANDBY_FIRST + 1)
LIMIT = 3
KILLED = 137


def grant(number: int, name: str = "a") -> Grant:
    return Grant(f"container_{number}{name}", number, "node:1", "node:2")


class Running:
    """A core with a clock; `does` leaves out log lines."""

    def __init__(self, *numbers: int) -> None:
        self.core = Core(LIMIT)
        self.now = 100.0
        self.does(YarnPlanChanged(dict.fromkeys(numbers, ASK)))

    def does(self, event: Event) -> list[Instruction]:
        done = self.core.handle(event, self.now)
        self.core.validate()
        return [each for each in done if not isinstance(each, YarnLog)]

    def logs(self, event: Event) -> str:
        done = self.core.handle(event, self.now)
        self.core.validate()
        return " / ".join(each.text for each in done if isinstance(each, YarnLog))

    @property
    def is_complete(self) -> bool:
        return all(each.phase is SlotPhase.RUNNING for each in self.core.slots.values())

    def up(self) -> "Running":
        """All wanted containers run."""
        self.does(Registered())
        for number in self.core.slots:
            self.does(Allocated(grant(number)))
            self.does(ContainerStarted(grant(number).id))
        assert self.is_complete
        return self


def test_every_container_is_asked_for_once_registered() -> None:
    """Before that YARN would refuse the request; the topology master starts at the same time."""
    running = Running(1, 2)
    assert running.does(Tick()) == []
    assert running.does(Registered()) == [AskFor(1, ASK), AskFor(2, ASK), Publish(), StartMaster()]
    assert running.does(Tick()) == []


def test_a_container_belongs_to_the_slot_of_its_priority() -> None:
    """In any order of arrival; published before the start."""
    running = Running(1, 2)
    running.does(Registered())
    assert running.does(Allocated(grant(2))) == [TakeBack(2), Publish(), StartContainer(grant(2))]
    assert running.does(ContainerStarted(grant(2).id)) == [Publish()]
    assert running.core.slots[2].phase is SlotPhase.RUNNING
    assert running.core.slots[1].phase is SlotPhase.ASKED


@pytest.mark.parametrize("surplus", [grant(1, "b"), grant(9)])
def test_surplus_containers_are_given_back(surplus: Grant) -> None:
    """A second container for a slot, or an unrequested one; their end is not a loss."""
    running = Running(1).up()
    assert running.does(Allocated(surplus)) == [Release(surplus.id)]
    assert running.does(ContainerCompleted(surplus.id, -100, "")) == []


def test_what_runs_from_an_earlier_attempt_is_kept() -> None:
    """Only the rest is asked for; a container without a slot is given back."""
    running = Running(1, 2)
    assert running.does(Registered((grant(1), grant(7)))) == [
        Release(grant(7).id),
        AskFor(2, ASK),
        Publish(),
        StartMaster(),
    ]
    assert running.core.slots[1].grant == grant(1)
    assert running.core.slots[1].phase is SlotPhase.RUNNING


def test_what_the_resource_manager_remembers_later_is_kept_too() -> None:
    """After its own restart; requests made meanwhile are withdrawn."""
    running = Running(1)
    running.does(Registered())
    assert running.does(Recovered(grant(1))) == [TakeBack(1), Publish()]
    assert running.is_complete
    assert running.does(Recovered(grant(1, "b"))) == [Release(grant(1, "b").id), Publish()]


@pytest.mark.parametrize(
    ("status", "why"), [(-100, "its node is lost"), (-102, "pre-emption"), (-101, "disks")]
)
def test_what_the_cluster_takes_is_asked_for_at_once_and_for_ever(status: int, why: str) -> None:
    """Not a fault of the container, however often; the rest stay untouched."""
    running = Running(1, 2).up()
    for _ in range(LIMIT + 2):
        line = running.logs(ContainerCompleted(grant(1).id, status, "said"))
        assert "container 1 is lost" in line
        assert why in line
        assert running.core.slots[1].phase is SlotPhase.ASKED
        running.does(Allocated(grant(1)))
        running.does(ContainerStarted(grant(1).id))
    assert running.core.slots[2].grant == grant(2)


def test_what_ends_by_itself_is_replaced_and_fails_the_topology_in_the_end() -> None:
    """At once the first time, then after ever longer pauses; then the application has failed."""
    running = Running(1).up()
    assert AskFor(1, ASK) in running.does(ContainerCompleted(grant(1).id, KILLED, "killed"))
    for _ in range(LIMIT - 1):
        running.does(Allocated(grant(1)))
        assert AskFor(1, ASK) not in running.does(ContainerCompleted(grant(1).id, KILLED, "killed"))
        running.now += PAUSE_SECS_MAX
        assert running.does(Tick()) == [AskFor(1, ASK), Publish()]
    running.does(Allocated(grant(1)))
    assert EndMaster() in running.does(
        ContainerCompleted(grant(1).id, KILLED, "killed by somebody")
    )
    (end,) = running.does(MasterEnded(0, ""))
    assert isinstance(end, Unregister)
    assert end.status is Status.FAILED
    assert end.reason == f"container 1 ended {LIMIT + 1} times in a row: killed by somebody"


def test_a_stable_run_makes_good() -> None:
    """A container that ends every hour is replaced for ever."""
    running = Running(1).up()
    for _ in range(LIMIT * 3):
        running.now += STABLE_SECS
        assert AskFor(1, ASK) in running.does(ContainerCompleted(grant(1).id, -104, "memory"))
        running.does(Allocated(grant(1)))
        running.does(ContainerStarted(grant(1).id))


def test_one_that_does_not_start_counts_and_is_given_back() -> None:
    """Refused by its node manager."""
    running = Running(1)
    running.does(Registered())
    running.does(Allocated(grant(1)))
    done = running.does(NotStarted(grant(1).id, "no token"))
    assert done == [Release(grant(1).id), Publish(), AskFor(1, ASK), Publish()]
    assert running.core.slots[1].policy.failures == 1


def test_one_that_ends_before_its_start_is_known() -> None:
    """The report of the start comes too late to count."""
    running = Running(1)
    running.does(Registered())
    running.does(Allocated(grant(1)))
    assert AskFor(1, ASK) in running.does(ContainerCompleted(grant(1).id, 1, "no python"))
    assert running.does(ContainerStarted(grant(1).id)) == []


def test_the_plan_grows_and_shrinks() -> None:
    """Staying containers are untouched; a removed one gets its shutdown timeout, then a kill by
    YARN."""
    running = Running(1, 2).up()
    assert running.does(YarnPlanChanged({1: ASK, 2: ASK, 3: ASK})) == [AskFor(3, ASK)]
    running.does(Allocated(grant(3)))
    running.does(ContainerStarted(grant(3).id))
    assert running.does(YarnPlanChanged({1: ASK, 3: ASK})) == [Publish()]
    assert running.core.slots[2].phase is SlotPhase.ENDING
    assert running.does(YarnPlanChanged({1: ASK, 3: ASK})) == []
    running.now += SHUTDOWN_SECS
    assert running.does(Tick()) == [Release(grant(2).id)]
    assert running.does(Tick()) == []
    assert running.does(ContainerCompleted(grant(2).id, 0, "")) == [Publish()]
    assert list(running.core.slots) == [1, 3]


def test_one_that_was_only_asked_for_is_asked_for_no_more() -> None:
    """A cancelled update."""
    running = Running(1).up()
    running.does(YarnPlanChanged({1: ASK, 2: ASK}))
    assert running.does(YarnPlanChanged({1: ASK})) == [TakeBack(2)]
    assert running.does(Allocated(grant(2))) == [Release(grant(2).id)]


def test_a_larger_container_is_asked_for_anew_if_there_is_none_yet() -> None:
    """A running container goes on unchanged, and is restarted in its old size."""
    running = Running(1, 2)
    running.does(Registered())
    running.does(Allocated(grant(1)))
    larger = Ask(1024, 2)
    assert running.does(YarnPlanChanged({1: larger, 2: larger})) == [TakeBack(2), AskFor(2, larger)]
    assert AskFor(1, ASK) in running.does(ContainerCompleted(grant(1).id, -100, ""))


@pytest.mark.parametrize(("status", "again"), [(-100, ASK), (KILLED, ASK), (-104, Ask(1024, 1))])
def test_a_lost_container_that_an_update_made_larger_comes_back(status: int, again: Ask) -> None:
    """The cluster has room for the old size. Only after a kill by YARN for its memory, the
    container is requested in the plan's size."""
    running = Running(1, 2).up()
    assert running.does(YarnPlanChanged({1: Ask(1024, 1), 2: ASK})) == []
    running.now += STABLE_SECS
    done = running.does(ContainerCompleted(grant(1).id, status, ""))
    assert [each for each in done if isinstance(each, AskFor)] == [AskFor(1, again)]


def test_an_update_back_takes_the_larger_request_back() -> None:
    """Container 1 waits for more memory than available: the smaller plan is asked for at once."""
    running = Running(1)
    running.does(YarnPlanChanged({1: Ask(4096, 1)}))
    running.does(Registered())
    assert running.does(YarnPlanChanged({1: ASK})) == [TakeBack(1), AskFor(1, ASK)]


def test_restart_ends_in_order_and_asks_again() -> None:
    """The end is not a failure."""
    running = Running(1, 2).up()
    assert running.does(RestartRequested((1,))) == [Publish()]
    assert running.core.slots[1].phase is SlotPhase.ENDING
    assert running.does(ContainerCompleted(grant(1).id, 0, "")) == [AskFor(1, ASK), Publish()]
    assert running.core.slots[1].policy.failures == 0
    assert running.does(RestartRequested((1, 5))) == []


def test_restart_of_the_topology_master() -> None:
    """Container 0 runs beside the application master."""
    running = Running(1).up()
    assert running.does(RestartRequested((0,))) == [EndMaster()]
    assert running.does(MasterEnded(0, "SIGTERM")) == [StartMaster()]


def test_the_topology_master_is_started_again_until_it_is_hopeless() -> None:
    """Like any container."""
    running = Running(1).up()
    assert running.does(MasterEnded(-9, "")) == [StartMaster()]
    for _ in range(LIMIT - 1):
        assert running.does(MasterEnded(1, "no")) == []
        running.now += PAUSE_SECS_MAX - 1
        assert running.does(Tick()) == [StartMaster()]
    assert Publish() in running.does(MasterEnded(1, "no"))
    (end,) = running.does(ContainerCompleted(grant(1).id, 0, ""))[-1:]
    assert end == Unregister(Status.FAILED, f"the topology master ended {LIMIT + 1} times: no")


@pytest.mark.parametrize(
    ("code", "status"),
    [(ExitCode.ENDED, Status.SUCCEEDED), (ExitCode.TOPOLOGY_FAILED, Status.FAILED)],
)
def test_the_end_of_a_topology(code: int, status: Status) -> None:
    """Containers end in order, the application after the last of them."""
    running = Running(1, 2).up()
    assert running.does(MasterEnded(code, "why")) == [Publish(), EndMaster()]
    assert running.does(ContainerCompleted(grant(1).id, 0, "")) == [Publish()]
    assert running.does(ContainerCompleted(grant(2).id, 0, ""))[-1] == Unregister(status, "why")
    assert running.does(Tick()) == []


def test_a_component_that_kept_failing_ends_the_topology() -> None:
    """Its container gave up; a further one would give up as well."""
    running = Running(1, 2).up()
    assert running.does(
        ContainerCompleted(grant(1).id, ExitCode.TOPOLOGY_FAILED, "component 'a' failed")
    ) == [
        Publish(),
        EndMaster(),
    ]
    running.does(MasterEnded(0, "SIGTERM"))
    (end,) = running.does(ContainerCompleted(grant(2).id, 0, ""))[-1:]
    assert end == Unregister(Status.FAILED, "component 'a' failed")


def test_kill_takes_back_and_ends_everything() -> None:
    """Also pending requests; the first reason counts."""
    running = Running(1, 2)
    running.does(Registered())
    running.does(Allocated(grant(1)))
    assert running.does(EndRequested("`heronpy kill`")) == [TakeBack(2), Publish(), EndMaster()]
    assert running.does(EndRequested("again")) == []
    assert running.does(MasterEnded(0, "")) == []
    assert running.does(YarnPlanChanged({1: ASK, 2: ASK, 3: ASK})) == []
    done = running.does(ContainerCompleted(grant(1).id, 0, ""))
    assert done == [Publish(), Unregister(Status.KILLED, "`heronpy kill`")]


def test_the_end_does_not_wait_for_ever() -> None:
    """A node that does not answer: YARN kills remaining containers when the application has
    ended."""
    running = Running(1).up()
    running.does(EndRequested("enough"))
    running.now += SHUTDOWN_SECS
    assert running.does(Tick())[-1] == Unregister(Status.KILLED, "enough")


def test_a_container_that_comes_while_all_ends_is_given_back() -> None:
    """Allocated by the resource manager before the message of the end."""
    running = Running(1)
    running.does(Registered())
    running.does(EndRequested("enough"))
    assert running.does(Allocated(grant(1)))[0] == Release(grant(1).id)
    assert running.does(Recovered(grant(1)))[0] == Release(grant(1).id)


def test_one_that_is_not_needed_any_more_and_does_not_start_is_forgotten() -> None:
    """The plan changed between its allocation and its start: a repeated request would be wrong."""
    running = Running(1, 2)
    running.does(Registered())
    running.does(Allocated(grant(2)))
    running.does(YarnPlanChanged({1: ASK}))
    assert running.does(NotStarted(grant(2).id, "no disk")) == [Release(grant(2).id), Publish()]
    running.now += 10 * PAUSE_SECS_MAX
    assert running.does(Tick()) == []
    assert running.core.slots.keys() == {1}


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_slots_make_sense(seed: int) -> None:
    """Events in any order, also faulty ones."""
    chance = random.Random(seed)
    running = Running(1, 2, 3)
    running.core.standby = seed % 3
    running.does(Registered())
    names = [f"{letter}" for letter in "abc"]
    for _ in range(300):
        running.now += chance.choice((0.0, 1.0, 20.0))
        given = grant(chance.choice((0, 1, 2, 3, 4, *STANDBY)), chance.choice(names))
        numbers = chance.sample(range(1, 5), chance.randint(1, 4))
        running.does(chance.choice((
            Allocated(given), ContainerStarted(given.id), NotStarted(given.id, "why"),
            Recovered(given), ContainerCompleted(given.id, chance.choice((-100, 0, 1)), "why"),
            YarnPlanChanged(dict.fromkeys(numbers, Ask(512, chance.randint(1, 2)))),
            RestartRequested(tuple(numbers)), MasterEnded(1, "why"), Tick(),
            CapacityWanted({numbers[0]: Ask(chance.choice((512, 900)), 1)}),
            Resized(given.id, Ask(900, 1)), NotResized(given.id, "why"),
        )))  # fmt: skip
    assert len(running.core.transition_log().steps) <= STEPS_MAX


def test_the_story_has_cause_and_consequence() -> None:
    running = Running(1).up()
    running.does(ContainerCompleted(grant(1).id, -100, ""))
    step = running.core.transition_log().steps[-1]
    assert "ContainerCompleted" in step.cause
    assert any("AskFor" in effect for effect in step.effects)
