"""Dead letters in a topic of librdkafka's mock brokers, and what is asked to be sent again."""

import logging
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest

from heron_connectors.letters import topic as letter_topic
from heron_connectors.letters.records import record_of, values_of
from heron_connectors.letters.topic import TopicRequests, read_topic, request_in_topic
from heron_core.dead_letters import FIELDS
from heron_core.errors import ComponentError, HeronError
from tests.process.process_support import until

PARTITIONS = 4
Lines = list[bytes]


def lines_of(*numbers: int) -> Lines:
    """Letters as the sink writes them."""
    known: dict[str, Any] = dict.fromkeys(FIELDS, "") | {"component": "parse", "fields": ["line"]}
    letters = [
        known | {"id": f"{each:016x}", "time_ms": 1000 + each, "values": [each]} for each in numbers
    ]
    return [record_of([letter[field] for field in FIELDS]) for letter in letters]


class Broker:
    """The mock, and a topic of it with letters in all partitions."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
        brokers = self.producer.list_topics(timeout=10).brokers.values()
        self.servers = ",".join(f"{each.host}:{each.port}" for each in brokers)
        self.producer.list_topics(topic, timeout=10)

    def write(self, lines: Lines) -> None:
        for number, line in enumerate(lines):
            self.producer.produce(self.topic, line, partition=number % PARTITIONS)
        assert self.producer.flush(10) == 0

    def requests(self, topology: str) -> TopicRequests:
        return TopicRequests(self.topic, self.servers, topology, {}, logging.getLogger("letters"))


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Broker:
    return Broker(request.node.name)


def ids(letters: list[dict[str, Any]]) -> list[int]:
    return [int(each["id"], 16) for each in letters]


def waiting(requests: TopicRequests, count: int) -> list[int]:
    """So many requests, when they have come."""
    until(lambda: len(requests.waiting()) == count, f"{count} requests wait")
    return requests.waiting()


def test_letters_are_listed_in_order_of_time_with_those_that_were_sent_again(
    broker: Broker,
) -> None:
    broker.write(lines_of(5, 3, 4, 1, 2))
    request_in_topic(broker.topic, broker.servers, "Orders", {}, lines_of(3, 1))
    letters, replayed = read_topic(broker.topic, broker.servers, {})
    assert ids(letters) == [1, 2, 3, 4, 5]
    assert values_of(letters[0]) == [1]
    assert sorted(int(each, 16) for each in replayed) == [1, 3]


def test_a_request_waits_for_its_own_topology_until_it_is_done(broker: Broker) -> None:
    broker.write(lines_of(1, 2, 3, 4))
    request_in_topic(broker.topic, broker.servers, "Orders", {}, lines_of(1))
    first = broker.requests("Orders")
    request_in_topic(broker.topic, broker.servers, "Orders", {}, lines_of(2, 3))
    request_in_topic(broker.topic, broker.servers, "Others", {}, lines_of(4))
    numbers = waiting(first, 3)
    assert [ids(first.letters(each)) for each in numbers] == [[1], [2], [3]]
    first.is_done(numbers[0])
    first.is_done(numbers[2])
    assert first.waiting() == [numbers[1]]
    first.close()
    second = broker.requests("Orders")
    assert second.waiting() == numbers[1:], "what is behind an open one comes once more"
    for each in numbers[1:]:
        second.is_done(each)
    second.close()
    third = broker.requests("Orders")
    assert third.waiting() == []
    third.close()


def test_a_record_of_another_program_is_named(broker: Broker) -> None:
    broker.producer.produce(broker.topic, "hello", partition=2)
    broker.producer.flush(10)
    with pytest.raises(HeronError, match=rf"{broker.topic}\[2\]@0: not a dead letter: "):
        read_topic(broker.topic, broker.servers, {})


NOWHERE: list[Callable[[], Any]] = [
    lambda: read_topic("t", "127.0.0.1:1", {}),
    lambda: request_in_topic("t", "127.0.0.1:1", "Orders", {}, lines_of(1)),
    lambda: TopicRequests("t", "127.0.0.1:1", "Orders", {}, logging.getLogger("letters")),
]


@pytest.mark.parametrize("ask", NOWHERE)
def test_brokers_that_are_away_are_one_line(
    ask: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heron_connectors.kafka.client.METADATA_SECS", 0.5)
    with pytest.raises((HeronError, ComponentError), match=r"Kafka at 127\.0\.0\.1:1 does not ans"):
        ask()


def test_a_topic_that_cannot_be_read_to_its_end_is_no_short_list(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.write(lines_of(1))
    monkeypatch.setattr(letter_topic, "READ_SECS", 0.0)
    with pytest.raises(HeronError, match="answers no more, and the topic is read in part"):
        read_topic(broker.topic, broker.servers, {})
