"""Plain messages, by the data plane's rules for the remaining messages."""

from array import array
from collections.abc import Iterable
from itertools import chain
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import ProtocolError
from heron_core.native import Forwarder, MessageQueue
from heron_core.wire.batch import check_batch
from heron_core.wire.frames import (
    EVERY_OWNER,
    PAIR_BYTES,
    ROOT_COUNTER_BITS,
    FrameKind,
    Frames,
    header,
    header_of,
    root_owner,
    with_consumed,
)
from heron_core.wire.packets import check_pairs, encode_barrier
from heron_engine.stream_manager.acks import Trees

HERE, ELSEWHERE, SPOUT, UNKNOWN = range(1, 5)
FENCE = 3
COLUMNS = 32
FLAGS = 64
ROOTS = st.builds(
    lambda owner, counter: owner << ROOT_COUNTER_BITS | counter,
    st.sampled_from([SPOUT, SPOUT, ELSEWHERE, HERE, UNKNOWN, EVERY_OWNER]),
    st.integers(0, 2),
)
PAIRS = st.lists(st.tuples(ROOTS, st.integers(0, 3)), max_size=3)


def bytes_of(pairs: Iterable[tuple[int, int]]) -> bytes:
    """A frame of roots and edges."""
    return array("Q", chain.from_iterable(pairs)).tobytes()


FRAMES = st.lists(
    st.sampled_from([0, 4, 8, 12, 16, 32, 48]).map(bytes) | PAIRS.map(bytes_of), max_size=4
)
HEADS = st.builds(
    header,
    st.sampled_from(
        [FrameKind.DATA, FrameKind.DATA, FrameKind.ACK, FrameKind.FANOUT, FrameKind.BARRIER]
    ),
    st.integers(FENCE - 1, FENCE + 1),
    st.sampled_from([SPOUT, HERE]),
    st.sampled_from([HERE, ELSEWHERE, SPOUT, UNKNOWN, EVERY_OWNER]),
    st.integers(0, 3),
    flags=st.integers(0, FLAGS - 1) | st.sampled_from([0, 1, 9, 17]),
)
ANY = st.tuples(HEADS | FRAMES.map(b"".join), FRAMES).map(lambda both: [both[0], *both[1]])
WHOLE = st.builds(
    lambda kind, flags, destination, pairs: [
        header(kind, FENCE, SPOUT, destination, len(pairs), flags=flags),
        *([b""] if kind == FrameKind.DATA else []),
        bytes_of(pairs),
    ],
    st.sampled_from([FrameKind.DATA, FrameKind.ACK]),
    st.just(9),
    st.sampled_from([ELSEWHERE, SPOUT, EVERY_OWNER, EVERY_OWNER]),
    PAIRS,
)
"""Batches that begin trees, and acks."""
MESSAGES = ANY | WHOLE


def forwarder() -> Forwarder:
    """A forwarder with a local queue, a queue of another container, and a spout."""
    known = Forwarder(set())
    known.ways = {HERE: MessageQueue(HERE), ELSEWHERE: MessageQueue(ELSEWHERE, is_tagged=True)}
    known.spouts, known.fence = {SPOUT: Trees(2)}, FENCE
    return known


def is_valid(frames: Frames) -> bool:
    """Whether the data plane accepts a whole batch or packet of acks."""
    try:
        head = header_of(frames)
        {FrameKind.DATA: check_batch, FrameKind.ACK: check_pairs}[FrameKind(head.kind)](
            head, frames
        )
    except (ProtocolError, KeyError):
        return False
    return True


@given(MESSAGES)
def test_plain_is_what_is_valid_and_known(frames: Frames) -> None:
    is_plain = forwarder().others([frames]) == []
    if not is_valid(frames):
        assert not is_plain
        return
    head = header_of(frames)
    if head.kind == FrameKind.ACK:
        assert is_plain is (head.destination in (SPOUT, ELSEWHERE, EVERY_OWNER))
    else:
        is_known = head.destination in (HERE, ELSEWHERE)
        assert is_plain is (is_known and head.epoch >= FENCE and not head.flags & COLUMNS)


def test_a_report_is_not_plain() -> None:
    batch: Frames = [header(FrameKind.DATA, FENCE, SPOUT, HERE, 0), b""]
    assert forwarder().others([batch, [with_consumed(batch[0], 1), b""]]) == [1]


BATCH_HERE, BATCH_THERE = (
    [header(FrameKind.DATA, FENCE, SPOUT, task, 2), b"body"] for task in (HERE, ELSEWHERE)
)


