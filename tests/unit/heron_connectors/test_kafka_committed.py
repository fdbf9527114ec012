"""What a group has committed is asked for until a coordinator answers, or says why it will not."""

from collections.abc import Callable, Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest

from heron_connectors.kafka.client import METADATA_SECS
from heron_connectors.kafka.committed import committed_offsets, is_cooperative

PLACES = [("lines", 0), ("lines", 1)]
NOT_COORDINATOR = confluent_kafka.KafkaError(confluent_kafka.KafkaError.NOT_COORDINATOR)


class Coordinator:
    """A consumer whose questions are answered in turn, with an error or with offsets."""

    def __init__(self, answers: Iterator[Any]) -> None:
        self._answers = answers
        self.asked = 0

    def committed(self, places: list[Any], timeout: float) -> list[Any]:
        """See confluent_kafka.Consumer."""
        self.asked += 1
        answer = next(self._answers)
        if isinstance(answer, confluent_kafka.KafkaError):
            raise confluent_kafka.KafkaException(answer)
        return [
            SimpleNamespace(topic=each.topic, partition=each.partition, offset=offset, error=error)
            for each, (offset, error) in zip(places, answer, strict=True)
        ]


def offsets(
    coordinator: Coordinator, is_final: Callable[[Any], bool] = lambda _: False
) -> dict[Any, int | None]:
    """A question takes a second of the test's clock."""
    seconds = map(float, count())
    return committed_offsets(
        coordinator, PLACES, is_final, clock=seconds.__next__, pause=lambda _: None
    )


def test_a_coordinator_that_has_just_started_is_asked_again() -> None:
    coordinator = Coordinator(iter([NOT_COORDINATOR, [(7, None), (-1001, None)]]))
    assert offsets(coordinator) == {("lines", 0): 7, ("lines", 1): None}
    assert coordinator.asked == 2


def test_brokers_that_answer_no_more_are_told_after_some_seconds() -> None:
    coordinator = Coordinator(NOT_COORDINATOR for _ in count())
    with pytest.raises(confluent_kafka.KafkaException, match="NOT_COORDINATOR"):
        offsets(coordinator)
    assert coordinator.asked == METADATA_SECS


def test_a_right_that_is_lacking_is_told_at_once() -> None:
    coordinator = Coordinator(NOT_COORDINATOR for _ in count())
    with pytest.raises(confluent_kafka.KafkaException):
        offsets(coordinator, is_final=lambda error: error.code() == NOT_COORDINATOR.code())
    assert coordinator.asked == 1


def test_an_error_of_one_partition_is_no_offset() -> None:
    coordinator = Coordinator(iter([[(7, None), (-1001, NOT_COORDINATOR)], [(7, None), (8, None)]]))
    assert offsets(coordinator) == {("lines", 0): 7, ("lines", 1): 8}


@pytest.mark.parametrize(
    ("settings", "is_incremental"),
    [
        ({}, False),
        ({"partition.assignment.strategy": "range,roundrobin"}, False),
        ({"partition.assignment.strategy": "cooperative-sticky"}, True),
        ({"group.protocol": "consumer"}, True),
    ],
)
def test_a_member_that_keeps_partitions_is_brought_what_is_new(
    settings: dict[str, str], is_incremental: bool
) -> None:
    assert is_cooperative(settings) is is_incremental
