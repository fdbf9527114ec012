"""Kafka's spout and sink against librdkafka's own mock cluster: the real protocol, on loopback."""

import logging
import socket
import sys
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest

from heron_api.incarnation import Incarnation
from heron_connectors.kafka.client import SparingLog
from heron_connectors.transactions import number_of_run
from heron_core.errors import ComponentError
from heron_instance.runtime.context import InstanceContext
from heronpy_compat import Bolt, Topology
from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout
from heronpy_compat.testing import ComponentTester, TopologyTester

DEADLINE_CALLS = 200_000
PARTITIONS = 4
"""Partitions of an automatic topic of the mock."""


class Cluster:
    """Brokers that live as long as their first client."""

    def __init__(self) -> None:
        self.producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
        brokers = self.producer.list_topics(timeout=10).brokers.values()
        self.servers = ",".join(f"{each.host}:{each.port}" for each in brokers)

    def write(self, topic: str, count: int) -> None:
        """Texts "0", "1", …, in turn into the partitions."""
        self.producer.list_topics(topic, timeout=10)
        for number in range(count):
            self.producer.produce(topic, str(number), partition=number % PARTITIONS)
        assert self.producer.flush(10) == 0

    def committed(self, topic: str, group: str) -> list[int]:
        client = confluent_kafka.Consumer({"bootstrap.servers": self.servers, "group.id": group})
        places = [confluent_kafka.TopicPartition(topic, each) for each in range(PARTITIONS)]
        found = [each.offset for each in client.committed(places, timeout=10)]
        client.close()
        return found


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster()


def spout_of(cluster: Cluster, topic: str, spout: Any = KafkaSpout, **keys: Any) -> ComponentTester:
    config = {
        "kafka.bootstrap.servers": cluster.servers,
        "kafka.topics": topic,
        "kafka.group": f"of-{topic}",
        "kafka.assignment": "fixed",
        "kafka.commit.secs": 0,
        **{f"kafka.{name.replace('_', '.')}": value for name, value in keys.items()},
    }
    return ComponentTester(spout, config=config, name="lines", patch_time=False)


def calls_until(tester: ComponentTester, condition: Callable[[], object]) -> list[Any]:
    """Emits during calls of next_tuple until the condition holds."""
    found = []
    for _ in range(DEADLINE_CALLS):
        found += tester.next_tuple()
        if condition():
            return found
    raise AssertionError(f"not after {DEADLINE_CALLS} calls, which emitted {len(found)} tuples")


def test_records_come_once_and_the_lowest_open_offset_is_committed(cluster: Cluster) -> None:
    cluster.write("committed", 40)
    with spout_of(cluster, "committed") as spout:
        emitted = calls_until(spout, lambda: len(spout.emitted) == 40)
        assert sorted(int(each.values[0]) for each in emitted) == list(range(40))
        ids = {each.tup_id for each in emitted}
        assert ids == {("committed", place, at) for place in range(4) for at in range(10)}
        for record_id in sorted(ids - {("committed", 0, 3), ("committed", 1, 0)}, reverse=True):
            spout.ack(record_id)
        spout.fail(("committed", 0, 3))
        (again,) = spout.next_tuple()
        assert again.tup_id == ("committed", 0, 3)
    assert cluster.committed("committed", "of-committed")[:1] == [3]
    assert cluster.committed("committed", "of-committed")[1] in (0, -1001)
    assert cluster.committed("committed", "of-committed")[2:] == [10, 10]
    with spout_of(cluster, "committed", finish_at_end=True) as successor:
        emitted = calls_until(successor, lambda: successor.finished)
        assert len(emitted) == 7 + 10
        for each in emitted:
            successor.ack(each.tup_id)
    assert cluster.committed("committed", "of-committed") == [10] * 4


def test_a_partition_does_not_run_away_from_a_record_that_fails(cluster: Cluster) -> None:
    """With 5 open records a partition is paused; its last records come after the acks."""
    cluster.write("bounded", 80)
    with spout_of(cluster, "bounded", pending_per_partition=5, finish_at_end=True) as spout:
        emitted = calls_until(spout, lambda: len(spout.emitted) >= 20)
        assert spout.next_tuple(calls=200) == []
        assert len(emitted) == 20
        done = 0
        while not spout.finished:
            for each in spout.emitted[done:]:
                spout.ack(each.tup_id)
                done += 1
            spout.next_tuple()
        assert sorted(int(each.values[0]) for each in spout.emitted) == list(range(80))


