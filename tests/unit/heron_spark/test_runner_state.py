"""Keyed states on Spark: saved with every batch, as all state of a component."""

import io
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.metrics import CountMetric
from heron_api.spout.spout import Spout
from heron_api.state.keyed_state import value_state
from heron_api.stream import Grouping
from heron_api.topology import Topology
from heron_core.wire.frames import FrameKind, header
from heron_core.wire.values import array_of, packer
from heron_spark.batch_log.blocks import Block, messages
from heron_spark.batch_log.checkpoint_dir import TaskOutcome
from heron_spark.compile.plan import QueryPlan, compile_topology
from heron_spark.worker.printing import Printed
from heron_spark.worker.runner import TaskRunner
from heron_tester.sources import topology_of
from heronpy_compat.windows import BatchWindowBolt, KeyedProcessBolt, Timer, Tumbling

seen: list[tuple[Any, int]] = []


class Words(Spout):
    outputs = ["word"]


class BatchCount(Bolt):
    """Counts its batches, in a keyed state and in Heron's."""

    count = value_state(default=0)

    def init_state(self, stateful_state: Any) -> None:
        self.own = stateful_state

    def begin_batch(self, batch_id: int) -> None:
        batches = self.count.for_key("batches")
        batches.put(batches.get() + 1)
        self.own.put("batches", batches.get() * 10)
        seen.append((batches.get(), self.own.get("batches")))


class Measured(Bolt):
    """Counts its batches with a metric."""

    def initialize(self, config: Any, context: Any) -> None:
        self.batches = CountMetric()
        if config.get("test.registers", True):
            context.register_metric("batches", self.batches, 0)

    def begin_batch(self, batch_id: int) -> None:
        if self.batches is not None:
            self.batches.incr()


class Alarms(KeyedProcessBolt):
    """Has a timer for each word, a second after it."""

    timestamp_field: str | None = "time_ms"

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        self.timers.register_event_time_timer(timestamp_ms + 1000)

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        seen.append((timer.key, timestamp_ms))


class Gives(Spout):
    outputs = ["word", "time_ms"]

    def next_tuple(self) -> None:
        self.emit(["d", 1004])
        self.emit_watermark(1005)


class DueByGiven(Alarms):
    """Times come from the spout."""

    timestamp_field = None

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        self.timers.register_event_time_timer(tup.values[1])


class GivesAndEnds(Gives):
    """The whole input in a batch."""

    def next_tuple(self) -> None:
        super().next_tuple()
        self.emit_watermark(1007)
        self.finish()


class Repeats(DueByGiven):
    """Has a timer every millisecond."""

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        super().on_timer(timestamp_ms, timer)
        self.timers.register_event_time_timer(timestamp_ms + 1)


class ByGivenOfOneBatch(Topology):
    words = GivesAndEnds.spec()
    alarms = Repeats.spec(inputs={words: Grouping.fields("word")})


class ByGiven(Topology):
    words = Gives.spec()
    alarms = DueByGiven.spec(inputs={words: Grouping.fields("word")})


class Timed(Topology):
    words = Words.spec(optional_outputs=["time_ms"])
    alarms = Alarms.spec(inputs={words: Grouping.fields("word")})


class Windows(BatchWindowBolt):
    """Its results are seen as columns."""

    outputs = {"word": "string", "words": "bigint"}
    key_fields = ["word"]
    timestamp_field = "time_ms"
    window = Tumbling(1000)
    aggregates = {"words": "count"}

    def values(self, result: Any) -> Any:
        columns = [result.value[name].to_pylist() for name in ("word", "words")]
        seen.extend(zip(*columns, strict=True))


class Windowed(Topology):
    words = Words.spec(optional_outputs=["time_ms"])
    windows = Windows.spec(inputs={words: Grouping.fields("word")})


class MeasuredBatches(Topology):
    words = Words.spec()
    count = Measured.spec(inputs={words: Grouping.fields("word")})


class Batches(Topology):
    words = Words.spec()
    count = BatchCount.spec(inputs={words: Grouping.fields("word")})


def test_a_new_process_counts_with_the_metrics_that_are_read() -> None:
    plan = compile_topology(topology_of(MeasuredBatches, None, None, {}))
    (task,) = plan.packing.tasks_of["count"]
    runner = TaskRunner(plan, task, {}, Printed(io.StringIO(), False))
    runner.begin(0)
    outcome = runner.end(0, False)
    assert outcome.results["statistics"]["user_totals"] == {"batches": 1}
    runner.close()
    successor = TaskRunner(plan, task, {}, Printed(io.StringIO(), False))
    successor.restore(0, outcome.state)
    successor.begin(1)
    assert successor.end(1, False).results["statistics"]["user_totals"] == {"batches": 1}
    successor.close()
    config = {"test.registers": False}
    other = compile_topology(topology_of(MeasuredBatches, None, None, config))
    without = TaskRunner(other, task, {}, Printed(io.StringIO(), False))
    without.restore(0, outcome.state)
    without.begin(1)
    without.close()


