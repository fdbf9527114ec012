"""Consequences of a container's end, and the wait of a task before a failure."""

from dataclasses import dataclass
from typing import Any

import pytest

from heron_core.exit_codes import ExitCode
from heron_engine.scheduler.backends.spark.container_task import NextStep, next_step, pause_secs
from heron_engine.scheduler.backends.spark.session import lost_executors, reason_of, text_of
from heron_engine.scheduler.container.agent_core import ContainerEnd


@pytest.mark.parametrize(
    ("code", "attempt", "first", "requested", "expected"),
    [
        (0, 0, True, "end", NextStep.OVER),
        (-9, 0, True, "end", NextStep.OVER),
        (0, 0, True, "", NextStep.RETRY),
        (-9, 0, True, "", NextStep.RETRY),
        (1, 7, False, "", NextStep.RETRY),
        (0, 0, True, "restart", NextStep.RESTART),
        (-9, 2, False, "restart", NextStep.RESTART),
        (0, 0, False, "end restart", NextStep.OVER),
        (ExitCode.ENDED, 0, False, "restart", NextStep.FINAL),
        (ExitCode.TOPOLOGY_FAILED, 0, True, "", NextStep.FINAL),
        (ExitCode.TOPOLOGY_FAILED, 3, False, "", NextStep.FINAL),
        (ExitCode.UNSTARTED, 0, True, "", NextStep.FINAL),
        (ExitCode.UNSTARTED, 1, True, "", NextStep.RETRY),
        (ExitCode.UNSTARTED, 0, False, "", NextStep.RETRY),
    ],
)
def test_what_follows(
    code: int, attempt: int, first: bool, requested: str, expected: NextStep
) -> None:
    """A container that never began ends the topology only at its very first start."""
    step = next_step(
        ContainerEnd(code, ""),
        attempt,
        first=first,
        end_requested="end" in requested,
        restart_requested="restart" in requested,
    )
    assert step is expected


@pytest.mark.parametrize(
    ("ran_secs", "attempt", "expected"),
    [(0.1, 0, 0.0), (0.1, 1, 0.2), (0.1, 2, 0.4), (0.1, 20, 30.0), (10.0, 20, 0.0)],
)
def test_pauses(ran_secs: float, attempt: int, expected: float) -> None:
    """As everywhere: at once the first time, then ever later; at once again after a stable run."""
    assert pause_secs(ContainerEnd(-9, "", ran_secs), attempt) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no reason given"),
        ("one line\nanother", "one line"),
        ("An error occurred.\n\tat x\nCaused by: a: b\n\tat y\nCaused by: c:  d\n\tat z", "c: d"),
        (
            "Job aborted\npyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] 3.9\nx",
            "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] 3.9",
        ),
    ],
)
def test_the_line_of_an_error_of_spark_s(text: str, expected: str) -> None:
    assert reason_of(text) == expected


class Silent(Exception):
    """As py4j's errors are once the JVM is gone."""

    def __str__(self) -> str:
        raise ConnectionError("no JVM to ask")


def test_an_error_that_cannot_say_what_it_is_is_named_all_the_same() -> None:
    assert text_of(ValueError("plain")) == "plain"
    assert text_of(Silent()) == "Silent, and its JVM cannot say why any more"


@dataclass(frozen=True)
class Executor:
    """Of Spark's status store: reason of the removal, None while present."""

    reason: str | None

    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        return self.reason is None

    def removeReason(self) -> "Executor":  # noqa: N802 - Spark's name
        return self

    def isDefined(self) -> bool:  # noqa: N802 - Spark's name
        return self.reason is not None

    def get(self) -> str:
        return str(self.reason)


@dataclass(frozen=True)
class Application:
    """A Spark context down to its executors."""

    found: tuple[Executor, ...]

    @property
    def _jsc(self) -> "Application":
        return self

    def sc(self) -> "Application":
        return self

    def statusStore(self) -> "Application":  # noqa: N802 - Spark's name
        return self

    def executorList(self, active: bool) -> "Application":  # noqa: N802 - Spark's name
        return self

    def size(self) -> int:
        return len(self.found)

    def apply(self, index: int) -> Executor:
        return self.found[index]


def test_executors_that_end_by_themselves_are_counted() -> None:
    # The workers' Java is another one: each executor ends right after its registration.
    ended = Executor("Command exited with code 1")
    idle = Executor("Executor killed by driver.")
    context: Any = Application((Executor(None), ended, idle, ended))
    assert lost_executors(context) == (2, "Command exited with code 1")
