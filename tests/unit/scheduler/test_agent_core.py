"""What the agent of one container decides, with a clock of its own."""

import pytest

from heron_core.transition_log import STEPS_MAX
from heron_engine.scheduler.container.agent_core import (
    POLL_SECS,
    AgentChildEnded,
    AgentCore,
    AgentHeartbeat,
    AgentKill,
    AgentPhase,
    AgentTerminate,
    AgentTimer,
    ContainerEnd,
    Event,
    Instruction,
    KillRequested,
    StopRequested,
)
from heron_engine.scheduler.container.shutdown_timeouts import (
    CONTAINER_SHUTDOWN_SECS,
    INSTANCE_SHUTDOWN_SECS,
    SERVICE_SHUTDOWN_SECS,
)

SILENT_SECS = 15.0
BEGAN = 100.0


class Agent:
    """A core and a clock; the core is validated after each event."""

    def __init__(self, silent_secs: float = SILENT_SECS) -> None:
        self.core = AgentCore(BEGAN, silent_secs)
        self.now = BEGAN

    def does(self, event: Event, after_secs: float = 0.0) -> list[Instruction]:
        """What follows from an event, and from the looks at the clock until then."""
        instructions: list[Instruction] = []
        until = self.now + after_secs
        while self.now + POLL_SECS < until:
            self.now += POLL_SECS
            instructions += self.core.handle(AgentTimer(), self.now)
        self.now = until
        instructions += self.core.handle(event, self.now)
        self.core.validate()
        return instructions


@pytest.fixture
def agent() -> Agent:
    """One whose container runs."""
    return Agent()


def test_how_a_container_ended_is_known_with_what_it_said(agent: Agent) -> None:
    agent.now += 60.0
    assert agent.does(AgentChildEnded(4, "a bolt kept failing")) == []
    assert agent.core.end == ContainerEnd(4, "a bolt kept failing", 60.0)


def test_a_container_ends_in_order(agent: Agent) -> None:
    assert agent.does(StopRequested("kill")) == [AgentTerminate()]
    assert agent.does(StopRequested("again")) == []
    agent.does(AgentChildEnded(0), 3.0)
    assert agent.core.end == ContainerEnd(0, "", 3.0, "kill")


def test_one_that_does_not_end_is_killed(agent: Agent) -> None:
    # User code hangs in its close method, and the executor is stuck as well.
    agent.does(StopRequested("kill"))
    agent.does(AgentHeartbeat(), CONTAINER_SHUTDOWN_SECS)
    assert agent.does(AgentTimer()) == []
    assert agent.does(AgentTimer(), 0.1) == [AgentKill()]
    agent.does(AgentChildEnded(-9))
    end = agent.core.end
    assert end is not None
    assert (end.stop_reason, end.reason) == ("kill", "it did not stop in time and was killed")


def test_a_silent_one_is_killed_once(agent: Agent) -> None:
    agent.does(AgentHeartbeat(), 5.0)
    assert agent.does(AgentTimer(), SILENT_SECS) == []
    assert agent.does(AgentTimer(), 0.1) == [AgentKill()]
    assert agent.does(AgentTimer(), 60.0) == []
    agent.does(AgentChildEnded(-9, "half a sen"))
    assert agent.core.end is not None
    assert agent.core.end.reason == "it was silent for 15 s and was killed"


def test_an_agent_that_was_stopped_itself_kills_nobody(agent: Agent) -> None:
    # The machine's container was frozen for a minute, and all in it stood still.
    agent.does(AgentHeartbeat(), 5.0)
    agent.now += 60.0
    assert agent.does(AgentTimer()) == []
    assert agent.does(AgentTimer(), SILENT_SECS - POLL_SECS) == []
    assert agent.does(AgentTimer(), POLL_SECS + 0.1) == [AgentKill()]


def test_where_the_cluster_looks_after_silence_it_kills_nobody() -> None:
    # Aurora's own health check does.
    agent = Agent(float("inf"))
    assert agent.does(AgentTimer(), 1e3) == []


def test_when_nobody_is_left_to_wait_it_is_killed_at_once(agent: Agent) -> None:
    agent.does(StopRequested("end"))
    assert agent.does(KillRequested("the driver is gone")) == [AgentKill()]
    assert agent.does(KillRequested("the driver is gone")) == []
    assert agent.does(StopRequested("end")) == []
    assert agent.core.phase is AgentPhase.KILLED


def test_what_comes_after_its_end_does_nothing(agent: Agent) -> None:
    agent.does(AgentChildEnded(0))
    assert agent.does(KillRequested("late")) == []
    assert agent.does(StopRequested("late")) == []
    assert agent.core.phase is AgentPhase.ENDED


def test_the_story_has_a_bound_and_no_heartbeats(agent: Agent) -> None:
    for _ in range(2 * STEPS_MAX):
        agent.does(AgentHeartbeat())
        agent.does(AgentTimer())
    assert agent.core.transition_log().steps == ()
    for _ in range(2 * STEPS_MAX):
        agent.does(StopRequested("kill"))
    assert len(agent.core.transition_log().steps) == STEPS_MAX


def test_a_container_has_longer_than_its_processes() -> None:
    assert CONTAINER_SHUTDOWN_SECS > INSTANCE_SHUTDOWN_SECS + SERVICE_SHUTDOWN_SECS
