"""Records of Kafka topics as tuples; offsets are committed up to the lowest that is not acked."""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_connectors.kafka.client import (
    METADATA_SECS,
    NEEDED_PACKAGE,
    SERVERS,
    SparingLog,
    kafka,
    partitions_of,
    setting,
)
from heron_connectors.kafka.committed import committed_offsets, is_cooperative
from heron_connectors.kafka.formats import FieldReader, described
from heron_connectors.kafka.offsets import OffsetLedger, PartitionKey
from heron_connectors.kafka.rights import READ, Rights, error_text
from heron_connectors.kafka.schema_registry import RegistryAway
from heron_connectors.kafka.waiting_records import WaitingRecords
from heron_connectors.replay_queue import ReplayQueue, abandon
from heron_core import config as keys
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

TOPICS = "kafka.topics"
"""Config key: a topic, or a list of them."""
GROUP = "kafka.group"
"""Config key: the consumer group; by default TOPOLOGY.COMPONENT."""
ASSIGNMENT = "kafka.assignment"
"""Config key: group (the default): the brokers divide the partitions and take them away again;
fixed: instance i of n reads each n-th partition, as Storm's ManualPartitionSubscription."""
FINISH_AT_END = "kafka.finish.at.end"
"""Config key: true to finish at the end of every partition; the assignment is static then,
because a group that loses members one by one would rebalance permanently."""
PENDING_PER_PARTITION = "kafka.pending.per.partition"
"""Config key: limit of unacked records per partition, above which reading pauses (1000): a
record that fails repeatedly must not fall far behind the rest."""
COMMIT_SECS = "kafka.commit.secs"
"""Config key: the time between two commits (1)."""
REPEAT_COMMIT_SECS = 5.0
"""An unchanged position is committed again after this time, as in Java's consumer: the client
repeats a commit that brokers did not accept at once, possibly after a later commit, and the lower
offset would stay. A restart within this time reads the records again.
"""
CONSUMER = "kafka.consumer"
"""Config key: further settings of librdkafka's consumer, for example security."""

AT_END = ("latest", "end", "largest")
"""Values of `auto.offset.reset` that start a partition without committed offset at its end."""
STATE_KEY = "heronpy.kafka_spout"
"""Under it the state has the positions."""
CHECKPOINTS_MAX = 16
"""Maximum of incomplete checkpoints: older ones have failed."""

RecordId = tuple[str, int, int] | tuple[str, int, int, int]
"""(topic, partition, offset), and the number of times that the partition has left the process."""


