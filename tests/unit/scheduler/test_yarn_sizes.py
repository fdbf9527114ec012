"""Containers of YARN's that run are made larger and smaller where they are."""

from collections.abc import Mapping
from typing import Any

import pytest

from heron_core.plans import GIB, ContainerPlan, PackingPlan, Resource
from heron_engine.scheduler.backends.yarn import requests
from heron_engine.scheduler.backends.yarn.core import Core
from heron_engine.scheduler.backends.yarn.events import (
    Allocated,
    Ask,
    AskFor,
    CapacityWanted,
    ContainerCompleted,
    ContainerStarted,
    Event,
    Grant,
    NotResized,
    Recovered,
    Registered,
    Resize,
    Resized,
    Tick,
    YarnLog,
    YarnPlanChanged,
)
from heron_engine.scheduler.backends.yarn.render import asks
from heron_engine.scheduler.backends.yarn.sizes import CAPACITY_SECS, SHRINK_SECS

SMALL, LARGE = Ask(640, 1), Ask(900, 2)
GRANT = Grant("container_1", 1, "node:1", "node:2", SMALL)


class Running:
    """Container 1 runs with SMALL."""

    def __init__(self) -> None:
        self.core, self.now = Core(3), 100.0
        for event in (
            YarnPlanChanged({1: SMALL}), Registered(), Allocated(GRANT), ContainerStarted(GRANT.id)
        ):  # fmt: skip
            self.does(event)

    def does(self, event: Event) -> list[Any]:
        """What is asked of YARN."""
        done = self.core.handle(event, self.now)
        self.core.validate()
        return [each for each in done if isinstance(each, Resize | AskFor)]

    def later(self, secs: float) -> list[Any]:
        self.now += secs
        return self.does(Tick())

    @property
    def granted(self) -> Ask | None:
        return self.core.slots[1].granted


def grown() -> Running:
    """An update has made it LARGE."""
    running = Running()
    assert running.does(CapacityWanted({1: LARGE})) == [Resize(GRANT.id, LARGE, grows=True)]
    assert running.later(1.0) == []  # it was asked for
    running.does(Resized(GRANT.id, LARGE))
    assert running.does(YarnPlanChanged({1: SMALL}, is_settled=False)) == []
    assert running.later(CAPACITY_SECS) == []  # an update may take its time
    assert running.does(YarnPlanChanged({1: LARGE})) == []
    assert running.later(CAPACITY_SECS) == []
    return running


def test_it_grows_before_the_update_and_shrinks_after_the_one_back() -> None:
    running = grown()
    assert running.granted == LARGE
    running.does(YarnPlanChanged({1: SMALL}, is_settled=False))
    assert running.later(2 * SHRINK_SECS) == []
    running.does(YarnPlanChanged({1: SMALL}))
    # Processes that end may still have their memory: YARN would kill the whole container.
    assert running.later(SHRINK_SECS / 2) == []
    assert running.later(SHRINK_SECS) == [Resize(GRANT.id, SMALL, grows=False)]
    running.does(Resized(GRANT.id, SMALL))
    assert running.granted == SMALL


def test_it_may_be_rounded_up_by_yarn() -> None:
    running = Running()
    running.does(CapacityWanted({1: LARGE}))
    running.does(Resized(GRANT.id, Ask(1024, 2)))
    running.does(YarnPlanChanged({1: LARGE}))
    assert running.later(2 * SHRINK_SECS) == []


def test_an_update_that_never_begins_gives_its_room_back() -> None:
    running = Running()
    running.does(CapacityWanted({1: LARGE}))
    running.does(Resized(GRANT.id, LARGE))
    assert running.later(CAPACITY_SECS + 1) == [Resize(GRANT.id, SMALL, grows=False)]


def test_room_that_was_not_granted_is_withdrawn() -> None:
    running = Running()
    running.does(CapacityWanted({1: LARGE}))
    assert running.does(CapacityWanted({1: SMALL})) == [Resize(GRANT.id, SMALL, grows=True)]
    assert running.later(1.0) == []
    running.does(Resized(GRANT.id, LARGE))  # it came in the meantime
    assert running.later(SHRINK_SECS) == [Resize(GRANT.id, SMALL, grows=False)]


def test_what_yarn_refuses_is_not_asked_for_again() -> None:
    running = Running()
    running.does(CapacityWanted({1: LARGE}))
    running.does(NotResized(GRANT.id, "too large"))
    assert running.later(1.0) == []
    assert running.does(CapacityWanted({1: LARGE})) == [Resize(GRANT.id, LARGE, grows=True)]


def test_the_next_container_is_asked_for_as_large_as_the_last_one_was() -> None:
    running = grown()
    assert running.does(ContainerCompleted(GRANT.id, -100, "")) == [AskFor(1, LARGE)]


def test_the_next_application_master_sees_how_large_a_container_is() -> None:
    core = Core(3)
    for event in (YarnPlanChanged({1: LARGE}), Registered(), Recovered(GRANT)):
        core.handle(event, 0.0)
    done = [each for each in core.handle(Tick(), 1.0) if not isinstance(each, YarnLog)]
    assert done == [Resize(GRANT.id, LARGE, grows=True)]


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ([2048, 2], ""),
        (None, ""),  # of an application master that does not publish it
        ([2047, 2], "container 1 (2047 MB, 2 vcores) to have 2048 MB, 2 vcores"),
        ([4096, 1], "container 1 (4096 MB, 1 vcores) to have 2048 MB, 2 vcores"),
    ],
)
def test_the_command_line_sees_who_is_too_small(size: list[int] | None, words: str) -> None:
    row = {"id": "a", "host": "n:1", "http": "n:2", "phase": "running", "size": size}
    node: Mapping[str, Any] = {"containers": {"1": row}}
    plan = PackingPlan("t", (ContainerPlan(1, (), Resource(2.0, 2 * GIB, GIB)),))
    assert requests.growing_words(node, asks(plan)) == words
