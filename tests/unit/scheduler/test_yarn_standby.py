"""Standby containers on YARN: one takes the place of a container that is added or lost, at once."""

from typing import Any

import pytest

from heron_core.algorithms.backoff import PAUSE_SECS_MAX
from heron_core.records import replace
from heron_engine.scheduler.backends.yarn import requests
from heron_engine.scheduler.backends.yarn.container_agent import numbered
from heron_engine.scheduler.backends.yarn.core import Core
from heron_engine.scheduler.backends.yarn.events import (
    Allocated,
    Ask,
    AskFor,
    ContainerCompleted,
    ContainerStarted,
    Event,
    Grant,
    Publish,
    Registered,
    StartContainer,
    TakeBack,
    Tick,
    YarnLog,
    YarnPlanChanged,
)
from heron_engine.scheduler.backends.yarn.slots import SlotPhase
from heron_engine.scheduler.backends.yarn.standby import STANDBY_FIRST, is_standby

SMALL, LARGE = Ask(640, 1), Ask(900, 2)
STANDBY = STANDBY_FIRST
LIMIT = 3


class Running:
    """Containers 1 and 2 run, and a standby one."""

    def __init__(self) -> None:
        self.core, self.now, self.given = Core(LIMIT, standby=1), 100.0, 0
        self.does(YarnPlanChanged({1: SMALL, 2: LARGE}))
        self.does(Registered())
        for number in list(self.core.slots):
            self.gives(number)

    def gives(self, number: int) -> str:
        """YARN gives a container, which starts."""
        self.given += 1
        slot = self.core.slots[number]
        grant = Grant(f"container_{self.given}", number, "n:1", "n:2", slot.request)
        assert self.does(Allocated(grant)) == [TakeBack(number), Publish(), StartContainer(grant)]
        self.does(ContainerStarted(grant.id))
        return grant.id

    def does(self, event: Event) -> list[Any]:
        done = self.core.handle(event, self.now)
        self.core.validate()
        return [each for each in done if not isinstance(each, YarnLog)]

    def fails(self, number: int) -> None:
        """It ends at once, and comes back; a standby one waits again."""
        self.does(ContainerCompleted(self.id_of(number), 1, "no module"))
        if self.core.slots[number].phase is SlotPhase.RESTING:
            self.now += PAUSE_SECS_MAX
            self.does(Tick())
        self.gives(STANDBY)

    def id_of(self, number: int) -> str:
        grant = self.core.slots[number].grant
        assert grant is not None
        return grant.id


def test_an_added_container_is_the_standby_one_and_another_is_asked_for() -> None:
    running = Running()
    waited = running.id_of(STANDBY)
    done = running.does(YarnPlanChanged({1: SMALL, 2: LARGE, 3: SMALL}, is_settled=False))
    assert done == [Publish(), AskFor(STANDBY, LARGE)]  # as large as the largest of the plan
    assert running.core.slots[3].phase is SlotPhase.RUNNING
    assert running.id_of(3) == waited
    # The pool has one only: the next one comes from YARN, unless that gives the standby one first.
    assert running.does(YarnPlanChanged({1: SMALL, 2: LARGE, 3: SMALL, 4: SMALL})) == [
        AskFor(4, SMALL)
    ]
    given = running.gives(STANDBY)
    assert running.id_of(4) == given
    assert running.core.slots[STANDBY].phase is SlotPhase.ASKED


def test_a_lost_container_is_the_standby_one_and_counts_its_failures() -> None:
    running = Running()
    waited = running.id_of(STANDBY)
    done = running.does(ContainerCompleted(running.id_of(2), -100, ""))
    assert AskFor(STANDBY, LARGE) in done
    assert not any(isinstance(each, AskFor) and each.number == 2 for each in done)
    assert running.id_of(2) == waited
    running.gives(STANDBY)
    for _ in range(LIMIT):  # a bolt that cannot start ends the topology all the same
        running.fails(2)
    assert running.core.slots[2].policy.failures == LIMIT


def test_one_that_is_too_small_stays_where_it_is() -> None:
    running = Running()
    done = running.does(YarnPlanChanged({1: SMALL, 2: LARGE, 3: Ask(4096, 1)}))
    assert AskFor(3, Ask(4096, 1)) in done
    assert running.core.slots[STANDBY].phase is SlotPhase.RUNNING


def test_standby_ones_that_do_not_run_leave_the_topology_as_it_is() -> None:
    running = Running()
    for _ in range(LIMIT):
        running.fails(STANDBY)
    running.does(ContainerCompleted(running.id_of(STANDBY), 1, "no python"))
    assert STANDBY not in running.core.slots
    assert running.core.slots[1].phase is SlotPhase.RUNNING


def test_the_next_application_master_knows_who_was_on_standby() -> None:
    """By what the one before it has published; YARN itself knows it by the number of then."""
    node = {"containers": {"3": {"id": "container_3", "phase": "running"}}}
    number = requests.number_of(node, "container_3")
    assert number == 3
    core = Core(LIMIT, standby=1)
    core.handle(YarnPlanChanged({3: SMALL}), 0.0)
    grant = Grant("container_3", STANDBY, "n:1", "n:2", LARGE)
    core.handle(Registered((replace(grant, number=number),)), 0.0)
    assert core.slots[3].phase is SlotPhase.RUNNING
    assert core.slots[STANDBY].phase is SlotPhase.ASKED


@pytest.mark.parametrize(
    ("node", "number", "ends"),
    [
        (None, None, True),
        ({"containers": {}, "warm": {}}, None, True),
        ({"warm": {str(STANDBY): {"id": "a", "phase": "starting"}}}, None, False),
        ({"warm": {str(STANDBY): {"id": "a", "phase": "ending"}}}, None, True),
        ({"warm": {str(STANDBY): {"id": "b", "phase": "running"}}}, None, True),
        ({"containers": {"3": {"id": "a", "phase": "running"}}, "warm": {}}, 3, True),
    ],
)
def test_a_standby_container_sees_what_becomes_of_it(
    node: dict[str, Any] | None, number: int | None, ends: bool
) -> None:
    assert requests.number_of(node, "a") == number
    assert (requests.standby_end_reason(node, "a") is not None) == ends


def test_it_starts_as_the_container_that_it_became() -> None:
    words = ["--store", "zk://z", "--container", str(STANDBY), "--relocated", "a", "b"]
    assert numbered(words, 3) == ["--store", "zk://z", "--container", "3", *words[4:]]
    assert is_standby(STANDBY)
    assert not is_standby(3)
