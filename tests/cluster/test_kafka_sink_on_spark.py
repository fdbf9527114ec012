"""KafkaSink with `--engine spark` and a real broker: each number once, through kill -9."""

import uuid
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.cluster.kafka_broker import KafkaBroker
from tests.cluster.numbers_to_kafka import NUMBERS
from tests.process.process_support import Place, Running

FILE = Path(__file__).with_name("numbers_to_kafka.py")
BATCH = 40
"""Deliveries: the numbers take ten batches, of a second or two each."""
SECS = 240.0
"""For what takes half a minute where nothing else runs."""

pytestmark = pytest.mark.timeout(600)


def test_a_topic_has_each_number_once_though_driver_and_workers_are_killed(
    place: Place, kafka: KafkaBroker
) -> None:
    topic = f"copy-{uuid.uuid4().hex[:8]}"
    kafka.create(topic)

    def start() -> Running:
        settings = {"kafka.bootstrap.servers": kafka.address, "kafka.topic": topic}
        words = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
        spark = ("--engine", "spark", "--checkpoint", place.path / "checkpoint")
        return place.start("run", FILE, *spark, "--max-batch", BATCH, *words)

    running = start()
    running.until(lambda: kafka.texts(topic), "a batch is committed", SECS)
    for each in running.processes():
        with suppress(psutil.Error):  # it ends with its parent
            each.kill()
    running.wait()
    assert kafka.texts(topic).total() < NUMBERS, "it was killed too late to show anything"
    start().wait(SECS).succeeded()
    assert kafka.texts(topic) == Counter(map(str, range(NUMBERS)))
