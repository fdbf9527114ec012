"""Which messages are plain batches: by the rules by which all others are decoded."""

from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import ProtocolError
from heron_core.hot_batches import is_plain_batch
from heron_core.hot_messages import Heading
from heron_core.wire.batch import COLUMNS, Batch, decode_batch
from heron_core.wire.frames import Flag, FrameKind, Frames, header, header_of, u64_array
from tests.property.test_plain_messages import FENCE, MESSAGES, SPOUT


def decoded(frames: Frames) -> Batch | None:
    """What is in a message; None if that is no valid batch."""
    try:
        return decode_batch(header_of(frames), frames)
    except ProtocolError:
        return None


def with_runs(sizes: list[int], items: int) -> Frames:
    """A batch of so many tuples with runs of these sizes."""
    head = header(FrameKind.DATA, FENCE, SPOUT, 1, items, 7, Flag.TRACKED | Flag.RUNS)
    numbers = b"".join(size.to_bytes(4, "little") for size in sizes)
    return [head, b"", bytes(16 * len(sizes)), numbers]


WITH_RUNS = st.builds(with_runs, st.lists(st.integers(0, 3), max_size=4), st.integers(0, 8))


@given(MESSAGES | WITH_RUNS, st.integers(FENCE - 1, FENCE + 1))
def test_a_plain_batch_is_a_valid_one_of_one_stream_and_one_root_a_tuple(
    frames: Frames, epoch: int
) -> None:
    is_plain, batch = is_plain_batch(Heading(), frames, epoch), decoded(frames)
    if batch is None:
        assert not is_plain
        return
    head = header_of(frames)
    is_usual = not head.flags & (Flag.MIXED | Flag.MULTI_ROOT | COLUMNS)
    if not is_usual or head.epoch < epoch or (head.flags & Flag.RUNS and head.flags & Flag.BEGINS):
        assert not is_plain
        return
    assert is_plain
    assert batch.ids is None or list(batch.ids) == list(u64_array(frames[2]))
