"""Small simultaneous messages run together, with results as in turn."""

from functools import reduce
from operator import xor
from typing import Any

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from heron_core.hot_rows import CLOCK_EVERY
from heron_core.wire.frames import FrameKind, Frames, size_of, u64_array
from heron_core.wire.values import array_of
from heron_instance.consumed import Consumed
from heron_instance.input.joined_calls import (
    GROUP_SECS_MAX,
    GROUP_TUPLES_MAX,
    JOINED_MESSAGES_MAX,
    JOINED_TUPLES_MAX,
)
from heron_instance.input.waiting_input import WaitingInput
from heronpy_compat.streamparse import Bolt
from tests.unit.heron_instance.instance_support import EPOCH, SHUFFLE, Made, batch, make, reads
from tests.unit.heron_instance.test_cursor_calls import ACK, ACTIONS, RAISE, ROOTS, acting, runs
from tests.unit.heron_instance.test_runs import RUNS, run_batch

UNREPORTED = 1 << 30


def ready(actions: list[int] | None = None) -> Made:
    """A bolt known as quick."""
    made = acting(True)
    made.component.actions = [ACK] * CLOCK_EVERY
    assert made.core.deliver(message(CLOCK_EVERY)) is None
    made.component.received.clear()
    made.component.actions = actions or [ACK] * (JOINED_TUPLES_MAX + 1)
    return made


def message(tuples: int) -> Frames:
    """A plain one with a root."""
    return run_batch((ROOTS[1], 5, tuples), flags=RUNS)


def waiting_of(*messages: Frames) -> WaitingInput:
    waiting = WaitingInput()
    waiting.extend(messages)
    return waiting


def together(made: Made, *messages: Frames, bytes_max: int = UNREPORTED) -> tuple[bool, int, int]:
    """Whether some were run together, how many are left, and how many count as processed."""
    waiting, consumed = waiting_of(*messages), Consumed(bytes_max)
    is_run = made.core.run_together(waiting, consumed)
    made.core.validate()
    waiting.validate()
    return is_run, len(waiting.messages), consumed.messages


def outcome(made: Made) -> Any:
    """Input, output and counts of the bolt."""
    emitted = [values for _, values in made.emitted()]
    acks = [number for frames in made.sent if frames[0][2] == FrameKind.ACK
            for number in u64_array(frames[1])[::2]]  # fmt: skip
    core, outbox = made.core, made.core.outbox
    metrics, by_input = core.metrics, core.statistics().executed_by_input
    numbers = (metrics.executed, outbox.acks_counted, core.collector.failed, outbox.late,
               metrics.errors, metrics.execute.number, by_input)  # fmt: skip
    fails = sorted(made.words_of(FrameKind.FAIL))
    return made.component.received, emitted, sorted(set(acks)), fails, numbers


@given(
    several=st.lists(runs, min_size=2, max_size=5),
    actions=st.lists(st.sampled_from(ACTIONS), min_size=16, max_size=16),
)
def test_it_comes_to_the_same(several: Any, actions: list[int]) -> None:
    messages = [run_batch(*each, flags=RUNS) for each in several]
    alone, joined = ready(actions), ready(actions)
    for each in messages:
        assert alone.core.deliver(each) is None
    assert together(joined, *messages) == (True, 0, len(messages))
    assert outcome(alone) == outcome(joined)


def test_what_is_not_plain_or_not_small_comes_alone() -> None:
    malformed = [message(2)[0], b"", *message(2)[2:]]
    nested = batch([0], [1], body=array_of([msgpack.packb([[0]]), msgpack.packb([1])]))
    older = batch([0], epoch=EPOCH - 1)
    stranger = batch([0], source=99)
    for other in (malformed, nested, older, stranger, message(JOINED_TUPLES_MAX + 1)):
        made = ready()
        made.core.fence = EPOCH
        assert together(made, message(2), message(3), other, message(4)) == (True, 2, 2)
        assert together(made, message(2), other) == (False, 2, 0)
        assert together(made, other, message(2)) == (False, 2, 0)
        assert len(made.component.received) == 5


def test_not_more_are_looked_at_than_share_what_they_need() -> None:
    many = [message(1)] * (JOINED_MESSAGES_MAX + 3)
    assert together(ready(), *many) == (True, 3, JOINED_MESSAGES_MAX)


