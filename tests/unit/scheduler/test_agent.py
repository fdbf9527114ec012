"""The agent of one container with a real process: what it runs is a stand-in for a container."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from heron_core.supervision import MESSAGE
from heron_engine.scheduler.container.agent import ContainerAgent
from heron_engine.scheduler.container.agent_core import ContainerEnd

SILENT_SECS = 60.0
"""A deadline that nothing comes near."""
WAITS = "import sys; sys.stdout.write('\\0'); sys.stdout.flush(); sys.stdin.read()"
"""Until its lifeline ends."""

Maker = Callable[..., ContainerAgent]


@pytest.fixture
def runs(tmp_path: Path) -> Maker:
    """Makes the agent of a container that is this program."""

    def made(program: str, silent_secs: float = SILENT_SECS) -> ContainerAgent:
        package = tmp_path / "heron_engine" / "scheduler" / "container"
        package.mkdir(parents=True)
        for folder in (package, *list(package.parents)[:2]):  # else ours would be found
            (folder / "__init__.py").touch()
        (package / "__main__.py").write_text(program)
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return ContainerAgent(
            ["--container", "1"], silent_secs, environment=environment, folder=str(tmp_path)
        )

    return made


def test_its_arguments_its_code_and_its_reason(runs: Maker) -> None:
    program = "import sys; sys.stdout.write('\\0\\0' + ' '.join(sys.argv[1:])); sys.exit(4)"
    end = runs(program).run()
    assert (end.code, end.reason, end.stop_reason) == (4, "--container 1", None)


def test_it_ends_in_order_when_another_thread_says_so(runs: Maker) -> None:
    agent = runs(f"import signal; signal.signal(signal.SIGTERM, lambda *_: exit(0)); {WAITS}")
    ends: list[ContainerEnd] = []
    waiting = threading.Thread(target=lambda: ends.append(agent.run()))
    waiting.start()
    agent.stop("kill")
    waiting.join(SILENT_SECS)
    assert [end.stop_reason for end in ends] == ["kill"]


def test_one_that_is_to_stop_before_it_starts_is_not_started(runs: Maker) -> None:
    agent = runs("raise AssertionError")
    agent.stop("the application is over")
    assert agent.run() == ContainerEnd(0, "", 0.0, "the application is over")


def test_a_silent_one_is_killed(runs: Maker) -> None:
    end = runs(WAITS, 0.01).run()
    assert (end.code, end.reason) == (-9, "it was silent for 0.01 s and was killed")


def test_one_that_says_nonsense_is_killed(runs: Maker) -> None:
    nonsense = MESSAGE + b"\xff" * 4
    end = runs(f"import sys; sys.stdout.buffer.write({nonsense!r}); {WAITS}").run()
    assert end.code == -9
    assert "of at most" in end.reason


def test_it_ends_with_its_agent(runs: Maker) -> None:
    # Its lifeline closes.
    agent = runs(WAITS)
    agent.start()
    agent.close()
    assert agent.silence_secs < SILENT_SECS


def test_the_agent_s_own_business_goes_on_meanwhile(runs: Maker) -> None:
    # A connection with Spark's driver, which wants the end.
    agent = runs(WAITS)
    readable, writable = os.pipe()
    os.write(writable, b"!")

    def obey() -> None:
        agent.unwatch(readable)
        agent.kill("the driver is gone")

    agent.watch(readable, obey)
    end = agent.run()
    os.close(readable)
    os.close(writable)
    assert (end.code, end.reason) == (-9, "the driver is gone")
    assert [step.effects for step in agent.transition_log().steps] == [("AgentKill()",), ()]
