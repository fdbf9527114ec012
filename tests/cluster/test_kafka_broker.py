"""Kafka's spout and sink with a real broker: offsets of acked records are committed, without
loss."""

import json
import operator
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable

from heron_connectors.transactions import TransactionId
from heron_core.errors import ComponentError
from heronpy_compat.connectors.kafka import KafkaSink, KafkaSpout
from heronpy_compat.testing import ComponentTester
from tests.cluster.kafka_broker import GUEST, KafkaBroker
from tests.cluster.servers import START_SECS
from tests.process.kafka_group import (
    HALF,
    PARTITIONS,
    RECORDS,
    a_partition_that_moves_takes_its_records_along,
)
from tests.process.process_support import GONE_SECS, TOPOLOGIES, Master, Place, Running, until
from tests.process.test_dead_letters import NUMBERS, POISON

FILE = Path(__file__).with_name("kafka_copy.py")
POISONED = TOPOLOGIES / "poisoned.py"
TO_DELTA = FILE.with_name("kafka_to_delta.py")
DONE = [RECORDS // PARTITIONS] * PARTITIONS
HALF_DONE = [HALF // PARTITIONS] * PARTITIONS


@dataclass(frozen=True, slots=True)
class Work:
    """Two topics and a group of a test's own, in the shared broker."""

    broker: KafkaBroker
    numbers: str
    copy: str
    group: str

    @property
    def settings(self) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self.broker.address,
            "kafka.topics": self.numbers,
            "kafka.topic": self.copy,
            "kafka.group": self.group,
        }

    def start(self, place: Place, **others: object) -> Running:
        """The topology that copies."""
        settings = {**self.settings, **others}
        words = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
        return place.start("run", FILE, "-N", uuid.uuid4().hex, *words)

    def committed(self) -> list[int]:
        """The offset of each partition."""
        return self.broker.committed(self.numbers, self.group)

    def until_committed(self, running: Running, offsets: list[int]) -> None:
        """Wait while the topology reads on."""
        running.until(lambda: self.committed() == offsets, "it is committed", START_SECS)


@pytest.fixture
def work(kafka: KafkaBroker) -> Work:
    name = uuid.uuid4().hex
    made = Work(kafka, f"numbers-{name}", f"copy-{name}", f"group-{name}")
    kafka.create(made.numbers, made.copy)
    return made


def test_what_is_committed_is_what_was_acked(place: Place, work: Work) -> None:
    """The second half is never acked. The topology is killed; the next run begins behind the acks:
    unacked records come, acked ones do not."""
    work.broker.produce(work.numbers, range(RECORDS))
    first = work.start(place, **{"test.hold.from": HALF})
    work.until_committed(first, HALF_DONE)
    for each in first.processes():
        with suppress(psutil.Error):  # it ends with its parent
            each.kill()
    first.wait()
    assert work.committed() == HALF_DONE
    before = work.broker.texts(work.copy)
    assert before.keys() == texts(range(HALF))
    second = work.start(place)
    work.until_committed(second, DONE)
    after = work.broker.texts(work.copy) - before
    assert after.keys() == texts(range(HALF, RECORDS))
    second.end()


def test_kill_9_of_readers_writers_and_the_broker_loses_nothing(place: Place, work: Work) -> None:
    """The partitions of a dead reader move to the second reader, from the committed offsets;
    records held by dead bolts and a dead broker are read again."""
    work.broker.produce(work.numbers, range(HALF))
    # Instances started without a broker end at once, again and again.
    running = work.start(place, **{"topology.restart.limit": 1000})
    running.until(lambda: max(work.committed()) > 0, "it copies", START_SECS)
    kill_9(running, "numbers[0]")
    work.until_committed(running, HALF_DONE)
    work.broker.produce(work.numbers, range(HALF, RECORDS))
    for each in ("hold[0]", "copy[0]"):
        kill_9(running, each)
    before = work.committed()
    work.broker.kill()
    work.broker.start()
    assert all(map(operator.ge, work.committed(), before))
    work.until_committed(running, DONE)
    assert work.broker.texts(work.copy).keys() == texts(range(RECORDS))
    running.end()
    place.nothing_is_left(GONE_SECS)


def test_a_topic_is_in_a_delta_table_once_whoever_is_killed(
    place: Place, work: Work, tmp_path: Path
) -> None:
    work.broker.produce(work.numbers, range(RECORDS))
    table = tmp_path / "table"
    settings = {**work.settings, "delta.table": table, "topology.restart.limit": 1000}
    words = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    running = place.start("run", TO_DELTA, "-N", uuid.uuid4().hex, *words)
    running.until(lambda: DeltaTable.is_deltatable(str(table)), "it writes", START_SECS)
    for each in ("numbers[0]", "table[0]"):
        with suppress(AssertionError, psutil.Error):  # it may be at its end already
            kill_9(running, each)
    assert running.wait().code == 0
    written = DeltaTable(table).to_pyarrow_table()["value"].to_pylist()
    assert Counter(written) == Counter(map(str, range(RECORDS)))


def texts(numbers: range) -> set[str]:
    return set(map(str, numbers))


def kill_9(running: Running, instance: str) -> None:
    name = f"heron: {instance}"
    running.until(partial(running.process_called, name), f"{instance} runs").kill()


def test_a_partition_that_moves_takes_its_records_along(work: Work) -> None:
    """A second member joins: records unacked by the first member are emitted again by the
    partition's new member; late acks of lost partitions are without effect."""
    work.broker.produce(work.numbers, range(RECORDS))
    a_partition_that_moves_takes_its_records_along(work.settings, work.committed)


def test_a_transaction_is_written_once_and_as_a_whole(work: Work) -> None:
    """As read by a reader of committed records: a commit is repeated in its process, and in a
    process that takes over after a death in the middle of the next commit."""
    config = {
        "kafka.bootstrap.servers": work.broker.address,
        "kafka.topic": work.copy,
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
    }
    tester = partial(
        ComponentTester, KafkaSink, inputs={"rows": ["text"]}, config=config, patch_time=False
    )

    def commit(sink: ComponentTester, number: int, *texts: str) -> None:
        records = [[None, each.encode()] for each in texts]
        sink.component.commit(records, TransactionId("writer", number))

    with tester() as first:
        for number, texts in ((1, "ab"), (2, "c"), (2, "c")):
            commit(first, number, *texts)
        settings = {"transactional.id": first.component.transactional_id}
        unfinished = Producer({"bootstrap.servers": work.broker.address, **settings})
        unfinished.init_transactions(START_SECS)
        unfinished.begin_transaction()
        unfinished.produce(work.copy, "void")
        unfinished.flush(START_SECS)
    with tester() as second:
        for number, texts in ((2, "c"), (3, "de")):
            commit(second, number, *texts)
    assert work.broker.texts(work.copy) == Counter("abcde")


def test_a_right_that_is_denied_is_named_with_its_topic_group_or_transaction(
    place: Place, work: Work
) -> None:
    """A source without the right to read ends; a record without the right to write fails its tuple;
    a refused commit is reported and retried."""
    config = {
        **work.settings, "kafka.bootstrap.servers": work.broker.guests_address,
        "kafka.producer": GUEST, "kafka.consumer": GUEST,
    }  # fmt: skip
    work.broker.produce(work.numbers, range(PARTITIONS))
    work.broker.only_describe("TOPIC", work.numbers)
    options = {"kafka.bootstrap.servers": work.broker.guests_address}
    once = {"topology.restart.limit": 0, "kafka.consumer": json.dumps(GUEST)}
    reading = work.start(place, **options, **once, **{"kafka.producer": json.dumps(GUEST)})
    finished = reading.wait(START_SECS)
    assert finished.code == 1
    assert f"needs Read on topic {work.numbers}, by an ACL" in finished.err

    fields = {"rows": ["row"]}
    exact = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    with ComponentTester(
        KafkaSink, inputs=fields, config={**config, **exact}, patch_time=False
    ) as sink:
        name = sink.component.transactional_id
        work.broker.only_describe("TRANSACTIONAL_ID", name)
        prepared, number = [[None, b"x"]], TransactionId(uuid.uuid4().hex, 1)
        with pytest.raises(ComponentError, match=f"needs Write on transactional id {name}, by an"):
            sink.component.commit(prepared, number)
    work.broker.only_describe("TOPIC", work.copy)
    with ComponentTester(KafkaSink, inputs=fields, config=config, patch_time=False) as sink:
        sink.process(["x"])
        until(lambda: sink.advance(0.1) or sink.failed or sink.acked, "it is settled", START_SECS)
        assert sink.acked == []
        assert f"needs Write on topic {work.copy}, by an ACL" in str(sink.errors)


class Whole(KafkaSpout):
    """All kinds of values of a sink."""

    outputs = ["key", "headers", "value"]


def test_headers_come_back_and_a_record_above_the_limit_of_its_topic_is_refused(
    work: Work,
) -> None:
    """By one byte: the largest record below the limit is stored."""
    topic = f"small-{uuid.uuid4().hex}"
    work.broker.create(topic, max_message_bytes="20000")
    largest = "x" * (20_000 - 97)
    positions = {"kafka.key.position": 0, "kafka.headers.position": 1}
    config = {**work.settings, "kafka.topic": topic, "kafka.topics": topic}
    fields = {"rows": ["id", "about", "row"]}
    with ComponentTester(
        KafkaSink, inputs=fields, config={**config, **positions}, patch_time=False
    ) as sink:
        sink.process(["k", {"a": "b", "none": None}, "y"])
        sink.process([None, None, largest])
        until(lambda: sink.advance(0.1) or len(sink.acked) == 2, "both are stored")
        with pytest.raises(ValueError, match=r"^row: its record has 19,904 bytes, more than the "):
            sink.process([None, None, largest + "x"])
    with ComponentTester(
        Whole, config={**config, "kafka.finish.at.end": True}, patch_time=False
    ) as spout:
        until(lambda: (spout.next_tuple() and False) or spout.finished, "all is read")
        found = sorted((each.values for each in spout.emitted), key=lambda each: len(each[2]))
    assert found == [["k", [("a", b"b"), ("none", None)], "y"], [None, [], largest]]


def test_poison_tuples_are_letters_in_a_topic_and_are_sent_again_from_there(
    place: Place, work: Work
) -> None:
    """Each tuple once, despite kills of spout, bolt and sink; all further tuples count."""
    place.environment["POISONED"] = str(place.path)
    letters = f"kafka:{work.copy}@{work.broker.address}"
    running = place.start("run", POISONED, "-o", f"topology.dead.letter={letters}")
    written = partial(running.process_called, "heron: __dead_letters[0]")
    running.until(written, "what writes letters runs", START_SECS)
    with Master(place.store_url, "Poisoned") as master:
        running.until(lambda: master.processed("__dead_letters"), "a letter is there")
    for each in ("check[0]", "__dead_letters[0]"):
        kill_9(running, each)
    running.until(lambda: len(listed(place)) >= len(POISON), "all letters are there", START_SECS)
    assert [each["values"][0] for each in listed(place)] == list(POISON)

    shown = place.heronpy("dead-letters", "Poisoned").succeeded()
    assert f"{len(POISON)} dead letters in topic {work.copy} of Kafka at" in shown.out
    (place.path / "mended").touch()
    first = listed(place)[0]["id"]
    place.heronpy("dead-letters", "Poisoned", first, "--replay").succeeded()
    rest = place.heronpy("dead-letters", "Poisoned", "--replay").succeeded()
    assert f"{len(POISON) - 1} dead letters sent again (sent again before" in rest.out
    kill_9(running, "__replayed[0]")
    until_sent_again(running, work)
    (place.path / "enough").touch()
    ended = running.wait().succeeded()
    assert (
        f"{work.copy} of Kafka at {work.broker.address}: list them with `heronpy dead-letters P"
        in ended.err
    )
    assert place.results()["counted"] == list(range(NUMBERS))
    again = [each["replayed"] for each in listed(place)]
    assert again == [True] * len(POISON)


def until_sent_again(running: Running, work: Work) -> None:
    """A checkpoint has the last request: the transaction's marker alone is behind it."""
    last = work.broker.end(work.copy, 0) - 1
    committed = partial(work.broker.committed, work.copy, "heronpy.replayed.Poisoned")
    running.until(lambda: committed()[0] >= last, "all are sent again", START_SECS)


def listed(place: Place) -> list[dict[str, Any]]:
    """The letters that the command finds, in order of their values."""
    found = place.heronpy("dead-letters", "Poisoned", "--json").succeeded()
    return sorted(map(json.loads, found.out.splitlines()), key=lambda each: each["values"])


def test_an_unknown_topic_and_a_wrong_address_are_one_line(place: Place, work: Work) -> None:
    """Brokers without automatic topics; a port without a listener."""
    wrong = {"kafka.topics": "absent"}, {"kafka.bootstrap.servers": "127.0.0.1:1"}
    once = {"topology.restart.limit": 0}
    no_topic, no_broker = (work.start(place, **each, **once) for each in wrong)
    assert_one_line(no_topic, "topic 'absent'")
    assert_one_line(no_broker, "Kafka at 127.0.0.1:1 does not answer")


def assert_one_line(running: Running, text: str) -> None:
    """The only error is the final one."""
    finished = running.wait()
    assert finished.code == 1
    (error,) = finished.errors
    assert text in error
