"""A barrier overtakes a bolt's input: what of it is saved, and what is processed when."""

from typing import Any

import pytest

from heron_core import config as keys
from heron_core.state.saved_input import SavedInput, decode_input, input_size
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind
from heron_core.wire.packets import encode_barrier, encode_watermark
from heron_instance import checkpointing
from heron_instance.events import ControlReceived
from heronpy_compat import BatchBolt
from tests.unit.heron_instance.checkpointed_support import INCARNATION, ME, Counting, Process
from tests.unit.heron_instance.instance_support import OTHER, batch

AT_ONCE = {keys.ALIGNED_TIMEOUT_MS: 0, keys.LINGER_MS: 0}
OVERTAKE = messages.OvertakeInput(7, 1)
MANY = 30


class Count(Counting):
    """Counts, and has something happen when it comes to a certain value."""

    heard: Any = None
    at: Any = None

    def process(self, tup: Any) -> None:
        super().process(tup)
        value = tup.values[0]
        self.emit([value, "y"])
        if value == type(self).at:
            type(self).heard()


@pytest.fixture
def bolt() -> Any:
    Count.at = None
    made = Process(Count, config=AT_ONCE)
    made.begin(1)
    return made


def rows(numbers: range, epoch: int = 1) -> Any:
    return batch(*([each] for each in numbers), epoch=epoch)


def counts(process: Process) -> dict[int, int]:
    state = process.core.instance.state.given
    return {each: state.get(each) for each in range(2 * MANY) if state.get(each)}


def saved_in(process: Process, checkpoint: int) -> SavedInput:
    return decode_input(process.states[checkpoint])[1]


def test_a_barrier_finds_a_bolt_amid_a_message_and_each_tuple_counts_once(bolt: Process) -> None:
    Count.at, Count.heard = 12, lambda: bolt.core.handle(ControlReceived(OVERTAKE), bolt.now)
    bolt.receive(rows(range(MANY)), encode_barrier(1, 0, ME, 7), rows(range(MANY, MANY + 5)))
    assert bolt.component.seen == list(range(MANY + 5))
    saved = saved_in(bolt, 7)
    assert len(saved.messages) == 1
    assert 12 < saved.first_row < MANY - 8, "it has not stopped between two tuples"
    assert saved.tuples == MANY - saved.first_row
    kinds = [kind for kind, _ in bolt.take_sent()]
    assert kinds.index(FrameKind.BARRIER) < len(kinds) - 1, "the rest comes behind the barrier"
    Count.at = None
    before = bolt.component
    bolt.plan(2, 7)
    assert bolt.component is not before
    assert bolt.core.driver.counts()[:2] == (saved.tuples, 0)
    bolt.plan(2, 7, INCARNATION)
    bolt.receive(rows(range(MANY, MANY + 5), epoch=2))
    assert bolt.component.seen == list(range(saved.first_row, MANY + 5))
    assert counts(bolt) == dict.fromkeys(range(MANY + 5), 1)
    assert bolt.core.driver.counts()[1] == saved.tuples + 5


def test_what_was_restored_and_is_not_processed_yet_is_saved_again(bolt: Process) -> None:
    bolt.hear(messages.Pause(on=True))
    bolt.receive(rows(range(3)), encode_barrier(1, 0, ME, 7))
    bolt.hear(OVERTAKE)
    bolt.plan(2, 7)
    bolt.plan(2, 7, INCARNATION)
    bolt.receive(rows(range(3, 5), epoch=2), encode_barrier(2, 0, ME, 8))
    bolt.hear(messages.OvertakeInput(8, 2))
    assert saved_in(bolt, 8).tuples == 5
    bolt.begin(3, 8)
    bolt.hear(messages.Pause(on=False))
    bolt.turn()
    assert bolt.component.seen == [0, 1, 2, 3, 4]
    assert counts(bolt) == dict.fromkeys(range(5), 1)


def test_a_bolt_that_back_pressure_holds_sends_the_barrier_and_nothing_else(bolt: Process) -> None:
    bolt.hear(messages.Pause(on=True))
    bolt.receive(rows(range(3)), encode_barrier(1, 0, ME, 7))
    assert bolt.take_sent() == []
    bolt.hear(OVERTAKE)
    assert [kind for kind, _ in bolt.take_sent()] == [FrameKind.BARRIER]
    assert bolt.component.seen == []
    assert input_size(bolt.states[7])[0] == 1
    assert not bolt.shared.may_send
    bolt.hear(messages.Pause(on=False))
    bolt.turn()
    assert bolt.component.seen == [0, 1, 2]
    assert list(bolt.states) == [7], "the barrier is in its place, and says nothing new there"


