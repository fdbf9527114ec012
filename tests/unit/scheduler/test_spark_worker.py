"""What follows from the end of a container, and how long a task waits before it fails."""

import pytest

from heron_core.exit_codes import ExitCode
from scheduler.backends.spark.container_task import End, pause_secs, verdict
from scheduler.backends.spark.session import reason_of


@pytest.mark.parametrize(
    ("end", "attempt", "first", "expected"),
    [
        (End(0, "", asked=True), 0, True, "over"),
        (End(-9, "", asked=True), 0, True, "over"),
        (End(0, ""), 0, True, "again"),
        (End(-9, ""), 0, True, "again"),
        (End(1, ""), 7, False, "again"),
        (End(0, "", again=True), 0, True, "restart"),
        (End(-9, "", again=True), 2, False, "restart"),
        (End(0, "", asked=True, again=True), 0, False, "over"),
        (End(ExitCode.ENDED, "done", again=True), 0, False, "final"),
        (End(ExitCode.GAVE_UP, "bolt"), 0, True, "final"),
        (End(ExitCode.GAVE_UP, "bolt"), 3, False, "final"),
        (End(ExitCode.UNSTARTED, "no store"), 0, True, "final"),
        (End(ExitCode.UNSTARTED, "no store"), 1, True, "again"),
        (End(ExitCode.UNSTARTED, "no store"), 0, False, "again"),
    ],
)
def test_verdicts(end: End, attempt: int, first: bool, expected: str) -> None:
    """A container that never began ends the topology only at its very first start."""
    assert verdict(end, attempt, first) == expected


@pytest.mark.parametrize(
    ("ran_secs", "attempt", "expected"),
    [(0.1, 0, 0.0), (0.1, 1, 0.2), (0.1, 2, 0.4), (0.1, 20, 10.0), (10.0, 20, 0.0)],
)
def test_pauses(ran_secs: float, attempt: int, expected: float) -> None:
    """As everywhere: at once the first time, then ever later; at once again after a stable run."""
    assert pause_secs(End(-9, "", ran_secs), attempt) == expected


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
