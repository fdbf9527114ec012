"""Invariants of two readers of a group with shared partitions, for any brokers."""

from collections.abc import Callable
from typing import Any

from heronpy_compat.connectors.kafka import KafkaSpout
from heronpy_compat.testing import ComponentTester
from tests.process.process_support import until

PARTITIONS = 4
"""Partitions of an automatic topic of librdkafka's mock."""
RECORDS = 2000
HALF = RECORDS // 2


def _member(config: dict[str, Any]) -> ComponentTester:
    """A spout of a group, alone in this process."""
    settings = {
        **config,
        "topology.max.spout.pending": 2 * RECORDS,
        "kafka.commit.secs": 0.05,
        # A second less is what the mock waits for the members to come together again.
        "kafka.consumer": {"session.timeout.ms": 4000, "heartbeat.interval.ms": 50},
    }
    return ComponentTester(KafkaSpout, config=settings, name="numbers", patch_time=False)


def a_partition_that_moves_takes_its_records_along(
    config: dict[str, Any], committed: Callable[[], list[int]]
) -> None:
    """`config` names brokers, a topic with RECORDS in PARTITIONS, and a group, of which
    `committed` tells what each partition's offset is."""
    half = HALF // PARTITIONS
    topic = config["kafka.topics"]
    with _member(config) as first, _member(config) as other:

        def read(count: int) -> bool:
            first.next_tuple(calls=50)
            return len(first.emitted) >= count

        def shared() -> bool:
            """Each has two partitions, and all of their records that were not acked."""
            for each in (first, other):
                each.next_tuple(calls=50)
            mine = [each.component._mine for each in (first, other)]
            return all(
                len(places) == 2
                and {each.component._ledger.pending(place) for place in places} == {half}
                for each, places in zip((first, other), mine, strict=True)
            )

        until(lambda: read(RECORDS), "all is read")
        for each in first.emitted:
            if each.tup_id[2] < half:
                first.component.ack(each.tup_id)
        # Not while the members come together: the mock refuses commits then.
        until(lambda: read(0) and committed() == [half] * PARTITIONS, "what is acked is committed")
        until(shared, "the rest is read again")
        again = {each.tup_id[:3] for each in (*first.emitted[RECORDS:], *other.emitted)}
        rest = range(half, RECORDS // PARTITIONS)
        assert again == {(topic, place, at) for place in range(PARTITIONS) for at in rest}
        moved = {number for _, number in other.component._mine}
        # A record that is read again is another tuple: those of the first reading count no more.
        for each in first.emitted:
            first.component.ack(each.tup_id)
        expected = [half if place in moved else 2 * half for place in range(PARTITIONS)]

        def settled() -> bool:
            other.next_tuple()
            return read(0) and committed() == expected

        until(settled, "what stayed is committed")
