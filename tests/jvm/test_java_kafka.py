"""Storm's own KafkaSpout, in its JVM, with a real broker."""

import uuid
from collections import Counter
from pathlib import Path

from tests.cluster.kafka_broker import PARTITIONS, KafkaBroker
from tests.jvm.java_place import JVM_SECS, JavaPlace
from tests.process.process_support import Running

RECORDS = 2000
DONE = [RECORDS // PARTITIONS] * PARTITIONS
CONFIG = "org.apache.storm.kafka.spout.KafkaSpoutConfig"


def spout_file(place: JavaPlace, kafka: KafkaBroker, topic: str, group: str) -> Path:
    """The topology as storm-kafka-client's documentation has it for Flux."""
    return place.flux(
        [
            {
                "id": "kafka",
                "className": "org.apache.storm.kafka.spout.KafkaSpout",
                "constructorArgs": [{"ref": "config"}],
            }
        ],
        [{"id": "sink", "className": "python_parts.Rows"}],
        ["kafka sink SHUFFLE"],
        [
            {
                "id": "builder",
                "className": CONFIG,
                "factory": "builder",
                "factoryArgs": [kafka.address, [topic]],
                "configMethods": [
                    {"name": "setProp", "args": ["group.id", group]},
                    {"name": "setOffsetCommitPeriodMs", "args": [200]},
                    {"name": "setFirstPollOffsetStrategy", "args": ["EARLIEST"]},
                ],
            },
            {"id": "config", "className": CONFIG, "constructorArgs": [{"ref": "builder"}]},
        ],
    )


def stopped(running: Running) -> None:
    """It runs until somebody ends it: Ctrl-C, and it ends in good order."""
    running.signal()
    running.wait(JVM_SECS)


def test_each_record_arrives_and_is_committed(place: JavaPlace, kafka: KafkaBroker) -> None:
    topic, group = f"java-{uuid.uuid4().hex}", f"group-{uuid.uuid4().hex}"
    kafka.create(topic)
    kafka.produce(topic, range(RECORDS))
    running = place.start("run", spout_file(place, kafka, topic, group))
    running.until(lambda: kafka.committed(topic, group) == DONE, "all is committed", JVM_SECS)
    stopped(running)
    rows = place.results()["rows"]
    # topic, partition, offset, key, value
    assert Counter(row[5] for row in rows) == Counter(repr(str(x)) for x in range(RECORDS))
    assert {row[1] for row in rows} == {repr(topic)}
