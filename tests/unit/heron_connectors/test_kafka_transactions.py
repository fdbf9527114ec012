"""KafkaSink in transactions: exact against a fake with the client's contract, killed at any moment;
and the steps of a transaction against librdkafka's own mock cluster, with its protocol. (The mock
shows records before their transaction ends and forgets offsets of a transaction, so a reader's view
is tested with real brokers, in tests/cluster.)"""

from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

from heron_api.incarnation import Incarnation
from heron_connectors.transactions import TransactionId, number_of_run
from heron_instance.runtime.context import InstanceContext
from heronpy_compat.connectors.kafka import KafkaSink
from heronpy_compat.testing import ComponentTester, check_two_phase_sink
from tests.connectors.fake_kafka import FakeBroker, client_in_memory


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with client_in_memory():
        yield FakeBroker.installed()


def test_a_run_that_begins_without_state_is_told_of_the_records_of_another(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An aborted transaction leaves no note."""
    config = {
        "kafka.bootstrap.servers": "fake:9092",
        "kafka.topic": "numbers",
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
    }
    told = []
    for run in ("first", "second"):
        monkeypatch.setattr(
            InstanceContext, "get_incarnation", lambda self, of=run: Incarnation(of, 1)
        )
        with ComponentTester(KafkaSink, inputs={"rows": ["text"]}, config=config) as tester:
            tester.advance(0)
            told.append([each.text for each in tester.errors])
            tester.component.commit([[None, b"a"]], TransactionId(run, 1))
            tester.component.commit([[None, b"b"]], TransactionId(run, 2))
    nothing, (said,) = told
    assert nothing == []
    assert "another run has written into the topic numbers" in said
    assert "resume from the checkpoint of the other run" in said
    group = "heronpy.run." + tester.component.transactional_id
    assert broker.offsets[group] == number_of_run("second")


def test_records_are_exact_whenever_the_sink_is_killed(broker: FakeBroker) -> None:
    check_two_phase_sink(
        KafkaSink,
        lambda: (int(value or b"") for _, value in broker.records),
        config={"kafka.bootstrap.servers": "fake:9092", "kafka.topic": "numbers"},
        other_modes=False,
    )


def test_the_steps_of_a_transaction_are_those_of_the_protocol() -> None:
    """Three commits, the last one by another process of the same instance."""
    cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
    brokers = cluster.list_topics("exactly", timeout=10).brokers.values()
    servers = ",".join(f"{each.host}:{each.port}" for each in brokers)
    config = {
        "kafka.bootstrap.servers": servers,
        "kafka.topic": "exactly",
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
    }
    for mine in ((1, [b"a", b"b"]), (2, [b"c"])), ((3, [b"d"]),):
        with ComponentTester(
            KafkaSink, inputs={"rows": ["text"]}, config=config, patch_time=False
        ) as tester:
            for number, values in mine:
                records = [[None, each] for each in values]
                tester.component.commit(records, TransactionId("writer", number))
    reader = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "of the test"})
    reader.assign([confluent_kafka.TopicPartition("exactly", each, 0) for each in range(4)])
    found: list[Any] = []
    for _ in range(300):
        found += [each.value() for each in reader.consume(10, 0.1) if each.error() is None]
        if len(found) >= 4:
            break
    reader.close()
    assert sorted(found) == [b"a", b"b", b"c", b"d"]