def test_a_new_process_goes_on_with_the_states_of_the_batch_before() -> None:
    plan = compile_topology(topology_of(Batches, None, None, {}))
    (task,) = plan.packing.tasks_of["count"]
    seen.clear()
    runner = TaskRunner(plan, task, {}, Printed(io.StringIO(), False))
    for batch in (0, 1):
        runner.begin(batch)
        outcome = runner.end(batch, False)
    runner.close()
    successor = TaskRunner(plan, task, {}, Printed(io.StringIO(), False))
    successor.restore(1, outcome.state)
    successor.begin(2)
    successor.close()
    assert seen == [(1, 10), (2, 20), (3, 30)]


def test_timers_of_a_batch_are_due_in_the_process_that_goes_on() -> None:
    plan = compile_topology(topology_of(Timed, None, None, {}))
    (task,) = plan.packing.tasks_of["alarms"]
    seen.clear()
    runner = TaskRunner(plan, task, {}, Printed(io.StringIO(), False))
    runner.begin(0)
    body = array_of([packer()([word, time_ms]) for word, time_ms in (("a", 5000), ("b", 5500))])
    runner.deliver([header(FrameKind.DATA, 0, 1, task, 2), body])
    outcome = runner.end(0, False)
    runner.close()
    successor = TaskRunner(plan, task, {}, Printed(io.StringIO(), False))
    successor.restore(0, outcome.state)
    successor.begin(1)
    successor.deliver([header(FrameKind.DATA, 0, 1, task, 1), array_of([packer()(["c", 6001])])])
    successor.end(1, False)  # with a tick only if the machine is slow
    component = successor.driver.component.users_object
    component.time_runner.tick()
    assert seen == [("a", 6000)]
    successor.end(2, True)
    successor.close()
    assert seen == [("a", 6000), ("b", 6500), ("c", 7001)]


def test_windows_of_batches_are_complete_in_the_process_that_goes_on() -> None:
    plan = compile_topology(topology_of(Windowed, None, None, {}))
    (task,) = plan.packing.tasks_of["windows"]
    seen.clear()
    state: Any = None
    for batch, rows in enumerate(([("a", 5), ("b", 900), ("a", 800)], [("a", 700), ("c", 1000)])):
        runner = TaskRunner(plan, task, plan.partition_of(1), Printed(io.StringIO(), False))
        if state is not None:
            runner.restore(batch - 1, state)
        runner.begin(batch)
        body = array_of([packer()(list(each)) for each in rows])
        runner.deliver([header(FrameKind.DATA, 0, 1, task, len(rows)), body])
        state = runner.end(batch, False).state
        runner.driver.component.users_object.time_runner.tick()
        runner.close()
    assert sorted(seen) == [("a", 3), ("b", 1)]


def test_a_watermark_of_a_spout_comes_at_the_end_of_each_batch() -> None:
    plan = compile_topology(topology_of(ByGiven, None, None, {}))
    (words,), (alarms,) = plan.packing.tasks_of["words"], plan.packing.tasks_of["alarms"]
    seen.clear()
    spout = TaskRunner(plan, words, plan.partition_of(1), Printed(io.StringIO(), False))
    spout.begin(0)
    spout.turn(0.0)
    outcome = spout.end(0, False)
    spout.close()
    bolt = TaskRunner(plan, alarms, plan.partition_of(1), Printed(io.StringIO(), False))
    for number, blocks in enumerate((outcome.blocks, _blocks_of_successor(plan, words, outcome))):
        bolt.begin(number)
        for _, _, block in blocks:
            for each in messages(block):
                bolt.deliver(each)
        bolt.end(number, False)
        assert seen == [("d", 1004)]
    bolt.close()


def test_timers_until_the_last_watermark_are_due_although_the_spout_ends_in_the_same_batch() -> (
    None
):
    plan = compile_topology(topology_of(ByGivenOfOneBatch, None, None, {}))
    (words,), (alarms,) = plan.packing.tasks_of["words"], plan.packing.tasks_of["alarms"]
    seen.clear()
    spout = TaskRunner(plan, words, plan.partition_of(1), Printed(io.StringIO(), False))
    spout.begin(0)
    spout.turn(0.0)
    outcome = spout.end(0, False)
    again = _blocks_of_successor(plan, words, outcome)
    assert outcome.blocks[0][2].endswith(again[0][2])
    spout.close()
    bolt = TaskRunner(plan, alarms, plan.partition_of(1), Printed(io.StringIO(), False))
    bolt.begin(0)
    for _, _, block in outcome.blocks:
        for each in messages(block):
            bolt.deliver(each)
    # Of the timers at the end of time only the first is due.
    assert seen == [("d", time_ms) for time_ms in (1004, 1005, 1006, 1007)]
    bolt.end(0, True)
    bolt.close()


def _blocks_of_successor(plan: QueryPlan, task: int, outcome: TaskOutcome) -> list[Block]:
    """Blocks of another process in the next, empty batch."""
    successor = TaskRunner(plan, task, plan.partition_of(1), Printed(io.StringIO(), False))
    successor.restore(0, outcome.state)
    successor.begin(1)
    blocks = successor.end(1, False).blocks
    successor.close()
    assert blocks
    return list(blocks)
