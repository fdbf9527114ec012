"""Which messages are plain: by the rules that the data plane checks all others by."""

from array import array
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import ProtocolError
from heron_core.native import Forwarder, MessageQueue, OpenTrees, fold_into_trees
from heron_core.wire.batch import check_batch
from heron_core.wire.frames import FrameKind, Frames, header, header_of, with_consumed
from heron_core.wire.packets import check_pairs

HERE, ELSEWHERE, SPOUT, UNKNOWN = range(1, 5)
FENCE = 3
COLUMNS = 32
FLAGS = 64
FRAMES = st.lists(st.sampled_from([0, 4, 8, 12, 16, 32, 48]).map(bytes), max_size=4)
HEADS = st.builds(
    header,
    st.sampled_from([FrameKind.DATA, FrameKind.DATA, FrameKind.ACK, FrameKind.FANOUT]),
    st.integers(FENCE - 1, FENCE + 1),
    st.sampled_from([SPOUT, HERE]),
    st.sampled_from([HERE, ELSEWHERE, SPOUT, UNKNOWN]),
    st.integers(0, 3),
    flags=st.integers(0, FLAGS - 1) | st.sampled_from([0, 1, 9, 17]),
)
MESSAGES = st.tuples(HEADS | FRAMES.map(b"".join), FRAMES).map(lambda both: [both[0], *both[1]])


def forwarder() -> Forwarder:
    """One that knows a queue here, one of another container, and a spout."""
    known = Forwarder(fold_into_trees, set())
    known.ways = {HERE: MessageQueue(HERE), ELSEWHERE: MessageQueue(ELSEWHERE, is_tagged=True)}
    known.spouts, known.fence = {SPOUT: OpenTrees()}, FENCE
    return known


def is_valid(frames: Frames) -> bool:
    """Whether the data plane takes it for a whole batch or packet of acks."""
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
        assert is_plain is (head.destination in (SPOUT, ELSEWHERE))
    else:
        is_known = head.destination in (HERE, ELSEWHERE)
        assert is_plain is (is_known and head.epoch >= FENCE and not head.flags & COLUMNS)


def test_a_report_is_not_plain() -> None:
    batch: Frames = [header(FrameKind.DATA, FENCE, SPOUT, HERE, 0), b""]
    assert forwarder().others([batch, [with_consumed(batch[0], 1), b""]]) == [1]


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
    assert (trees.newest, known.forwarded, known.settled) == ({1: 5}, 1, set())
    known.pass_on(parts, 1, 3)
    assert (trees.newest, list(trees.done), known.settled) == ({}, [1], {SPOUT})
    assert list(known.ways[ELSEWHERE]) == [(ELSEWHERE, begins), (0, theirs)]
    assert not known.ways[HERE]
