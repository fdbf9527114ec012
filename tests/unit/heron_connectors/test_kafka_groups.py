"""KafkaSpout in a group, with rebalances, refused and repeated commits at every point."""

import logging
import random
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from heron_api.state.state import HashMapState
from heron_connectors.kafka import spout as kafka_spout
from heron_connectors.kafka.spout import REPEAT_COMMIT_SECS, KafkaSpout, RecordId
from tests.connectors.fake_kafka_group import TOPIC, FakeGroup, client_of

SEEDS = range(150)
MEMBERS, PARTITIONS, RECORDS = 2, 3, 5
PENDING_MAX = 3
STEPS = 150
SETTLING_STEPS = 400
DONE = dict.fromkeys(range(PARTITIONS), RECORDS)


class Trial:
    """Members, their tuples under way, and the processed ones."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch, members: int = MEMBERS) -> None:
        self.chance = random.Random(seed)
        self.now = 1000.0
        self.group = FakeGroup(self.chance, PARTITIONS, RECORDS)
        self.under_way: list[tuple[KafkaSpout, RecordId]] = []
        self.processed: set[tuple[Any, ...]] = set()
        monkeypatch.setitem(sys.modules, "confluent_kafka", client_of(self.group))
        monkeypatch.setattr(kafka_spout, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.spouts = [self._spout(each) for each in range(members)]

    def _spout(self, task: int) -> KafkaSpout:
        delegate = SimpleNamespace(logger=logging.getLogger("group"))
        spout = KafkaSpout(delegate=delegate)
        delegate.emit = lambda values, tup_id, *_: self.under_way.append((spout, tup_id))
        context: Any = SimpleNamespace(
            get_component_id=lambda: "numbers",
            get_component_tasks=lambda _: list(range(MEMBERS)),
            get_task_id=lambda: task,
            get_topology_name=lambda: "trial",
        )
        config = {
            "kafka.topics": TOPIC,
            "kafka.bootstrap.servers": "anywhere",
            "kafka.commit.secs": 0,
            "kafka.pending.per.partition": PENDING_MAX,
        }
        spout.init_state(HashMapState())
        spout.initialize(config, context)
        return spout

    def step(self) -> None:
        group, chance = self.group, self.chance
        self.now += chance.choice((0.0, 0.1))
        what = chance.random()
        if what < 0.45:
            chance.choice(self.spouts).next_tuple()
        elif what < 0.75:
            self.settle_one(is_ack=chance.random() < 0.8)
        elif what < 0.93:
            if group.under_way:
                group.take_commit(is_repeated=chance.random() < 0.3)
        elif what < 0.97:
            group.rebalance()
        elif len(group.members) == MEMBERS:
            group.evict(chance.choice(group.members))
        self.nothing_is_committed_that_is_not_processed()

    def settle_one(self, is_ack: bool) -> None:
        """The result of a tuple under way is given to its spout."""
        if not self.under_way:
            return
        spout, record_id = self.under_way.pop(self.chance.randrange(len(self.under_way)))
        if is_ack:
            self.processed.add(record_id[:3])
            spout.ack(record_id)
        else:
            spout.fail(record_id)

    def nothing_is_committed_that_is_not_processed(self) -> None:
        """Else a restart would leave records out."""
        for partition, committed in self.group.committed.items():
            assert {(TOPIC, partition, at) for at in range(committed)} <= self.processed

    def come_to_rest(self) -> None:
        """From here on without faults: all remaining tuples are processed and committed."""
        for _ in range(SETTLING_STEPS):
            for each in self.spouts:
                each.next_tuple()
            self.settle_one(is_ack=True)
            if self.group.under_way:
                self.group.take_commit(is_repeated=False)
            self.now += REPEAT_COMMIT_SECS / 20


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_a_group_goes_through_all_is_committed_and_nothing_too_early(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(seed, monkeypatch)
    for _ in range(STEPS):
        trial.step()
    trial.come_to_rest()
    assert len(trial.processed) == PARTITIONS * RECORDS
    assert trial.group.is_whole
    assert trial.group.committed == DONE


def test_a_group_is_read_whose_coordinator_has_just_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The coordinator refuses requests at first, and the client does not repeat its own."""
    trial = Trial(0, monkeypatch)
    trial.group.refusals = 2
    trial.come_to_rest()
    assert trial.group.refusals == 0
    assert trial.group.committed == DONE


def test_a_commit_that_the_client_repeats_behind_a_later_one_does_not_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial = Trial(0, monkeypatch, members=1)
    (spout,) = trial.spouts
    while len(trial.processed) < PARTITIONS * RECORDS:
        spout.next_tuple()
        trial.settle_one(is_ack=True)
    requests = trial.group.under_way
    requests.sort(key=lambda each: max(place.offset for place in each.places), reverse=True)
    while requests:
        trial.group.take_commit(is_repeated=False)
    assert trial.group.committed != DONE
    trial.come_to_rest()
    assert trial.group.committed == DONE


def test_a_record_that_is_read_again_fails_once_for_each_of_its_own_tuples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The result of a tuple from before the loss of its partition concerns only the old tuple."""
    trial = Trial(0, monkeypatch, members=1)
    (spout,) = trial.spouts
    while not trial.under_way:
        spout.next_tuple()
    ((_, before),) = trial.under_way
    partition = SimpleNamespace(topic=TOPIC, partition=before[1])
    record = SimpleNamespace(
        topic=lambda: TOPIC, partition=lambda: before[1], offset=lambda: before[2],
        value=lambda: b"1", key=lambda: None, headers=lambda: None, timestamp=lambda: (0, 0),
    )  # fmt: skip
    spout._lost(None, [partition])
    spout._take(record)
    (_, again) = trial.under_way[-1]
    assert (again[:3], again) == (before[:3], (*before[:3], 1))
    spout.fail(before)
    assert not spout._failed
    spout.ack(before)
    assert again in spout._values
    spout.fail(again)
    assert len(spout._failed) == 1
    spout.ack(again)
    assert not spout._values
