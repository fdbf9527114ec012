"""Runs copy_topic.py of docs/CONNECTORS.md against librdkafka's mock cluster, with the Python of a
clean environment: prints what was copied."""

import subprocess
import sys

from confluent_kafka import Consumer, Producer, TopicPartition

RECORDS = 100

broker = Producer({"test.mock.num.brokers": 1})
servers = ",".join(
    f"{each.host}:{each.port}" for each in broker.list_topics(timeout=10).brokers.values()
)
for topic in ("numbers", "copy"):
    broker.list_topics(topic, timeout=10)
for number in range(RECORDS):
    broker.produce("numbers", str(number), key=str(number))
assert broker.flush(10) == 0

options = (f"kafka.bootstrap.servers={servers}", "kafka.finish.at.end=true")
words = [word for option in options for word in ("-o", option)]
done = subprocess.run([sys.argv[1], "run", "copy_topic.py", *words], check=False)
assert done.returncode == 0, done.returncode

consumer = Consumer({"bootstrap.servers": servers, "group.id": "of the test"})
partitions = consumer.list_topics("copy", timeout=10).topics["copy"].partitions
consumer.assign([TopicPartition("copy", partition, 0) for partition in partitions])
found: list[int] = []
while len(found) < RECORDS:
    records = consumer.consume(RECORDS, 30)
    assert records, "no more records come"
    found += [int(record.value() or b"") for record in records]
assert sorted(found) == list(range(RECORDS))
print("copied", len(found))