def test_another_call_comes_between_two_messages() -> None:
    made = ready()
    made.core.preceded = lambda: True
    made.look_secs = 0.0009  # the second look is when it has lingered
    assert together(made, *[message(CLOCK_EVERY)] * 5) == (True, 3, 2)


def test_what_is_processed_is_reported_when_it_amounts_to_much() -> None:
    two = 2 * size_of(message(2))
    assert together(ready(), *[message(2)] * 4, bytes_max=two) == (True, 2, 2)
    assert together(ready(), *[message(2)] * 4, bytes_max=1) == (False, 4, 0)


def test_a_group_has_the_tuples_of_a_usual_message() -> None:
    many = [message(JOINED_TUPLES_MAX)] * (GROUP_TUPLES_MAX // JOINED_TUPLES_MAX + 3)
    made = ready([ACK] * (GROUP_TUPLES_MAX + 1))
    assert together(made, *many) == (True, 3, len(many) - 3)


def test_a_group_ends_after_some_time() -> None:
    made = ready()
    made.look_secs = GROUP_SECS_MAX / 11
    is_run, left, done = together(made, *[message(CLOCK_EVERY)] * 14)
    assert (is_run, left, done) == (True, 14 - done, done)
    assert 2 < done < 14, "neither one message nor all"


def test_a_bolt_that_turns_slow_takes_them_one_by_one() -> None:
    made = ready()
    made.look_secs = 1.0
    assert together(made, message(CLOCK_EVERY), *[message(2)] * 3) == (True, 3, 1)
    assert together(made, message(2), message(2)) == (False, 2, 0)


def acked(made: Made) -> int:
    """All acked edges, exclusive-or: the number of acks depends on the clock."""
    return reduce(xor, made.words_of(FrameKind.ACK)[1::2])


def test_one_that_is_cut_goes_on_where_it_was_cut() -> None:
    made = ready()
    made.core.overtaken = lambda: True
    sizes, consumed = (3, 4 * CLOCK_EVERY), Consumed(UNREPORTED)
    waiting = waiting_of(*map(message, sizes))
    made.look_secs = 0.0009  # the third look is when it has lingered
    assert made.core.run_together(waiting, consumed)
    made.look_secs, made.core.overtaken = 0.0, bool
    assert (len(waiting.messages), consumed.messages) == (1, 1)
    frames, first, is_handed = waiting.take()
    assert (first, is_handed) == (2 * CLOCK_EVERY - 3, True)
    assert made.core.deliver(frames, first) is None
    made.core.flush()
    assert [values[3] for values in made.component.received] == [
        [at] for size in sizes for at in range(size)
    ]
    uncut = ready()
    for size in sizes:
        assert uncut.core.deliver(message(size)) is None
    uncut.core.flush()
    assert set(made.words_of(FrameKind.ACK)[::2]) == {ROOTS[1]}
    assert acked(made) == acked(uncut) != 0, "the edge of each message once"


def test_what_raises_fails_alone() -> None:
    made = ready([ACK, RAISE, ACK])
    assert together(made, message(3), message(3)) == (True, 0, 2)
    assert (made.core.metrics.errors, len(made.component.received)) == (2, 6)


def test_a_message_that_is_begun_or_restored_is_not_joined() -> None:
    waiting = waiting_of(message(2), message(2))
    frames, _, _ = waiting.take()
    waiting.put_back(frames, 1, is_handed=True)
    assert waiting.several(5) == []
    waiting.take()
    assert len(waiting.several(5)) == 1
    waiting.put_back(frames, 0, is_handed=False)
    assert waiting.several(5) == []


class Words(Bolt):
    """Takes its input; a bolt of streamparse."""

    received: list[Any]

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        self.received = []

    def process(self, tup: Any) -> None:
        self.received.append(tup.values)


def test_messages_of_a_bolt_with_its_own_values_are_joined() -> None:
    made = make(Words, reads(SHUFFLE))
    assert made.core.deliver(batch(*[["first"]] * CLOCK_EVERY)) is None
    made.component.users_object.received.clear()
    some = [batch([f"word {number}"]) for number in range(3)]
    if not made.core.uses_cursors:
        assert together(made, *some) == (False, 3, 0)
        return
    assert together(made, *some) == (True, 0, 3)
    received = made.component.users_object.received
    assert [values.value for values in received] == ["word 0", "word 1", "word 2"]
    assert made.core.metrics.executed == CLOCK_EVERY + 3
