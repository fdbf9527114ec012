"""Brokers that deny a right: the line names the resource and the right, and nothing goes on in
silence."""

from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError

from heron_connectors.kafka.client import partitions_of
from heron_connectors.kafka.rights import Rights
from heron_core.errors import ComponentError
from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout
from heronpy_compat.testing import ComponentTester
from tests.unit.heron_connectors.registry_support import Client, record

RIGHTS = Rights("orders", "Write", "heronpy.*", "Shop.copy.0")


@pytest.mark.parametrize(
    ("code", "lacking"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Write on topic orders"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "Read on group heronpy.*"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Write on transactional id Shop.copy.0"),
        (
            KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            "Write on topic orders, or IdempotentWrite on the cluster",
        ),
    ],
)
def test_a_right_that_is_denied_is_named_with_its_resource(code: int, lacking: str) -> None:
    told = RIGHTS.described(KafkaError(code))
    assert told.startswith("Broker: ")
    assert told.endswith(f": the principal needs {lacking}, by an ACL of the brokers")


def test_any_other_error_is_the_clients_own_line() -> None:
    assert RIGHTS.described(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)) == (
        "Broker: Not leader for partition"
    )


def test_a_topic_that_may_not_even_be_described_is_a_line_at_the_start() -> None:
    denied = SimpleNamespace(error=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    client = SimpleNamespace(
        list_topics=lambda topic, timeout: SimpleNamespace(topics={"a": denied})
    )
    with pytest.raises(ComponentError, match=r"'a': .*needs Describe on topic a, by an ACL"):
        partitions_of(client, "kafka:9092", ["a"])


@pytest.mark.parametrize(
    ("code", "lacking"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Read on topic rows"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "Read on group lines"),
    ],
)
def test_a_source_that_may_not_read_ends_instead_of_waiting_for_records(
    client: Client, code: int, lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: Any = record(None)
    refused.error = lambda: KafkaError(code)
    client.records = [refused]
    config = {
        "kafka.bootstrap.servers": "fake:9092", "kafka.topics": "rows", "kafka.group": "lines",
        "kafka.assignment": "fixed",
    }  # fmt: skip
    left: list[str] = []
    with ComponentTester(KafkaSpout, config=config, name="rows", patch_time=False) as tester:
        delegate = tester.component.delegate
        monkeypatch.setattr(delegate, "call_soon", lambda call: call())
        monkeypatch.setattr(delegate, "leave", left.append)
        tester.next_tuple()
    (said,) = left
    assert f"needs {lacking}, by an ACL of the brokers" in said


def test_a_sink_whose_producer_has_failed_for_good_ends_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The producer itself would refuse each record with "Fatal error" from then on."""
    asked: dict[str, Any] = {}

    def producer(settings: dict[str, Any], logger: Any) -> Any:
        asked.update(settings)
        told = SimpleNamespace(topics={"rows": SimpleNamespace(error=None, partitions={0: None})})
        return SimpleNamespace(list_topics=lambda *_, **__: told, flush=lambda secs: 0)

    monkeypatch.setattr(confluent_kafka, "Producer", producer)
    monkeypatch.setattr(KafkaSink, "output_of_another_run", lambda sink, run: "")
    config = {"kafka.bootstrap.servers": "fake:9092", "kafka.topic": "rows"}
    left: list[str] = []
    with ComponentTester(
        KafkaSink, inputs={"lines": ["line"]}, config=config, patch_time=False
    ) as tester:
        delegate = tester.component.delegate
        monkeypatch.setattr(delegate, "call_soon", lambda call: call())
        monkeypatch.setattr(delegate, "leave", left.append)
        asked["error_cb"](KafkaError(KafkaError._ALL_BROKERS_DOWN))
        assert left == []
        asked["error_cb"](KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, None, True))
    (said,) = left
    assert "needs Write on topic rows, or IdempotentWrite on the cluster" in said
