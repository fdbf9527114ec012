"""A bolt works equally with tuples of a cursor and with lists."""

from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.hot_rows import CLOCK_EVERY, RowKeys
from heron_core.native import COMPILED, HOT_PATH
from heron_core.wire.batch import decode_batch
from heron_core.wire.frames import FrameKind, header_of, u64_array
from heron_core.wire.values import array_of
from heron_instance.input.raised import UserCodeRaised
from tests.unit.heron_instance.instance_support import (
    OTHER,
    SHUFFLE,
    Made,
    Middle,
    batch,
    make,
    reads,
)
from tests.unit.heron_instance.test_runs import RUNS, run_batch

ROOTS = [0, *((OTHER << 44) + number for number in range(3))]
ACK, FAIL, EMIT, RAISE, LATER, TWICE, FLUSH = ACTIONS = range(7)
"""Actions of the bolt on a tuple; LATER acks the tuple before as well."""

runs = st.lists(
    st.tuples(st.sampled_from(ROOTS), st.integers(1, 1000), st.integers(1, 4)),
    min_size=1,
    max_size=4,
)
messages = st.lists(st.tuples(runs, st.lists(st.sampled_from(ACTIONS), min_size=16, max_size=16)),
                    min_size=1, max_size=3)  # fmt: skip


class Acting(Middle):
    """Acts on each tuple as told."""

    actions: list[int]
    previous: Any = None

    def process(self, tup: Any) -> None:
        action = self.actions[tup.values[0]]
        self.received.append((tup.component, tup.stream, tup.task, list(tup.values)))
        if action in (EMIT, FLUSH):
            self.emit([tup.values[0], 0], anchors=[tup])
        if action == FLUSH:
            self.flush()
        if action == LATER and self.previous is not None:
            self.ack(self.previous)
        self.previous = tup
        if action == RAISE:
            raise ValueError
        if action == FAIL:
            self.fail(tup)
        elif action != LATER:
            self.ack(tup)
        if action == TWICE:
            self.ack(tup)

    flush: Callable[[], None]


def acting(uses_cursors: bool) -> Made:
    made = make(Acting, reads(SHUFFLE))
    made.core.uses_cursors = uses_cursors
    if uses_cursors and HOT_PATH != COMPILED:  # where Python has cursors in tests alone
        made.core._keys = RowKeys(next(made.core._keys))
    made.component.flush = made.core.outbox.flush
    return made


def outcome(made: Made, given_messages: Any) -> Any:
    """Input and output of the bolt: emits, acked and failed roots, numbers."""
    for its_runs, actions in given_messages:
        made.component.actions = actions
        frames = run_batch(*its_runs, flags=RUNS)
        taken = made.core.deliver(frames)
        while taken is not None:  # it was cut
            taken = made.core.deliver(frames, taken)
    emitted = made.emitted()
    acks = [number for frames in made.sent if frames[0][2] == FrameKind.ACK
            for number in u64_array(frames[1])[::2]]  # fmt: skip
    core, outbox = made.core, made.core.outbox
    numbers = (core.metrics.executed, outbox.acks_counted, core.collector.failed, outbox.late,
               core.metrics.errors, core.metrics.execute.number)  # fmt: skip
    return (
        made.component.received,
        [values for _, values in emitted],
        sorted(set(acks)),
        sorted(made.words_of(FrameKind.FAIL)),
        numbers,
    )


def cursor_of(made: Made, body: bytes) -> Any:
    """What makes the two tuples of a message; None for lists."""
    frames = batch([0], [1], body=body)
    head = header_of(frames)
    return made.core._cursor(head, decode_batch(head, frames), frames, 0.0)


@given(given_messages=messages)
def test_it_comes_to_the_same(given_messages: Any) -> None:
    found = [outcome(acting(uses_cursors), given_messages) for uses_cursors in (False, True)]
    assert found[0] == found[1]


@pytest.mark.parametrize("uses_cursors", [False, True])
@given(given_messages=messages)
def test_it_comes_to_the_same_if_it_is_cut_at_each_look(
    uses_cursors: bool, given_messages: Any
) -> None:
    whole, cut = acting(uses_cursors), acting(uses_cursors)
    cut.core.overtaken, cut.look_secs = lambda: True, 1.0
    received, emitted, *others = outcome(whole, given_messages)
    received_cut, emitted_cut, *others_cut = outcome(cut, given_messages)
    assert (received, others) == (received_cut, others_cut)
    assert sorted(emitted) == sorted(emitted_cut)  # the time that passes sends some sooner


def test_a_cursor_goes_on_with_the_message_that_was_cut_and_with_no_other() -> None:
    """To make the rest of some thousand tuples a second time would cost more than a question."""
    made = acting(True)
    made.component.actions = [ACK] * 16
    made.core.overtaken, made.look_secs = lambda: True, 1.0
    frames, others = (run_batch((ROOTS[1], 5, 16), flags=RUNS) for _ in range(2))
    taken = made.core.deliver(frames)
    kept = made.core._cursor_left(frames, taken)
    assert kept is not None
    assert kept.left == 16 - taken
    assert made.core._cursor_left(others, taken) is None
    assert made.core._cursor_left(frames, taken) is None


def test_a_plain_message_has_a_cursor_and_another_one_has_not() -> None:
    made, plain = acting(True), [msgpack.packb([0]), msgpack.packb([1])]
    made.component.actions = [ACK] * 3
    assert cursor_of(made, array_of(plain)) is not None
    assert cursor_of(made, array_of([plain[0], msgpack.packb([[1]])])) is None
    assert cursor_of(acting(False), array_of(plain)) is None


def test_a_message_whose_keys_are_sampled_has_a_cursor_however_long_it_is() -> None:
    """A look is each 5 ms: to make the lists of some thousand rows would take as long."""
    made = acting(True)
    made.core._key_samples.due = 0.0
    frames = batch(*([at] for at in range(1000)))
    head = header_of(frames)
    assert made.core._cursor(head, decode_batch(head, frames), frames, 0.0) is not None
    assert made.core._key_samples.due > 0.0, "it was looked at"


def test_what_raised_is_known_by_its_position() -> None:
    for uses_cursors in (False, True):
        made = acting(uses_cursors)
        made.component.actions = [ACK] * 5 + [RAISE] * 11
        made.core.undoes = True
        frames = run_batch((ROOTS[1], 5, 16), flags=RUNS)
        with pytest.raises(UserCodeRaised) as caught:
            made.core.deliver(frames)
        assert caught.value.row == 5


def test_another_serialiser_gets_each_value() -> None:
    made = acting(True)
    made.core.decode = msgpack.unpackb
    assert cursor_of(made, array_of([msgpack.packb([0]), msgpack.packb([1])])) is None


def test_a_cut_message_goes_on_where_it_was_cut() -> None:
    """Its remaining tuples share the state of the first ones."""
    for uses_cursors in (False, True):
        made = acting(uses_cursors)
        made.component.actions = [ACK] * 16
        frames = run_batch((ROOTS[1], 5, 16), flags=RUNS)
        made.core.overtaken = lambda: True
        made.look_secs = 1.0
        taken = made.core.deliver(frames)
        assert taken == 1 or taken == CLOCK_EVERY
        made.core.overtaken = bool
        assert made.core.deliver(frames, taken) is None
        made.core.flush()
        assert [values[3] for values in made.component.received] == [[at] for at in range(16)]
        assert made.words_of(FrameKind.ACK) == [ROOTS[1], 5]
