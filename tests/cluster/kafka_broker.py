"""A real Kafka: a broker, also its own controller (KRaft)."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic

from tests.cluster.servers import START_SECS, Servers, free_ports
from tests.process.process_support import until

PARTITIONS = 4
GUEST = {
    "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN",
    "sasl.username": "guest", "sasl.password": "guest",
}  # fmt: skip
"""Settings of a client whose rights can be denied."""
CLUSTER_ID = "dGhlLXRlc3RzLWNsdXN0ZQ"
"""Sixteen bytes in base64, as Kafka requires."""
CONFIG = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{broker},SASL_PLAINTEXT://127.0.0.1:{guests},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={folder}/log
auto.create.topics.enable=false
num.partitions={partitions}
# A single broker cannot replicate.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
# The usual 128 MB exceed the heap.
log.cleaner.dedupe.buffer.size=2097152
# Pause between searches for compactable records.
log.cleaner.backoff.ms=1000
# A broker that was killed may come back at once, and members of groups may be declared dead soon.
initial.broker.registration.delay.ms=0
broker.heartbeat.interval.ms=1000
broker.session.timeout.ms=3000
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
# Clients without a name may do everything, a guest with a resource without rules, too.
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={login} required user_guest="guest";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true
"""
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class KafkaBroker:
    """A broker at `address`, kept with all data through kills and starts."""

    def __init__(self, folder: Path, jars: Path) -> None:
        self._servers = Servers(folder, jars)
        broker, guests, controller = free_ports(3)
        self.address = f"127.0.0.1:{broker}"
        self.guests_address = f"127.0.0.1:{guests}"
        """Where GUEST logs in."""
        self._config = folder / "server.properties"
        self._config.write_text(
            CONFIG.format(
                broker=broker,
                guests=guests,
                controller=controller,
                folder=folder,
                login=LOGIN,
                partitions=PARTITIONS,
            )
        )
        self._is_formatted = False
        self._watchers: dict[str, Any] = {}

    def start(self) -> None:
        """Start; returns when the broker answers."""
        file = str(self._config)
        tool = ("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", file)
        self._servers.start("broker", "kafka.Kafka", file, first=() if self._is_formatted else tool)
        self._is_formatted = True
        until(self._is_ready, "Kafka is ready", START_SECS)

    def _is_ready(self) -> bool:
        self._servers.all_run()
        try:
            return bool(self._admin().list_topics(timeout=1).brokers)
        except confluent_kafka.KafkaException:
            return False

    def kill(self) -> None:
        """kill -9."""
        self._servers.kill("broker")

    def stop(self) -> None:
        """Kill it for good."""
        for each in self._watchers.values():
            each.close()
        self._servers.stop()

    def _client(self) -> dict[str, Any]:
        """The client polls often for an absent broker, and does not complain on stderr."""
        return {
            "bootstrap.servers": self.address,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }

    def _admin(self) -> Any:
        return AdminClient(self._client())

    def create(self, *topics: str, **config: str) -> None:
        """New topics, of PARTITIONS partitions each, led by the broker on return; config:
        {max_message_bytes: …}."""
        admin = self._admin()  # what it is doing ends with it
        named = {name.replace("_", "."): value for name, value in config.items()}
        made = admin.create_topics([NewTopic(each, PARTITIONS, 1, config=named) for each in topics])
        for each in made.values():
            each.result(timeout=30)

        def led() -> bool:
            known = admin.list_topics(timeout=5).topics
            return all(
                name in known
                and len(known[name].partitions) == PARTITIONS
                and all(each.leader >= 0 for each in known[name].partitions.values())
                for name in topics
            )

        until(led, "the broker leads the topics", START_SECS)

    def only_describe(self, kind: str, name: str) -> None:
        """From now on a guest lacks all other rights on a resource (`TOPIC`, `GROUP`, …)."""
        named = (
            ResourceType[kind],
            name,
            ResourcePatternType.LITERAL,
            "User:guest",
            "*",
        )
        rule = (*named, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
        admin = self._admin()  # what it is doing ends with it
        for each in admin.create_acls([AclBinding(*rule)]).values():
            each.result(timeout=30)
        known = AclBindingFilter(*rule)
        until(lambda: admin.describe_acls(known).result(timeout=30), "the rule holds", START_SECS)

    def produce(self, topic: str, numbers: Iterable[int]) -> None:
        """Write numbers as text, each into the partition named by its remainder, in order: a new
        topic's first batch may be refused, and would come behind the next batch without
        idempotence."""
        producer = confluent_kafka.Producer({**self._client(), "enable.idempotence": True})
        for number in numbers:
            producer.produce(topic, str(number), partition=number % PARTITIONS)
        assert producer.flush(30) == 0

    def committed(self, topic: str, group: str) -> list[int]:
        """Committed offset of each partition; -1001 without a commit."""
        if group not in self._watchers:
            self._watchers[group] = self._consumer(group)
        ask = self._watchers[group].committed

        def asked() -> list[int] | None:
            try:
                return [each.offset for each in ask(_places(topic), timeout=5)]
            except confluent_kafka.KafkaException:  # it has just started, and reads its own topics
                return None

        return until(asked, "Kafka knows the group", START_SECS)

    def end(self, topic: str, partition: int) -> int:
        """The offset behind the last record of a partition."""
        consumer = self._consumer("of the test")
        place = confluent_kafka.TopicPartition(topic, partition)
        _, high = consumer.get_watermark_offsets(place, timeout=START_SECS)
        consumer.close()
        return int(high)

    def texts(self, topic: str) -> Counter[str]:
        """What a topic has now."""
        return Counter(each.decode() for each in self.values(topic))

    def values(self, topic: str) -> list[bytes]:
        """Values of the committed records, unordered."""
        return [each.value() for each in self.records(topic)]

    def newest(self, topic: str) -> dict[bytes, bytes]:
        """Key -> newest value; a key has one partition."""
        return {each.key(): each.value() for each in self.records(topic)}

    def length(self, topic: str) -> int:
        """Number of records."""
        return len(self.records(topic))

    def settings(self, topic: str) -> dict[str, str]:
        """The configuration of a topic."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        admin = self._admin()  # what it is doing ends with it
        (found,) = admin.describe_configs([resource]).values()
        return {name: each.value for name, each in found.result(timeout=30).items()}

    def compact_soon(self, topic: str) -> None:
        """From now on a record is compacted once its partition has a next one."""
        changes = {"segment.ms": "100", "min.compaction.lag.ms": "0",
                   "min.cleanable.dirty.ratio": "0.001"}  # fmt: skip
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in changes.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
        admin = self._admin()  # what it is doing ends with it
        (done,) = admin.incremental_alter_configs([resource]).values()
        done.result(timeout=30)

    def records(self, topic: str) -> list[Any]:
        """Its committed records, in order within a partition.

        From the beginning, by offset: otherwise the client asks the group's coordinator once, a
        coordinator just started refuses, and the topic is never read (librdkafka's issue 5586).
        """
        consumer = self._consumer("of the test")
        consumer.assign(_places(topic, confluent_kafka.OFFSET_BEGINNING))
        found: list[Any] = []
        ended: set[int] = set()
        errors: list[str] = []

        def all_read() -> bool:
            for each in consumer.consume(500, 0.1):
                if each.error() is None:
                    found.append(each)
                elif each.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    ended.add(each.partition())
                else:
                    errors.append(str(each.error()))
            return len(ended) == PARTITIONS

        try:
            until(all_read, "the topic is read", START_SECS)
        except AssertionError as error:
            raise AssertionError(f"{error}: ended {sorted(ended)}, {errors[-3:]}") from None
        finally:
            consumer.close()
        return found

    def _consumer(self, group: str) -> Any:
        """A client of the group, not yet a member."""
        return confluent_kafka.Consumer(
            {
                **self._client(),
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )


def _places(topic: str, offset: int = confluent_kafka.OFFSET_INVALID) -> list[Any]:
    return [confluent_kafka.TopicPartition(topic, each, offset) for each in range(PARTITIONS)]
