"""One bad row in a batch costs one row, whoever made a batch of the rows."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from heron_core import config as keys
from heron_core.topology import GroupingKind, StreamSpec
from heron_core.wire.frames import FrameKind
from heronpy_compat import BatchBolt
from tests.unit.heron_instance.attempts_support import Cluster, Remembering
from tests.unit.heron_instance.instance_support import (
    OTHER,
    SHUFFLE,
    Made,
    batch,
    grouped,
    make,
    reads,
)
from tests.unit.heron_instance.test_columns import FED, TYPED, acks, columns_message, sent

ROOT = OTHER << 44
ONE = StreamSpec("default", ("value",), types=("bigint",))


class Picky(BatchBolt):
    """Emits its rows unless one of them is bad."""

    bad: ClassVar[tuple[Any, ...]] = ()
    emits_first = False

    def initialize(self, config: Any, context: Any) -> None:
        self.taken: list[Any] = []

    def process_batch(self, batch: Any) -> None:
        values = batch.column(0).to_pylist()
        if any(isinstance(each, dict) for each in values):
            self.taken += values
            return
        if self.emits_first:
            self.emit_batch({"key": ["x"] * len(values), "number": range(len(values))})
        if set(values) & set(self.bad):
            raise ValueError(f"bad: {set(values) & set(self.bad)}")
        self.taken += values
        if not self.emits_first:
            self.emit_batch({"key": ["x"] * len(values), "number": values})


class PickyAboutTen(Picky):
    bad = (7, 11, 12)


class EmitsBeforeItRaises(PickyAboutTen):
    emits_first = True


class RaisesForMany(Picky):
    def process_batch(self, batch: Any) -> None:
        if batch.num_rows > 2:
            raise MemoryError("too many")
        super().process_batch(batch)


def numbers(made: Made) -> tuple[int, int, int]:
    found = made.core.statistics()
    return found.executed, found.acked, found.failed


def made_of(kind: type, tracked: bool = True, **more: Any) -> Made:
    return make(
        kind, reads(grouped(GroupingKind.GLOBAL)), outputs=[TYPED], types=FED.types,
        tracked=tracked, **more,
    )  # fmt: skip


GOOD = [each for each in range(20) if each not in (7, 11, 12)]


def tuples() -> Any:
    return batch(*([at] for at in range(20)), roots=[(ROOT + at, at + 1) for at in range(20)])


def columns_of_few_runs() -> Any:
    """Rows 0 to 9 of one root, 10 to 19 of a root each."""
    runs = [(ROOT + 1, 10, 10), *((ROOT + 10 + at, 10 + at, 1) for at in range(10))]
    return columns_message(range(20), runs)


def test_one_bad_row_among_tuples_fails_alone_and_all_others_are_acked() -> None:
    made = made_of(PickyAboutTen)
    made.core.deliver(tuples())
    told = acks(made)
    assert made.component.taken == GOOD
    assert sorted(set(made.words_of(FrameKind.FAIL))) == [ROOT + 7, ROOT + 11, ROOT + 12]
    out = {root: edge for each in made.batches() for root, edge in pairs_of(each)}
    assert set(told) == {ROOT + at for at in GOOD}
    assert [row[1] for _, row in sent(made)] == GOOD
    edges = {root: value ^ (root - ROOT + 1) for root, value in told.items()}
    assert all(edges[root] == out[root] for root in edges)
    assert numbers(made) == (20, 17, 3)
    assert made.core.statistics().errors == 3
    made.core.validate()


def pairs_of(message: Any) -> list[tuple[int, int]]:
    """(root, edge) of each run of a message, further roots included."""
    ids = message.ids
    found = list(zip(ids[::2], ids[1::2], strict=True))
    if len(message.frames) > 4:
        words = memoryview(message.frames[4]).cast("Q").tolist()
        found += [(root, ids[2 * at + 1]) for at, root in zip(words[::2], words[1::2], strict=True)]
    return found


def test_of_a_batch_with_one_root_the_root_fails_once_and_the_other_rows_are_processed() -> None:
    made = made_of(PickyAboutTen)
    made.core.deliver(columns_of_few_runs())
    told = acks(made)
    assert made.component.taken == GOOD
    assert sorted(made.words_of(FrameKind.FAIL)) == [ROOT + 1, ROOT + 11, ROOT + 12]
    assert set(told) == {ROOT + 10 + at for at in range(10) if at not in (1, 2)}
    assert numbers(made) == (20, 17, 3)


def test_after_a_bad_row_the_other_rows_of_its_root_are_divided_down_to_the_next_bad_one() -> None:
    made = made_of(PickyAboutTen)
    made.core.deliver(columns_message(range(6, 14), [(ROOT + 1, 10, 8)]))
    assert acks(made) == {}
    assert made.component.taken == [6, 8, 9, 10, 13]
    assert sorted(set(made.words_of(FrameKind.FAIL))) == [ROOT + 1]
    assert numbers(made) == (8, 5, 3)


def test_a_batch_of_one_root_that_is_only_too_large_is_acked_when_all_of_it_is_processed() -> None:
    made = made_of(RaisesForMany)
    made.core.deliver(columns_message(range(9), [(ROOT + 1, 10, 9)]))
    told = acks(made)
    assert made.component.taken == list(range(9))
    expected = 10
    for each in made.batches():
        for root, edge in pairs_of(each):
            assert root == ROOT + 1
            expected ^= edge
    assert told == {ROOT + 1: expected}
    assert numbers(made) == (9, 9, 0)
    assert "of none of its 9 rows in smaller ones" in made.errors[0]


@pytest.mark.parametrize("message", [tuples, columns_of_few_runs])
def test_what_a_call_emitted_before_it_raised_is_acked_with_its_roots(
    message: Callable[[], Any],
) -> None:
    made = made_of(EmitsBeforeItRaises)
    incoming = message()
    made.core.deliver(incoming)
    told = acks(made)
    failed = set(made.words_of(FrameKind.FAIL))
    assert made.component.taken == GOOD
    expected: dict[int, int] = {}
    words = memoryview(incoming[2]).cast("Q").tolist()
    arrived = list(zip(words[::2], words[1::2], strict=True))
    for root, edge in [*arrived, *(pair for each in made.batches() for pair in pairs_of(each))]:
        expected[root] = expected.get(root, 0) ^ edge
    assert told == {root: value for root, value in expected.items() if root not in {0, *failed}}


def test_where_nothing_is_tracked_a_row_counts_once_at_most() -> None:
    made = made_of(PickyAboutTen, tracked=False)
    made.core.deliver(batch(*([at] for at in range(20))))
    assert made.component.taken == GOOD
    assert [row[1] for _, row in sent(made)] == GOOD
    assert made.core.statistics().failed_for_good == 3
    made = made_of(EmitsBeforeItRaises, tracked=False)
    made.core.deliver(batch(*([at] for at in range(20))))
    assert (made.component.taken, len(sent(made))) == ([], 20)
    assert made.core.statistics().failed_for_good == 20


def test_values_of_several_types_that_no_stream_declares_arrive_as_batches_of_one_type() -> None:
    made = make(Picky, reads(SHUFFLE), outputs=[StreamSpec("default", ("a", "b"))], types=())
    made.component.emit_batch = lambda frame: None
    values = [1, 2, "x", 3, None, {"a": 1}, [1, "no list of one type"], 4.5]
    roots = [(ROOT + at, at + 1) for at in range(8)]
    made.core.deliver(batch(*([each] for each in values), roots=roots))
    assert list(map(str, made.component.taken)) == [
        "1", "2", "x", "3", "None", "{'a': 1}", "4.5",
    ]  # fmt: skip
    acks(made)
    assert made.words_of(FrameKind.FAIL) == [ROOT + 6]
    assert "the values of field 'value' are not a column" in made.errors[0]
    assert numbers(made) == (8, 7, 1)


class HoldsAll(PickyAboutTen):
    auto_ack = False

    def process_batch(self, batch: Any) -> None:
        self.holding = [*getattr(self, "holding", ()), self.current_tuple]
        super().process_batch(batch)


def test_a_bolt_that_acks_batches_itself_may_hold_the_one_that_was_divided() -> None:
    made = made_of(HoldsAll)
    made.core.deliver(columns_message(range(8), [(ROOT + 1, 10, 3), (ROOT + 2, 20, 5)]))
    for each in made.component.holding:
        made.component.ack(each)
    acks(made)
    assert made.words_of(FrameKind.FAIL) == [ROOT + 2]
    assert made.component.taken == list(range(7))
    assert set(acks(made)) <= {ROOT + 1, ROOT + 2}


class HoldsFew(RaisesForMany):
    auto_ack = False

    def process_batch(self, batch: Any) -> None:
        held = self.divided if batch.num_rows > 2 else self.whole
        held.append(self.current_tuple)
        super().process_batch(batch)

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.divided: list[Any] = []
        self.whole: list[Any] = []


def test_a_root_is_acked_when_all_pieces_are_and_batches_that_were_divided_are_none() -> None:
    made = made_of(HoldsFew)
    made.core.deliver(columns_message(range(16), [(ROOT + 1, 10, 16)]))
    assert (len(made.component.divided), len(made.component.whole)) == (7, 8)
    for each in [*made.component.divided, *made.component.whole[1:]]:
        made.component.ack(each)
    assert acks(made) == {}
    made.component.ack(made.component.whole[0])
    assert set(acks(made)) == {ROOT + 1}


def test_each_row_of_each_failed_batch_counts_and_no_row_counts_twice() -> None:
    made = made_of(HoldsFew)
    for rows in (range(2), range(1), range(2)):
        made.core.deliver(columns_message(rows, [(ROOT + 1, 10, len(rows))]))
    for each in made.component.whole * 2:
        made.component.fail(each)
    assert made.core.statistics().failed == 5


class HearsTicks(PickyAboutTen):
    def process_tick(self, tup: Any) -> None:
        self.taken.append("tick")


def test_ticks_come_between_the_rows_of_a_batch_that_is_divided() -> None:
    made = made_of(HearsTicks, config={keys.TICK_TUPLE_FREQ_SECS: 1})
    made.core.begin(True, made.now)
    made.look_secs = 0.25
    made.core.deliver(tuples())
    taken = made.component.taken
    assert [each for each in taken if each != "tick"] == GOOD
    assert taken[taken.index(GOOD[-1]) :].count("tick") < taken.count("tick") - 1


def come(bolt: Cluster, *values: Any) -> None:
    """Tuples come in one message, and come again after each restore."""
    while not bolt.run([batch(*([each] for each in values), epoch=bolt.epoch)]):
        pass


class CountsRows(Remembering, BatchBolt):
    """The same of batches."""

    def process_batch(self, batch: Any) -> None:
        for value in batch.column(0).to_pylist():
            self.count(value)


@pytest.mark.parametrize("values", [list(range(10)), [*range(5), "text", *range(6, 10)]])
def test_with_checkpoints_a_bad_row_of_a_batch_is_abandoned_and_nothing_of_it_counts(
    values: list[Any],
) -> None:
    bolt = Cluster(CountsRows)
    bolt.world.refuses = lambda value, call: value == 7
    come(bolt, *values)
    good = [each for each in values if each != 7]
    assert bolt.component.seen == good
    assert [bolt.component.state.get(each) for each in good] == [1] * len(good)
    assert sorted(map(str, bolt.of_now)) == sorted(map(str, good))
    assert bolt.numbers() == (10, 1)
    assert bolt.restores == 1


def test_with_checkpoints_a_row_that_is_refused_now_and_then_is_processed_once() -> None:
    bolt = Cluster(CountsRows)
    bolt.world.refuses = lambda value, call: call % 50 == 0
    come(bolt, *range(200))
    assert bolt.component.seen == list(range(200))
    assert [bolt.component.state.get(each) for each in range(200)] == [1] * 200
    assert bolt.numbers() == (200, 0)


def test_state_in_a_database_is_undone_by_the_topology_and_the_row_is_abandoned_alone() -> None:
    bolt = Cluster(CountsRows, topology_state_backend="rocksdb", topology_bolt_retries=1)
    bolt.world.refuses = lambda value, call: value == 3
    come(bolt, *range(6))
    assert bolt.numbers()[1] == 1
    assert bolt.component.seen == [0, 1, 2, 4, 5]
