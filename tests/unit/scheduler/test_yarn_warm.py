"""Warm containers on YARN: one takes the place of a container that is added or lost, at once."""

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
from heron_engine.scheduler.backends.yarn.warm import WARM_FIRST, is_warm

SMALL, LARGE = Ask(640, 1), Ask(900, 2)
WARM = WARM_FIRST
LIMIT = 3


class Running:
    """Containers 1 and 2 run, and a warm one."""

    def __init__(self) -> None:
        self.core, self.now, self.given = Core(LIMIT, warm=1), 100.0, 0
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
        """It ends at once, and comes back; a warm one waits again."""
        self.does(ContainerCompleted(self.id_of(number), 1, "no module"))
        if self.core.slots[number].phase is SlotPhase.RESTING:
            self.now += PAUSE_SECS_MAX
            self.does(Tick())
        self.gives(WARM)

    def id_of(self, number: int) -> str:
        grant = self.core.slots[number].grant
        assert grant is not None
        return grant.id


def test_an_added_container_is_the_warm_one_and_another_is_asked_for() -> None:
    running = Running()
    waited = running.id_of(WARM)
    done = running.does(YarnPlanChanged({1: SMALL, 2: LARGE, 3: SMALL}, is_settled=False))
    assert done == [Publish(), AskFor(WARM, LARGE)]  # as large as the largest of the plan
    assert running.core.slots[3].phase is SlotPhase.RUNNING
    assert running.id_of(3) == waited
    # The pool has one only: the next one comes from YARN, unless that gives the warm one first.
    assert running.does(YarnPlanChanged({1: SMALL, 2: LARGE, 3: SMALL, 4: SMALL})) == [
        AskFor(4, SMALL)
    ]
    given = running.gives(WARM)
    assert running.id_of(4) == given
    assert running.core.slots[WARM].phase is SlotPhase.ASKED


def test_a_lost_container_is_the_warm_one_and_counts_its_failures() -> None:
    running = Running()
    waited = running.id_of(WARM)
    done = running.does(ContainerCompleted(running.id_of(2), -100, ""))
    assert AskFor(WARM, LARGE) in done
    assert not any(isinstance(each, AskFor) and each.number == 2 for each in done)
    assert running.id_of(2) == waited
    running.gives(WARM)
    for _ in range(LIMIT):  # a bolt that cannot start ends the topology all the same
        running.fails(2)
    assert running.core.slots[2].policy.failures == LIMIT


def test_one_that_is_too_small_stays_where_it_is() -> None:
    running = Running()
    done = running.does(YarnPlanChanged({1: SMALL, 2: LARGE, 3: Ask(4096, 1)}))
    assert AskFor(3, Ask(4096, 1)) in done
    assert running.core.slots[WARM].phase is SlotPhase.RUNNING


def test_warm_ones_that_do_not_run_leave_the_topology_as_it_is() -> None:
    running = Running()
    for _ in range(LIMIT):
        running.fails(WARM)
    running.does(ContainerCompleted(running.id_of(WARM), 1, "no python"))
    assert WARM not in running.core.slots
    assert running.core.slots[1].phase is SlotPhase.RUNNING


def test_the_next_application_master_knows_who_was_warm() -> None:
    """By what the one before it has published; YARN itself knows it by the number of then."""
    node = {"containers": {"3": {"id": "container_3", "phase": "running"}}}
    number = requests.number_of(node, "container_3")
    assert number == 3
    core = Core(LIMIT, warm=1)
    core.handle(YarnPlanChanged({3: SMALL}), 0.0)
    grant = Grant("container_3", WARM, "n:1", "n:2", LARGE)
    core.handle(Registered((replace(grant, number=number),)), 0.0)
    assert core.slots[3].phase is SlotPhase.RUNNING
    assert core.slots[WARM].phase is SlotPhase.ASKED


@pytest.mark.parametrize(
    ("node", "number", "ends"),
    [
        (None, None, True),
        ({"containers": {}, "warm": {}}, None, True),
        ({"warm": {str(WARM): {"id": "a", "phase": "starting"}}}, None, False),
        ({"warm": {str(WARM): {"id": "a", "phase": "ending"}}}, None, True),
        ({"warm": {str(WARM): {"id": "b", "phase": "running"}}}, None, True),
        ({"containers": {"3": {"id": "a", "phase": "running"}}, "warm": {}}, 3, True),
    ],
)
def test_a_warm_container_sees_what_becomes_of_it(
    node: dict[str, Any] | None, number: int | None, ends: bool
) -> None:
    assert requests.number_of(node, "a") == number
    assert (requests.warm_end_reason(node, "a") is not None) == ends


def test_it_starts_as_the_container_that_it_became() -> None:
    words = ["--store", "zk://z", "--container", str(WARM), "--relocated", "a", "b"]
    assert numbered(words, 3) == ["--store", "zk://z", "--container", "3", *words[4:]]
    assert is_warm(WARM)
    assert not is_warm(3)