def test_it_reads_on_from_a_state_that_was_left(cluster: Cluster) -> None:
    """An engine of batches keeps emitted records, acked and committed or not."""
    cluster.write("state", 8)
    with spout_of(cluster, "state") as first:
        calls_until(first, lambda: len(first.emitted) == 5)
        seen = [each.values[0] for each in first.emitted]
        state = first.component.__getstate__()
    with spout_of(cluster, "state", finish_at_end=True) as second:
        vars(second.component).update(state)
        calls_until(second, lambda: second.finished)
        rest = [each.values[0] for each in second.emitted]
    assert sorted(map(int, seen + rest)) == list(range(8))


class Keep(Bolt):
    def process(self, tup: Any) -> None:
        """Nothing."""


class Exact(Topology):
    """Effectively once: no acks, but checkpoints."""

    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    lines = KafkaSpout.spec()
    keep = Keep.spec(inputs=[lines], optional_outputs=[])


def test_positions_are_those_of_the_checkpoint_and_are_committed_after_it(cluster: Cluster) -> None:
    cluster.write("exact", 40)
    servers = {"kafka.bootstrap.servers": cluster.servers, "kafka.topics": "exact"}
    group = {"kafka.group": "of-exact", "kafka.finish.at.end": True}
    with TopologyTester(Exact, config={**servers, **group}, patch_time=False) as tester:

        def read(count: int) -> list[str]:
            """The texts of the next tuples, so many."""
            before = len(tester.values("lines"))
            for _ in range(DEADLINE_CALLS):
                if len(tester.values("lines")) >= before + count:
                    return [each[0] for each in tester.values("lines")[before:]]
                tester.run_spouts(1)
            raise AssertionError(f"only {tester.values('lines')[before:]}")

        kept = read(15)
        assert cluster.committed("exact", "of-exact") == [-1001] * PARTITIONS
        assert tester.checkpoint()
        calls = iter(range(DEADLINE_CALLS))
        while sum(max(each, 0) for each in cluster.committed("exact", "of-exact")) != 15:
            tester.run_spouts(1)
            assert next(calls, None) is not None, "the positions are not committed"
        tester.crash("lines")
        kept += read(25)
        assert sorted(map(int, kept)) == list(range(40))


class Detailed(KafkaSpout):
    outputs = ["key", "value", "topic", "partition", "offset", "timestamp_ms", "headers"]


def test_fields_of_a_record(cluster: Cluster) -> None:
    cluster.producer.list_topics("fields", timeout=10)
    cluster.producer.produce(
        "fields", b'{"a": [1]}', "key", partition=2, timestamp=1234, headers=[("h", b"1")]
    )
    cluster.producer.produce("fields", b"no json", partition=2)
    cluster.producer.flush(10)
    with spout_of(cluster, "fields", Detailed, value_format="json", finish_at_end=True) as spout:
        with pytest.raises(ComponentError, match=r"fields\[2\]@1 is left out"):
            calls_until(spout, lambda: spout.finished)
        (emitted,) = spout.emitted
        assert emitted.values == ["key", {"a": [1]}, "fields", 2, 0, 1234, [("h", b"1")]]
        spout.ack(emitted.tup_id)
    assert cluster.committed("fields", "of-fields")[2] == 2


def test_a_text_that_is_no_utf8_is_an_error_and_the_others_are_read(cluster: Cluster) -> None:
    cluster.producer.list_topics("texts", timeout=10)
    for value in ("café".encode("latin-1"), "café".encode()):
        cluster.producer.produce("texts", value, partition=1)
    cluster.producer.flush(10)
    with spout_of(cluster, "texts", finish_at_end=True) as spout:
        with pytest.raises(
            ComponentError, match=r"texts\[1\]@0 is left out: the value is not UTF-8"
        ):
            calls_until(spout, lambda: spout.finished)
        calls_until(spout, lambda: spout.finished)
        assert [each.values for each in spout.emitted] == [["café"]]


def sink_to(cluster: Cluster, topic: str, **config: Any) -> ComponentTester:
    return ComponentTester(
        KafkaSink,
        inputs={"counts": ["word", "count"]},
        config={"kafka.bootstrap.servers": cluster.servers, "kafka.topic": topic, **config},
        name="sink",
        patch_time=False,
    )


