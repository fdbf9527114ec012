"""Pipelines on processes: an example of Beam as written, an error, `kill -9` of tasks."""

import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.testing.test_stream import TestStream

from heron_core.errors import TopologyError
from heronpy_compat.beam import HeronpyRunner
from tests.extras.beam import numbers_pipeline
from tests.process.process_support import until

RUNNER = ("--runner", "heronpy_compat.beam.HeronpyRunner", "--engine", "local")
DEADLINE_SECS = 150.0
NUMBERS = 12_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def pids_of(home: Path, component: str) -> list[int]:
    """The newest process of each task of a component."""
    log = home / ".heronpy/topologies/beam/logs/container-1.log"
    text = log.read_text() if log.exists() else ""
    newest = dict(re.findall(rf"started {component}\S*\[(\d+)\] \(task \d+\), pid (\d+)", text))
    return [int(pid) for pid in newest.values()]


def expected(numbers: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for number in range(numbers):
        start = number // numbers_pipeline.WINDOW_SECS * numbers_pipeline.WINDOW_SECS
        for kind in ("group", "state"):
            name = f"{kind}-{number % numbers_pipeline.KEYS}-{start}"
            counts[name] = counts.get(name, 0) + 1
    return counts


def test_beams_word_count_runs_as_written(home: Path) -> None:
    text = home / "words.txt"
    text.write_text("the king said the word\na king and a queen\n" * 50)
    example = [sys.executable, "-m", "apache_beam.examples.wordcount_minimal"]
    found = []
    for name, options in (("direct", ("--runner", "DirectRunner")), ("heron", RUNNER)):
        output = home / name
        subprocess.run(
            [*example, "--input", str(text), "--output", str(output), *options], check=True
        )
        lines = [line for file in home.glob(f"{name}-*") for line in file.read_text().splitlines()]
        found.append(sorted(lines))
    assert found[0] == found[1] != []


def test_a_dofn_that_raises_ends_the_run_with_its_transform(home: Path) -> None:
    program = home / "program.py"
    program.write_text(
        "import apache_beam as beam\n"
        "from heronpy_compat.beam import HeronpyRunner\n"
        "with beam.Pipeline(runner=HeronpyRunner('local')) as pipeline:\n"
        "    pipeline | beam.Create([0]) | 'Divide' >> beam.Map(lambda each: 1 / each)\n"
    )
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "ZeroDivisionError: division by zero [while running 'Divide']" in run.stderr
    assert "pipeline 'beam' ended with exit code 1" in run.stderr


def test_a_test_stream_of_processing_time_is_refused() -> None:
    events = TestStream().add_elements([1]).advance_processing_time(10)
    pipeline = beam.Pipeline(runner=HeronpyRunner("local"))
    _ = pipeline | events
    with pytest.raises(TopologyError, match="advances the processing time"):
        pipeline.run()


def test_killed_tasks_leave_windows_and_states_exact(home: Path) -> None:
    results = home / "results"
    results.mkdir()
    words = [sys.executable, "-m", "tests.extras.beam.numbers_pipeline", str(results), str(NUMBERS)]
    interval = "topology.stateful.checkpoint.interval.secs=1"
    process = subprocess.Popen(
        [*words, *RUNNER, "--topology_options", interval], start_new_session=True
    )

    def has_more_results(before: int) -> bool:
        assert process.poll() is None, "the pipeline has ended"
        return len(os.listdir(results)) > before

    try:
        for component in ("01-", "02-", "03-"):  # the source, a count of each kind
            has_more = partial(has_more_results, len(os.listdir(results)))
            until(has_more, "more results", DEADLINE_SECS)
            os.kill(pids_of(home, component)[0], signal.SIGKILL)
        assert process.wait(DEADLINE_SECS) == 0
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    found = {name: int((results / name).read_text()) for name in os.listdir(results)}
    assert found == expected(NUMBERS)