@given(
    st.lists(st.sampled_from([BATCH_HERE, BATCH_THERE, encode_barrier(FENCE, SPOUT, 0, 7)])),
    st.booleans(),
)
def test_batches_that_barriers_may_hold_back_are_looked_at(
    messages: list[Frames], is_gated: bool
) -> None:
    known = forwarder()
    if is_gated:
        known.gated.add(HERE)
    expected, is_behind = [], is_gated
    for at, each in enumerate(messages):
        is_barrier = header_of(each).kind == FrameKind.BARRIER
        is_behind |= is_barrier
        if is_barrier or (is_behind and each is BATCH_HERE):
            expected.append(at)
    assert known.others(messages) == expected
    known.sent = {HERE: 1.0}
    for each in messages:
        if known.others([each]) == []:
            known.pass_on([each], 0, 1)
    there = messages.count(BATCH_THERE)
    here = 0 if is_gated else messages.count(BATCH_HERE)
    assert known.sent.get(ELSEWHERE, 0) == 2 * there
    assert known.sent[HERE] == 1 + 2 * here


@given(begun=PAIRS, acked=PAIRS)
def test_acks_of_several_spouts_come_to_what_those_of_each_come_to(
    begun: list[tuple[int, int]], acked: list[tuple[int, int]]
) -> None:
    together, one_by_one = forwarder(), forwarder()
    for known in (together, one_by_one):
        known.spouts[SPOUT].begin(array("Q", bytes_of(begun)))
    everything = acks_of(EVERY_OWNER, acked)
    assert together.others([everything]) == []
    together.pass_on([everything], 0, 1)
    for pair in acked:
        if (owner := root_owner(pair[0])) in (SPOUT, ELSEWHERE):
            alone: list[Frames] = [acks_of(owner, [pair])]
            assert one_by_one.others(alone) == []
            one_by_one.pass_on(alone, 0, 1)
    assert trees_of(together) == trees_of(one_by_one)
    assert pairs_for_elsewhere(together) == pairs_for_elsewhere(one_by_one)
    assert len(together.ways[ELSEWHERE]) <= 1
    left = [pair for pair in acked if root_owner(pair[0]) not in (SPOUT, ELSEWHERE)]
    assert list(together.strays) == list(chain.from_iterable(left))


def acks_of(destination: int, pairs: list[tuple[int, int]]) -> Frames:
    """A packet of acks."""
    return [header(FrameKind.ACK, FENCE, HERE, destination, len(pairs)), bytes_of(pairs)]


def trees_of(known: Forwarder) -> Any:
    trees = known.spouts[SPOUT]
    assert isinstance(trees, Trees)
    return trees.newest.items(), list(trees.done), trees.unknown, known.settled


def pairs_for_elsewhere(known: Forwarder) -> list[int]:
    """The roots and values of the packets that wait for another stream manager."""
    pairs = array("Q")
    for destination, frames in known.ways[ELSEWHERE]:
        assert destination == 0
        assert len(frames[1]) == header_of(frames).items * PAIR_BYTES
        pairs.frombytes(frames[1])
    return list(pairs)


def ids(*numbers: int) -> bytes:
    """A frame of roots and edges."""
    return array("Q", numbers).tobytes()


def test_batches_begin_trees_and_acks_end_them() -> None:
    known = forwarder()
    begins: Frames = [
        header(FrameKind.DATA, FENCE, SPOUT, ELSEWHERE, 2, flags=9),
        b"",
        ids(1, 5, 0, 0),
    ]
    acks: Frames = [header(FrameKind.ACK, FENCE, HERE, SPOUT, 1), ids(1, 5)]
    theirs: Frames = [header(FrameKind.ACK, FENCE, HERE, ELSEWHERE, 1), ids(1, 5)]
    parts: Any = [begins, acks, theirs]
    assert known.others(parts) == []
    known.pass_on(parts, 0, 1)
    trees = known.spouts[SPOUT]
    assert (trees.newest.items(), known.settled) == ([(1, 5)], set())
    assert (known.forwarded, known.tuples) == (1, 2)
    known.pass_on(parts, 1, 3)
    assert (trees.newest.items(), list(trees.done), known.settled) == ([], [1], {SPOUT})
    assert list(known.ways[ELSEWHERE]) == [(ELSEWHERE, begins), (0, theirs)]
    assert not known.ways[HERE]
