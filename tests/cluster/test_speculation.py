"""Speculative copies of tasks on a cluster of two hosts: rows, files and records once.

Spark never starts the copy of a task on the host of the first attempt, so the workers have
addresses of their own.
"""

import json
import os
import sqlite3
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest
from deltalake import DeltaTable

from heron_io.java import find_java, java_home_for_spark
from tests.cluster.hanging import BATCH, HANGS_AT, NUMBERS
from tests.cluster.hanging_frames import EACH, FILES
from tests.cluster.kafka_broker import KafkaBroker
from tests.process.process_support import REPOSITORY
from tests.spark.spark_scheduler_support import SparkPlace, Standalone, standalone

pytestmark = pytest.mark.timeout(900)

TOPOLOGY = Path(__file__).with_name("hanging.py")
PROGRAM = Path(__file__).with_name("hanging_frames.py")
HOSTS = ("127.0.0.2", "127.0.0.3")
SPECULATION = {
    "spark.cores.max": "8",
    "spark.executor.cores": "4",
    "spark.executor.memory": "512m",
    "spark.locality.wait": "0s",
    "spark.speculation": "true",
    # As soon as half of the tasks of a stage are done, copies of tasks with twice the duration
    # start.
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "2",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.efficiency.enabled": "false",
}
SECS = 600.0
"""For operations of a minute on an idle machine."""


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A cluster with a worker on each of them."""
    folder = tmp_path_factory.mktemp("two-hosts")
    with standalone(folder, len(HOSTS), hosts=HOSTS) as cluster:
        yield cluster


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SparkPlace]:
    """Place of the query; its remains are killed at the end."""
    made = SparkPlace(tmp_path)
    yield made
    made.close()


def test_sinks_have_each_number_once_though_each_component_hangs_in_an_attempt(
    place: SparkPlace, two_hosts: Standalone, kafka: KafkaBroker
) -> None:
    """Files, Parquet, a database and a topic: two hang amid a batch, two behind its commit; before
    them their source and a bolt hang. Copies go on; a hung attempt wakes up batches later, or its
    host is ended."""
    topic, marks = f"hangs-{uuid.uuid4().hex[:8]}", place.path / "marks"
    marks.mkdir()
    kafka.create(topic)
    with sqlite3.connect(place.path / "numbers.db") as database:
        database.execute("CREATE TABLE numbers (number, double)")
    config = {
        "test.folder": marks,
        "file.folder": place.path / "lines",
        "parquet.folder": place.path / "rows",
        "database.connect": place.path / "numbers.db",
        "database.table": "numbers",
        "kafka.bootstrap.servers": kafka.address,
        "kafka.topic": topic,
        "kafka.value.position": 0,
    }
    cluster = ("--master", two_hosts.url, "--python", sys.executable)
    query = ("--engine", "spark", "--checkpoint", place.path / "checkpoint", "--max-batch", BATCH)
    settings = [w for each in SPECULATION.items() for w in ("--spark-config", "=".join(each))]
    options = [word for key, value in config.items() for word in ("-o", f"{key}={value}")]
    run = place.heronpy("run", TOPOLOGY, *query, *cluster, *settings, *options, secs=SECS)
    run.succeeded()
    assert {each.name for each in marks.glob("hung-*")} == {f"hung-{x}" for x in HANGS_AT}
    # A host without a worker may end earlier, because another worker waits for its end. A wake-up
    # in each sink is tried in tests/connectors (woke_behind_its_copy).
    assert any(marks.glob("woke-*"))
    once = Counter(range(NUMBERS))
    parts = (each.read_text() for each in (place.path / "lines").glob("part-*"))
    assert Counter(json.loads(x)["number"] for part in parts for x in part.splitlines()) == once
    rows = pyarrow.parquet.read_table(place.path / "rows").column("number")
    assert Counter(rows.to_pylist()) == once
    with sqlite3.connect(place.path / "numbers.db") as database:
        found = database.execute("SELECT number FROM numbers").fetchall()
    assert Counter(number for (number,) in found) == once
    assert kafka.texts(topic) == Counter(map(str, range(NUMBERS)))
    place.nothing_is_left(60.0)


def test_a_topology_s_dataframe_and_the_data_source_have_each_row_once_with_copies_of_tasks(
    tmp_path: Path, two_hosts: Standalone
) -> None:
    """A bolt hangs, then a task of the stage that writes: into Delta, Parquet and a folder for a
    topology; and a task that reads from the folder."""
    (tmp_path / "in").mkdir()
    for at in range(FILES):
        lines = (f"{number}\n" for number in range(at * EACH, (at + 1) * EACH))
        (tmp_path / "in" / f"{at}.txt").write_text("".join(lines))
    run_program(tmp_path, two_hosts)
    once = Counter(range(FILES * EACH))
    assert Counter(DeltaTable(tmp_path / "delta").to_pyarrow_table()["number"].to_pylist()) == once
    committed = pyarrow.parquet.read_table(tmp_path / "parquet").column("number")
    assert Counter(committed.to_pylist()) == once
    read = Counter(json.loads((tmp_path / "read.json").read_text()))
    assert read == once + once
    marks = {each.relative_to(tmp_path).as_posix() for each in tmp_path.glob("marks-*/*-*")}
    of_topologies = {
        f"marks-{query}/{mark}"
        for query in ("delta", "parquet")
        for mark in ("hung-bolt", "hung-stage")
    }
    woke = {each for each in marks if each.endswith("/woke-bolt")}
    assert marks - woke == {*of_topologies, "marks-segments/hung-stage", "marks-read/hung-stage"}


def run_program(folder: Path, cluster: Standalone) -> None:
    """hanging_frames.py, as a user runs it, to its end."""
    settings = {**SPECULATION, "spark.ui.enabled": "false"}
    settings["spark.executorEnv.PYTHONPATH"] = str(REPOSITORY)
    options = " ".join(f"--conf {key}={value}" for key, value in settings.items())
    variables = {
        **os.environ,
        "JAVA_HOME": str(Path(find_java()).resolve().parents[1]),
        **java_home_for_spark(str(folder)),
        "PYSPARK_SUBMIT_ARGS": f"--master {cluster.url} {options} pyspark-shell",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(REPOSITORY),
    }
    said = folder / "said.txt"
    with said.open("wb") as file:
        done = subprocess.run(
            [sys.executable, str(PROGRAM), str(folder)],
            env=variables, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder,
            timeout=SECS, check=False,
        )  # fmt: skip
    assert done.returncode == 0, said.read_text("utf-8", "replace")[-3000:]
