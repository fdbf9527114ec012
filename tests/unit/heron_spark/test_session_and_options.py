"""Smaller pieces: options, printed lines, calls for later, masters, errors."""

import io
import re

import pytest

from heron_core.errors import HeronError, UsageError
from heron_spark.driver.session import check_master, first_line, is_one_machine, master_url
from heron_spark.options import SparkOptions
from heron_spark.worker.callback_queue import CallbackQueue
from heron_spark.worker.printing import KEPT_CHARACTERS, Printed, PrintedLines


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            SparkOptions(master="lokal"),
            "--master 'lokal' is not a Spark master: local[2], local-cluster[",
        ),
        (SparkOptions(max_batch=0), "--max-batch must be at least 1, not 0"),
        (SparkOptions(batch_secs=0), "--batch-secs must be more than 0"),
        (SparkOptions(config=(("ui.port", "1"),)), "'ui.port': Spark's keys start with spark."),
    ],
)
def test_wrong_options_are_named(options: SparkOptions, told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        options.check()


def test_printed_lines_belong_to_who_printed_them() -> None:
    log = io.StringIO()
    printed, one, other = Printed(log, echo=True), PrintedLines(), PrintedLines()
    printed.lines = one
    print("a", "b", file=printed)
    printed.write("half ")
    printed.lines = other
    printed.write("other\n")
    printed.lines = one
    printed.write("a line\n")
    assert one.take() == ["a b", "half a line"]
    assert other.take() == ["other"]
    assert one.take() == []
    assert log.getvalue() == "a b\nhalf other\na line\n"


def test_a_flood_of_lines_is_cut_and_counted() -> None:
    lines = PrintedLines()
    lines.add("x" * (KEPT_CHARACTERS - 10) + "\n" + "y" * 20 + "\n" + "z\n")
    kept = lines.take()
    assert len(kept) == 2
    assert kept[1] == "(2 more lines)"
    lines.add("again\n")
    assert lines.take() == ["again"]


def test_calls_are_made_when_they_are_due() -> None:
    now, made = [10.0], list[str]()
    todo = CallbackQueue(lambda: now[0])
    todo.later(2.0, lambda: made.append("second"))
    todo.later(1.0, lambda: made.append("first"))
    todo.soon(lambda: made.append("soon"))
    todo.run()
    assert made == ["soon"]
    now[0] = 12.0
    todo.run()
    assert made == ["soon", "first", "second"]


def test_a_call_that_asks_for_another_does_not_hold_the_batch_up() -> None:
    made: list[int] = []

    def again() -> None:
        made.append(1)
        todo.soon(again)

    todo = CallbackQueue(lambda: 0.0)
    todo.soon(again)
    todo.run()
    assert made == [1]


@pytest.mark.parametrize(
    ("master", "url"),
    [
        ("local", "local[1,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2]", "local[2,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://h:7077", "spark://h:7077"),
    ],
)
def test_local_tasks_have_several_attempts(master: str, url: str) -> None:
    assert master_url(master) == url


def test_masters_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    for master in ("local", "local[2]", "local[*,3]", "local-cluster[2,1,600]", "k8s://x"):
        SparkOptions(master=master).check()
        check_master(master)
    with pytest.raises(UsageError, match="HADOOP_CONF_DIR"):
        check_master("yarn")
    with pytest.raises(HeronError, match=r"no Spark master answers at spark://127\.0\.0\.1:1"):
        check_master("spark://127.0.0.1:1")


def test_of_a_java_error_the_cause_is_told() -> None:
    text = "org.Outer: what\n\tat x\nCaused by: org.Inner: why\n\tat y\n"
    assert first_line(Exception(text)) == "org.Inner: why"
    assert first_line(Exception("one line\nanother")) == "one line"


def test_of_a_worker_s_python_that_does_not_run_the_reason_is_told() -> None:
    missing = (
        'Job aborted: java.io.IOException: Cannot run program "/no/python": error=2, No such file '
        "or directory\n\tat x\nCaused by: java.io.IOException: error=2, No such file or directory\n"
    )
    told = 'Cannot run program "/no/python": error=2, No such file or directory'
    assert first_line(Exception(missing)) == told
    other = (
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        '  File "worker.py", line 1\n'
        "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in "
        "worker has different version: 3.9 than that in driver: 3.11\n\n\tat x\n"
    )
    assert first_line(Exception(other)).startswith("[PYTHON_VERSION_MISMATCH] Python in worker")
    lacking = "Traceback\n  x\nModuleNotFoundError: No module named 'pyarrow'\n"
    assert first_line(Exception(lacking)) == "ModuleNotFoundError: No module named 'pyarrow'"


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local[2]", True),
        ("local-cluster[2, 1, 600]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://127.0.0.1:7077,other:7077", False),
        ("spark://host:7077", False),
        ("yarn", False),
    ],
)
def test_where_workers_are(master: str, here: bool) -> None:
    assert is_one_machine(master) is here