class KafkaSpout(Spout, TwoPhaseStatefulComponent):
    """Emits the records of topics; the id of a tuple is (topic, partition, offset), with a
    fourth number if its partition was another process's meanwhile.

        lines = KafkaSpout.spec(
            par=2, config={"kafka.bootstrap.servers": "localhost:9092", "kafka.topics": "lines"}
        )

    `outputs` of a subclass chooses from value, key, topic, partition, offset, timestamp_ms and
    headers; other names are fields of a value in JSON or Avro. A failed record is emitted again; a
    record that cannot be decoded is an error, and is left out. While a schema registry is away its
    records wait. Under EFFECTIVELY_ONCE the positions are part of the checkpoint, and are committed
    to the brokers after its completion.
    """

    outputs = ["value"]
    topics: str | Sequence[str] | None = None
    servers: str | None = None
    needed_package = NEEDED_PACKAGE

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Connect; ComponentError if no broker answers or a topic is unknown."""
        name = context.get_component_id()
        topics = setting(config, TOPICS, self.topics, name)
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._servers = str(setting(config, SERVERS, self.servers, name))
        self._fields = FieldReader(self.outputs, config, name)
        self._finish_at_end = bool(config.get(FINISH_AT_END, False))
        self._failed: ReplayQueue[RecordId] = ReplayQueue.of(config)
        self._is_exact = config.get(keys.RELIABILITY_MODE) == keys.EFFECTIVELY_ONCE
        self._is_fixed = self._is_assigned_fixed(config, name)
        self._pending_max = int(config.get(PENDING_PER_PARTITION, 1000))
        self._commit_secs = float(config.get(COMMIT_SECS, 1.0))
        tasks = context.get_component_tasks(name)
        self._index, self._instances = tasks.index(context.get_task_id()), len(tasks)
        group = config.get(GROUP, f"{context.get_topology_name()}.{name}")
        self._rights = Rights(", ".join(self._topics), READ, str(group))
        self._connect({**config.get(CONSUMER, {}), "group.id": group})

    def _is_assigned_fixed(self, config: dict[str, Any], name: str) -> bool:
        assignment = config.get(ASSIGNMENT, "fixed" if self._is_exact else "group")
        if assignment not in ("group", "fixed"):
            raise ComponentError(f"{name}: {ASSIGNMENT} is group or fixed, not {assignment!r}")
        if self._is_exact and assignment == "group":
            raise ComponentError(
                f"{name}: with {keys.EFFECTIVELY_ONCE} {ASSIGNMENT} must be fixed: a group would"
                " move partitions between instances, and their positions in the state stay"
            )
        return self._finish_at_end or assignment == "fixed"

    def _connect(self, settings: dict[str, Any]) -> None:
        self._consumer: Any = kafka().Consumer(
            {
                "bootstrap.servers": self._servers,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": self._finish_at_end,
                **settings,
                "enable.auto.commit": False,
                "on_commit": self._committed,
            },
            logger=SparingLog(self.logger),
        )
        self._all_partitions = partitions_of(self._consumer, self._servers, self._topics)
        self._subscribed = False
        self._reset = str(settings.get("auto.offset.reset", "earliest"))
        self._is_cooperative = is_cooperative(settings)
        self._positions: dict[PartitionKey, int] = {}
        """Start offset after another process, from its saved state; under EFFECTIVELY_ONCE
        advanced with each record."""
        self._restore()
        self._ledger = OffsetLedger()
        self._waiting = WaitingRecords()
        self._values: dict[RecordId, list[Any]] = {}
        self._readings: dict[PartitionKey, int] = {}
        """Number of times that a partition has left the process: its records may be read again."""
        self._paused: set[PartitionKey] = set()
        self._blocked: set[PartitionKey] = set()
        """Paused as well, as a record of them waits for the schema registry."""
        self._ended: set[PartitionKey] = set()
        self._mine: list[PartitionKey] = []
        self._next_commit = self._next_repeat = 0.0

    # --- checkpoints ----------------------------------------------------------------------------

    def _restore(self) -> None:
        self._of_checkpoint: dict[int, dict[PartitionKey, int]] = {}
        """Positions to commit when a checkpoint is complete."""
        saved = self._state.get(STATE_KEY) if self._is_exact else None
        for topic, partition, position in saved or ():
            self._positions[topic, partition] = position

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position in each partition."""
        if self._is_exact:
            saved = [[*partition_key, each] for partition_key, each in self._positions.items()]
            self._state.put(STATE_KEY, saved)
            waiting = self._of_checkpoint
            waiting[int(checkpoint_id)] = dict(self._positions)
            while len(waiting) > CHECKPOINTS_MAX:
                del waiting[min(waiting)]

    def post_save(self, checkpoint_id: Any) -> None:
        """Commit to the brokers: shows the topology's progress, and is the start of the next
        run."""
        completed = int(checkpoint_id)
        done = [each for each in self._of_checkpoint if each <= completed]
        positions = [self._of_checkpoint.pop(each) for each in sorted(done)]
        if positions:
            self._commit_positions(positions[-1], wait=False)

    def _learn_positions(self) -> None:
        """Fix the start of partitions missing in the state: a restore must not depend on later
        commits.
        """
        make = kafka().TopicPartition
        known: dict[PartitionKey, int] = {}
        for partition_key, offset in self._committed_offsets(self._mine).items():
            if offset is None:
                partition = make(*partition_key)
                ends = self._consumer.get_watermark_offsets(partition, timeout=METADATA_SECS)
                known[partition_key] = ends[1 if self._reset in AT_END else 0]
            else:
                known[partition_key] = offset
        self._positions |= known

    def _committed_offsets(self, partition_keys: Iterable[PartitionKey]) -> dict[Any, int | None]:
        """Of those partitions without a position."""
        unknown = [each for each in partition_keys if each not in self._positions]
        return committed_offsets(self._consumer, unknown, self._rights.lacking)

    def _subscribe(self) -> None:
        """Start reading, at the earliest in the first next_tuple, after a restored state is known.
        The next call retries if the brokers do not answer.
        """
        if self._is_fixed:
            self._mine = self._all_partitions[self._index :: self._instances]
            try:
                if self._is_exact:
                    self._learn_positions()
                self._consumer.assign(self._beginnings(self._mine))
            except kafka().KafkaException as error:
                self._take_error(error.args[0], None)
                return
        else:
            self._consumer.subscribe(
                self._topics,
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=self._lost,
            )
        self._subscribed = True

    def _beginnings(self, partition_keys: Sequence[PartitionKey]) -> list[Any]:
        """Where to begin: at the position, else at what was committed, else where the settings say.
        KafkaException if the brokers do not tell."""
        begins = {**self._committed_offsets(partition_keys), **self._positions}
        unset = kafka().OFFSET_END if self._reset in AT_END else kafka().OFFSET_BEGINNING
        if self._reset == "error":
            unset = kafka().OFFSET_STORED  # the client reports a missing offset
        make = kafka().TopicPartition
        return [
            make(*partition_key, unset if (offset := begins[partition_key]) is None else offset)
            for partition_key in partition_keys
        ]

    # --- rebalances: librdkafka calls these inside poll() ---------------------------------------

    def _assigned(self, consumer: Any, partitions: Any) -> None:
        self.logger.info("reads partitions %s", [each.partition for each in partitions])
        mine = [_partition_key(each) for each in partitions]
        self._mine += mine
        try:
            begins = self._beginnings(mine)
        except kafka().KafkaException as error:
            self._take_error(error.args[0], None)
            begins = partitions  # else the client would not read the partitions
        (consumer.incremental_assign if self._is_cooperative else consumer.assign)(begins)

    def _revoked(self, _: Any, partitions: Any) -> None:
        self._commit(wait=True, everything=True)
        self._lost(_, partitions)

    def _lost(self, _: Any, partitions: Any) -> None:
        gone = set(map(_partition_key, partitions))
        self._waiting.drop(gone)
        for partition_key in gone:
            self._ledger.revoke(partition_key)
            self._positions.pop(partition_key, None)
            self._readings[partition_key] = self._readings.get(partition_key, 0) + 1
        self._mine = [each for each in self._mine if each not in gone]
        # The client would keep the position if the partitions return.
        self._resume((self._paused | self._blocked) & gone)
        self._blocked -= gone
        self._values = {key: each for key, each in self._values.items() if key[:2] not in gone}
        self._failed.retain(lambda record_id: record_id[:2] not in gone)

    # --- the stream of records ------------------------------------------------------------------

    def next_tuple(self) -> None:
        """Emit what failed, or else the next record."""
        self._commit_if_due()
        if self._failed and self._emit_failed():
            return
        if not self._subscribed:
            self._subscribe()
        if (record := self._next_record()) is not None:
            self._take(record)
        elif self._is_at_end:
            self.finish()

    @property
    def _is_at_end(self) -> bool:
        is_empty = not self._failed and not self._waiting
        return self._finish_at_end and is_empty and self._ended.issuperset(self._mine)

    def _next_record(self) -> Any:
        """A due record that waited for the schema registry, or else a record of the brokers; the
        client is polled in any case, to stay in its group."""
        record = self._consumer.poll(0)
        if record is not None and record.error() is not None:
            self._take_record_error(record)
        elif record is not None:
            if not self._waiting:
                return record
            partition_key = _partition_of(record)
            self._block(partition_key)
            self._waiting.add(partition_key, record)
        return self._waiting.take(time.monotonic())

    def _emit_failed(self) -> bool:
        """Emit a failed record that is due; whether a record was emitted."""
        while (record_id := self._failed.take(time.monotonic())) is not None:
            if record_id in self._values:
                self.emit(self._values[record_id], tup_id=record_id)
                return True
        return False

    def _take_record_error(self, record: Any) -> None:
        if record.error().code() == kafka().KafkaError._PARTITION_EOF:
            self._ended.add(_partition_of(record))
        else:
            self._take_error(record.error(), record.topic())

    def _take_error(self, error: Any, topic: str | None) -> None:
        """librdkafka retries after the loss of brokers. A fatal error, or a missing permission,
        ends the instance: otherwise the topic would seem to have no more records.
        """
        if error.fatal() or self._rights.lacking(error):
            text = f"Kafka at {self._servers}: {self._rights.described(error, topic)}"
            self.delegate.call_soon(partial(self.delegate.leave, text))
        elif not error.retriable():
            self.logger.warning("Kafka at %s: %s", self._servers, error_text(error))

    def _take(self, record: Any) -> None:
        """Emit it; ComponentError if it cannot be decoded, or is not of the declared types."""
        partition_key, offset = _partition_of(record), record.offset()
        values: list[Any] | None = None
        try:
            values = self._fields.values(record)
        except RegistryAway as error:
            self._wait_with(record, error)
            return
        except ValueError as error:
            problem = described(error)
        self._decoded(partition_key)
        self._note_taken(partition_key, offset)
        try:
            if values is not None:
                self._emit_taken(partition_key, offset, values)
                return
        except TypeError as error:  # of the emit: a value is not of the declared type
            problem = str(error)
        self._values.pop((*partition_key, offset), None)
        self._ledger.ack(partition_key, offset)
        raise ComponentError(
            f"{partition_key[0]}[{partition_key[1]}]@{offset} is left out: {problem}"
        )

    def _note_taken(self, partition_key: PartitionKey, offset: int) -> None:
        if self._is_exact:
            self._positions[partition_key] = offset + 1
        else:
            self._ledger.take(partition_key, offset)

    def _emit_taken(self, partition_key: PartitionKey, offset: int, values: list[Any]) -> None:
        if self._is_exact:
            self.emit(values)
            return
        if self._ledger.pending(partition_key) >= self._pending_max:
            self._paused.add(partition_key)
            self._consumer.pause([kafka().TopicPartition(*partition_key)])
        record_id = self._id_of(partition_key, offset)
        self._values[record_id] = values
        self.emit(values, tup_id=record_id)

    def _wait_with(self, record: Any, error: Exception) -> None:
        """Pause the partition until the record is decoded."""
        partition_key = _partition_of(record)
        self._block(partition_key)
        pause = self._waiting.put_back(partition_key, record, time.monotonic())
        self.logger.warning("%s; tried again in %g s", error, pause)

    def _block(self, partition_key: PartitionKey) -> None:
        self._blocked.add(partition_key)
        self._consumer.pause([kafka().TopicPartition(*partition_key)])

    def _decoded(self, partition_key: PartitionKey) -> None:
        """The registry answers, or is not asked."""
        if self._blocked:
            self._waiting.answered()
            if partition_key in self._blocked - self._waiting.partition_keys:
                self._blocked.remove(partition_key)
                self._resume({partition_key} - self._paused)

    def _id_of(self, partition_key: PartitionKey, offset: int) -> RecordId:
        """A record read again after a revoked assignment gets a new id: the outcome of the
        earlier tuple does not concern the new tuple."""
        reading = self._readings.get(partition_key, 0)
        return (*partition_key, offset, reading) if reading else (*partition_key, offset)

    def ack(self, tup_id: RecordId) -> None:
        """The record is done."""
        self._failed.acked(tup_id)
        if tup_id in self._values:
            self._done(tup_id)

    def _done(self, tup_id: RecordId) -> None:
        partition_key = tup_id[:2]
        self._values.pop(tup_id, None)
        self._ledger.ack(partition_key, tup_id[2])
        if (
            partition_key in self._paused
            and self._ledger.pending(partition_key) <= self._pending_max // 2
        ):
            self._paused.discard(partition_key)
            self._resume({partition_key} - self._blocked)
        self._commit_if_due()

    def _resume(self, partition_keys: set[PartitionKey]) -> None:
        """Read on in partitions that had too many open records."""
        if partition_keys:
            self._paused -= partition_keys
            self._consumer.resume([kafka().TopicPartition(*each) for each in partition_keys])

    def fail(self, tup_id: RecordId) -> None:
        """Replay the record, unless abandoned or the partition is revoked. Commits continue
        after an abandoned record."""
        if tup_id in self._values and (failures := self._failed.failed(tup_id, time.monotonic())):
            values = self._values[tup_id]
            self._done(tup_id)
            abandon(self.delegate, tup_id, values, failures)

    # --- commits --------------------------------------------------------------------------------

    def _commit_if_due(self) -> None:
        now = time.monotonic()
        if now >= self._next_commit:
            self._next_commit = now + self._commit_secs
            repeats = now >= self._next_repeat
            if repeats:
                self._next_repeat = now + REPEAT_COMMIT_SECS
            self._commit(wait=False, everything=repeats)

    def _commit(self, wait: bool, everything: bool) -> None:
        """With `everything`, repeat the last commit: it may still be under way, and is refused
        after a move of the partition.
        """
        safe = self._ledger.commits(everything)
        if safe:
            self._commit_positions(safe, wait)

    def _commit_positions(self, positions: dict[PartitionKey, int], wait: bool) -> None:
        make = kafka().TopicPartition
        offsets = [make(*partition_key, offset) for partition_key, offset in positions.items()]
        try:
            done = self._consumer.commit(offsets=offsets, asynchronous=not wait)
        except kafka().KafkaException as error:
            self._not_committed(error.args[0], offsets)
            return
        for partition in done or ():
            if partition.error is not None:
                self._not_committed(partition.error, [partition])

    def _not_committed(self, error: Any, partitions: Iterable[Any]) -> None:
        """Uncommitted records are read again by the partitions' next owners."""
        self.logger.warning("offsets are not committed: %s", self._rights.described(error))
        for each in partitions:
            self._ledger.not_committed(_partition_key(each))

    def _committed(self, error: Any, partitions: Any) -> None:
        """librdkafka calls this inside poll()."""
        for each in partitions:
            if error is not None or each.error is not None:
                self._ledger.not_committed(_partition_key(each))

    def close(self) -> None:
        """Commit what is acked, leave the group."""
        self._commit(wait=True, everything=True)
        self._consumer.close()
        self._fields.close()

    def __getstate__(self) -> dict[str, Any]:
        """Positions to continue from, for engines that keep state."""
        ledger = self._ledger
        read = {
            partition_key: ledger.position(partition_key) for partition_key in ledger.partition_keys
        }
        return {"_positions": {**self._positions, **read}}


def _partition_key(partition: Any) -> PartitionKey:
    return partition.topic, partition.partition


def _partition_of(record: Any) -> PartitionKey:
    return record.topic(), record.partition()
