"""`--scheduler spark`: equal results of equal topologies, on each of Spark's masters."""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.process.process_support import TOPOLOGIES
from tests.spark.spark_scheduler_support import (
    GONE_SECS,
    SPARK_SECS,
    SparkPlace,
    Standalone,
    bare_python,
    elsewhere,
)

LINES = [f"word{number % 7} word{number % 11} naïve" for number in range(3000)]
EXPECTED = Counter(word for line in LINES for word in line.split())
TWO_CONTAINERS = ("-w", "2", "-o", "topology.reliability.mode=ATLEAST_ONCE")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SparkPlace]:
    """Place of this test's topologies; remaining ones are killed at the end."""
    made = SparkPlace(tmp_path)
    yield made
    made.close()


def written(place: SparkPlace) -> Path:
    """The text as a file."""
    file = place.path / "text.txt"
    file.write_text("\n".join(LINES), "utf-8")
    return file


def is_counted(place: SparkPlace) -> None:
    """AssertionError unless every word of the text was counted once, and every line acked."""
    total: Counter[str] = Counter()
    for counts in place.results_of("count").values():
        total.update(counts)
    assert total == EXPECTED
    (lines,) = place.results_of("lines").values()
    assert (lines["acked"], lines["failed"]) == (len(LINES), 0)


def test_a_foreground_run_on_local_cores(place: SparkPlace) -> None:
    """Counts are right, components are ended gracefully, and their output is shown."""
    code = place.path / "code"
    code.mkdir()
    for each in ("counts.py", "results.py"):
        shutil.copy(TOPOLOGIES / each, code)
    file = code / "printing.py"
    file.write_text(PRINTING, "utf-8")
    words = ("--scheduler", "spark", "--master", "local[2]", *TWO_CONTAINERS)
    text = ("-o", f"test.text={written(place)}")
    finished = place.heronpy("run", file, *words, *text, secs=SPARK_SECS).succeeded()
    is_counted(place)
    assert "split[0] | begins" in finished.out.splitlines()
    assert "ended after" in finished.err
    place.nothing_is_left(GONE_SECS)


PRINTING = """
import counts
from heronpy_compat import Grouping, Topology


class Split(counts.Split):
    def initialize(self, config, context):
        print("begins")


class Printing(Topology):
    lines = counts.Lines.spec()
    split = Split.spec(inputs=[lines])
    count = counts.Count.spec(par=2, inputs={split: Grouping.fields("word")})
"""


def test_an_end_while_spark_starts_leaves_nothing(place: SparkPlace) -> None:
    """An end before the JVM exists does not wait for the start."""
    words = ("--scheduler", "spark", "--master", "local[2]", "-n", "Forever")
    run = place.start("run", TOPOLOGIES / "forever.py", *words)
    driver = run.until(lambda: run.process_called("heron: Spark driver"), "there is a driver")
    run.until(driver.children, "a JVM starts")
    run.end()
    place.nothing_is_left(GONE_SECS)


def test_other_machines_need_a_master_spark_and_zookeeper(
    place: SparkPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing parts are named in one line before any start."""
    told = {
        ("local[1]",): "local[1] has 1 slot, and 2 are needed, one for each container: use "
        "--master 'local[2]', or pack into fewer containers (-w 1)",
        ("spark://elsewhere:7077",): (
            "--master spark://elsewhere:7077 runs containers on other machines, which cannot "
            "read the state store in this machine's files: give --zookeeper HOST:PORT"
        ),
        ("spark://127.0.0.1:1",): "no Spark master answers at spark://127.0.0.1:1: "
        "[Errno 111] Connection refused",
        ("moon",): "--master 'moon' is not a Spark master: local[2], local-cluster[2,1,600], "
        "spark://HOST:7077, yarn or k8s://https://HOST:6443",
        ("local[2]", "--python", "/no/python"): "the workers' Python '/no/python' is not a program",
    }
    for words, line in told.items():
        finished = place.submit(TOPOLOGIES / "forever.py", *words, "-n", "Forever", "-w", "2")
        assert (finished.code > 0, finished.errors) == (True, [f"heronpy: {line}"])
    place.nothing_is_left()


def test_workers_elsewhere_need_nothing_but_python(
    place: SparkPlace, standalone_cluster: Standalone, zookeeper: EmbeddedZooKeeper
) -> None:
    """On a standalone cluster reached by name, with state in ZooKeeper, a separate home and a
    Python without packages: equal counts."""
    python = bare_python(place.path / "bare")
    words = ("-N", place.name, *elsewhere(place, standalone_cluster, zookeeper, python))
    text = ("-o", f"test.text={written(place)}")
    counts = TOPOLOGIES / "counts.py"
    place.heronpy("run", counts, *words, *TWO_CONTAINERS, *text, secs=SPARK_SECS).succeeded()
    is_counted(place)
    logs = {each.name for each in standalone_cluster.logs(place.name).iterdir()}
    assert {"container-1.log", "container-2.log", "split-2.log"} <= logs
    assert "topology-master.log" not in logs
