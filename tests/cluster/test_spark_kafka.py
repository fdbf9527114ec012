"""Kafka by Spark's own connector -> a topology in the user's session -> Delta, killed with -9."""

import os
import subprocess
import sys
import uuid
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from deltalake import DeltaTable

from heron_engine.scheduler.backends.spark.render import JVM_OPTIONS
from heron_io.java import find_java, java_home_for_spark
from tests.cluster.jars import NoJars, jars_of
from tests.cluster.kafka_broker import KafkaBroker
from tests.process.process_support import until

pytestmark = pytest.mark.timeout(600)

PROGRAM = Path(__file__).with_name("kafka_by_spark.py")
RECORDS = 60
SECS = 240.0
"""For what takes half a minute where nothing else runs."""


class Program:
    """The program, in a session of two cores with the connector's jars."""

    def __init__(self, folder: Path, broker: KafkaBroker, topic: str, jars: Path) -> None:
        self._folder = folder
        self._words = [sys.executable, str(PROGRAM), broker.address, topic, str(folder)]
        named = ",".join(map(str, jars.glob("*.jar")))
        options = f"--master local[2] --conf spark.ui.enabled=false --jars {named}"
        options += f" --driver-java-options '{JVM_OPTIONS}'"
        self._variables = {
            **os.environ,
            "JAVA_HOME": str(Path(find_java()).resolve().parents[1]),
            **java_home_for_spark(str(folder)),
            "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def run_until(self, number: int) -> None:
        """All of its processes are killed with -9 when the table has so many rows."""
        with (self._folder / "errors.txt").open("ab") as errors:
            program = subprocess.Popen(
                self._words, env=self._variables, stdin=subprocess.DEVNULL, stdout=errors,
                stderr=errors, cwd=self._folder,
            )  # fmt: skip

        def written() -> bool:
            said = (self._folder / "errors.txt").read_text("utf-8", "replace")
            assert program.poll() is None, said[-3000:]
            return len(self.rows()) >= number

        try:
            until(written, f"{number} rows", SECS)
        finally:
            children: list[psutil.Process] = []
            with suppress(psutil.NoSuchProcess):
                children = psutil.Process(program.pid).children(recursive=True)
            program.kill()
            for each in children:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            program.wait()

    def rows(self) -> list[tuple[int, int, int]]:
        """Those of the table."""
        table = str(self._folder / "table")
        if not DeltaTable.is_deltatable(table):
            return []
        found = DeltaTable(table).to_pyarrow_table().to_pylist()
        return [(each["parity"], each["number"], each["seen"]) for each in found]


@pytest.fixture(scope="session")
def connector() -> Path:
    """The folder with the jars of Spark's connector."""
    try:
        return jars_of("spark_kafka")
    except NoJars as error:
        pytest.fail(str(error), pytrace=False)


def test_a_topic_by_spark_s_connector_is_in_a_delta_table_once_though_all_is_killed(
    kafka: KafkaBroker, connector: Path, tmp_path: Path
) -> None:
    topic = f"numbers-{uuid.uuid4().hex[:8]}"
    kafka.create(topic)
    kafka.produce(topic, range(RECORDS))
    program = Program(tmp_path, kafka, topic, connector)
    program.run_until(1)
    kafka.produce(topic, range(RECORDS, 2 * RECORDS))
    program.run_until(2 * RECORDS)
    rows = program.rows()
    assert Counter(number for _, number, _ in rows) == Counter(range(2 * RECORDS))
    for parity in (0, 1):
        seen = sorted(count for each, _, count in rows if each == parity)
        assert seen == list(range(1, RECORDS + 1))
