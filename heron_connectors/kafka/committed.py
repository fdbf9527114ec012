"""What a consumer group has committed, asked for by us: the client asks once, and may hear nothing.

A coordinator that has just started, or has moved, refuses the question for the offsets of a group.
librdkafka asks again only after some of the refusals, and a partition that was assigned without an
offset is not read then, for good and without an error (librdkafka's issue 5586).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heron_connectors.kafka.client import METADATA_SECS, kafka
from heron_connectors.kafka.offsets import PartitionKey

ASK_AGAIN_SECS = 0.1
"""Retry interval: a coordinator with few groups loads their offsets within a second."""


def committed_offsets(
    consumer: Any,
    partition_keys: Sequence[PartitionKey],
    is_final: Callable[[Any], object],
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], object] = time.sleep,
) -> dict[PartitionKey, int | None]:
    """Committed offset of each partition, or None. KafkaException without an answer within
    METADATA_SECS, or at once for a permanent error."""
    make = kafka().TopicPartition
    partitions = [make(*each) for each in partition_keys]
    deadline = clock() + METADATA_SECS
    while partitions:
        try:
            return _offsets(consumer.committed(partitions, timeout=METADATA_SECS))
        except kafka().KafkaException as error:
            if is_final(error.args[0]) or clock() >= deadline:
                raise
        pause(ASK_AGAIN_SECS)
    return {}


def _offsets(partitions: Sequence[Any]) -> dict[PartitionKey, int | None]:
    for each in partitions:
        if each.error is not None:
            raise kafka().KafkaException(each.error)
    return {
        (each.topic, each.partition): None if each.offset < 0 else each.offset
        for each in partitions
    }


def is_cooperative(settings: Mapping[str, Any]) -> bool:
    """Whether a rebalance assigns only the new partitions to a member (incremental)."""
    strategies = str(settings.get("partition.assignment.strategy", ""))
    return "cooperative" in strategies or settings.get("group.protocol") == "consumer"