def test_a_bolt_that_hears_of_a_barrier_first_waits_for_it(bolt: Process) -> None:
    bolt.hear(OVERTAKE)
    bolt.receive(rows(range(3)))
    assert bolt.component.seen == []
    bolt.receive(encode_barrier(1, 0, ME, 7))
    assert saved_in(bolt, 7).tuples == 3
    assert bolt.component.seen == [0, 1, 2]


def test_a_word_that_comes_when_the_barrier_is_taken_changes_nothing(bolt: Process) -> None:
    bolt.receive(rows(range(3)), encode_barrier(1, 0, ME, 7), rows(range(3, 6)))
    bolt.hear(messages.Pause(on=True))
    bolt.hear(OVERTAKE)
    assert not bolt.shared.may_send
    assert saved_in(bolt, 7).messages == ()
    assert list(bolt.states) == [7]


def test_a_word_of_the_plan_before_lets_nobody_through(bolt: Process) -> None:
    bolt.begin(2)
    bolt.hear(messages.Pause(on=True))
    bolt.hear(OVERTAKE)
    assert not bolt.shared.is_overtaken
    assert not bolt.shared.may_send


def test_a_barrier_waits_for_more_than_is_saved(
    bolt: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "INPUT_BYTES_MAX", 40)
    bolt.hear(messages.Pause(on=True))
    bolt.receive(rows(range(MANY)), encode_barrier(1, 0, ME, 7))
    bolt.hear(OVERTAKE)
    assert bolt.states == {}
    assert not bolt.shared.may_send, "it waits as before"
    (line,) = bolt.lines
    size_bytes = len(b"".join(rows(range(MANY))))
    assert line == (
        f"the barrier of checkpoint 7 waits for {size_bytes} bytes of input: more than 40 are not"
        " saved"
    )
    bolt.hear(messages.Pause(on=False))
    bolt.turn()
    assert saved_in(bolt, 7).messages == ()
    assert bolt.component.seen == list(range(MANY))


def test_a_barrier_never_overtakes_where_the_config_says_so() -> None:
    held = Process(Count, config={keys.ALIGNED_TIMEOUT_MS: -1})
    held.begin(1)
    held.hear(messages.Pause(on=True))
    held.hear(OVERTAKE)
    assert not held.shared.may_send


def test_watermarks_are_saved_in_their_place(bolt: Process) -> None:
    bolt.hear(messages.Pause(on=True))
    bolt.receive(rows(range(2)), encode_watermark(1, OTHER, ME, 500), encode_barrier(1, 0, ME, 7))
    bolt.hear(OVERTAKE)
    bolt.plan(2, 7)
    bolt.plan(2, 7, INCARNATION)
    bolt.hear(messages.Pause(on=False))
    bolt.turn()
    assert bolt.component.seen == [0, 1]
    assert bolt.core.driver.source_watermarks.lowest_ms == 500  # type: ignore[attr-defined]


class Rows(BatchBolt):
    """Hears of a barrier while it is at work on its first batch."""

    heard: Any = None

    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[list[int]] = []

    def process_batch(self, batch: Any) -> None:
        if not self.seen:
            type(self).heard()
        self.seen.append(batch.column(0).to_pylist())


def test_a_bolt_that_takes_columns_ends_its_message_and_the_barrier_overtakes_the_others() -> None:
    pytest.importorskip("pyarrow")
    made = Process(Rows, config=AT_ONCE)
    Rows.heard = lambda: made.core.handle(ControlReceived(OVERTAKE), made.now)
    made.begin(1)
    first, second = list(range(MANY)), list(range(MANY, MANY + 5))
    in_front = (rows(range(MANY)), rows(range(MANY, MANY + 5)))
    made.receive(*in_front, encode_barrier(1, 0, ME, 7))
    assert made.component.seen == [first, second]
    saved = saved_in(made, 7)
    assert (saved.tuples, saved.first_row) == (len(second), 0)
    made.begin(2, 7)
    made.turn()
    assert made.component.seen == [second]