def test_a_tuple_is_acked_when_it_is_delivered(cluster: Cluster) -> None:
    cluster.producer.list_topics("out", timeout=10)
    with sink_to(cluster, "out", **{"kafka.key.position": 0}) as sink:
        for number in range(20):
            sink.process([f"w{number}", number])
        sink.component._producer.flush(10)
        sink.advance(0.1)
        assert sorted(sink.acked) == list(range(1, 21))
        assert sink.component.is_idle()
    with spout_of(cluster, "out", Detailed, value_format="json", finish_at_end=True) as spout:
        calls_until(spout, lambda: spout.finished)
        assert sorted(each.values[1] for each in spout.emitted) == list(range(20))
        assert {each.values[0] for each in spout.emitted} == {f"w{n}" for n in range(20)}


def written_by(run: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Log of the sink when a process of the run writes a record."""
    monkeypatch.setattr(InstanceContext, "get_incarnation", lambda self: Incarnation(run, 1))
    with sink_to(cluster, "of runs") as sink:
        sink.process(["w", 1])
        sink.component._producer.flush(10)
        sink.advance(0.1)
        assert sink.acked == [1]
        group = f"heronpy.run.{sink.component.transactional_id}"
        assert until_noted(cluster, group, number_of_run(run))
        return [each.text for each in sink.errors]


def until_noted(cluster: Cluster, group: str, number: int) -> bool:
    return any(cluster.committed("of runs", group)[0] == number for _ in range(1000))


def test_a_second_run_is_told_of_the_records_of_the_first_and_a_restarted_process_is_not(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.producer.list_topics("of runs", timeout=10)
    assert written_by("first", cluster, monkeypatch) == []
    assert written_by("first", cluster, monkeypatch) == [], "it is restarted, or resumed"
    (said,) = written_by("second", cluster, monkeypatch)
    assert "another run has written into the topic of runs" in said
    assert "name an empty target" in said
    assert written_by("second", cluster, monkeypatch) == []


def test_what_is_not_delivered_fails(cluster: Cluster) -> None:
    """A record larger than the producer takes, by our count and by the client's."""
    cluster.producer.list_topics("failing", timeout=10)
    with sink_to(cluster, "failing", **{"kafka.producer": {"message.max.bytes": 2000}}) as sink:
        with pytest.raises(ValueError, match=r"^count: its record has 5,000 bytes, more than the "):
            sink.process(["w", "x" * 5000])
        sink.component._limits.clear()
        with pytest.raises(ComponentError, match=r"topic failing: .*too large"):
            sink.process(["w", "x" * 5000])
        assert sink.failed == [1, 2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_errors_are_one_line(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heron_connectors.kafka.client.METADATA_SECS", 0.3)
    nobody = f"127.0.0.1:{free_port()}"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"bootstrap_servers": nobody}, f"Kafka at {nobody} does not answer"),
        ({"topics": []}, "lines: its config needs kafka.topics"),
        ({"topics": "nowhere"}, "topic 'nowhere': Broker: Unknown topic"),
        ({"assignment": "mine"}, "kafka.assignment is group or fixed, not 'mine'"),
        (
            {"value_format": "xml"},
            "kafka.value.format is one of text, json, bytes, avro, protobuf, jsonschema, not 'xml'",
        ),
    ]
    for keys, text in wrong:
        with pytest.raises(ComponentError) as caught:
            spout_of(cluster, "anything", **keys)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ComponentError, match="Kafka needs the package confluent-kafka: pip"):
        spout_of(cluster, "anything")


def test_a_broker_that_is_away_is_told_of_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """librdkafka logs each of its tries to connect."""
    caplog.set_level(logging.WARNING)
    now = 0.0
    log = SparingLog(logging.getLogger("test"), clock=lambda: now)
    for now in (0.0, 0.05, 59.9, 60.0):
        log.log(logging.ERROR, "%s [%s] %s", "FAIL", "consumer", f"refused at {now}")
    log.log(logging.WARNING, "%s [%s] %s", "GETPID", "producer", "retrying")
    assert caplog.messages == [
        "FAIL [consumer] refused at 0.0",
        "FAIL [consumer] refused at 60.0",
        "GETPID [producer] retrying",
    ]
