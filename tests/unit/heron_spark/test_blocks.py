"""Messages as blocks for the partitions they go to."""

from heron_core.wire.frames import FrameKind, Frames, destination_of, header
from heron_spark.batch_log import blocks
from heron_spark.batch_log.blocks import OutgoingBlocks, messages

PLACES = {1: (0, 0), 2: (1, 0), 3: (1, 1), 4: (1, 0)}


def message(task: int, body: bytes = b"body") -> Frames:
    return [header(FrameKind.DATA, 0, 1, task, 1), body]


def test_messages_go_to_their_partition_in_order() -> None:
    outgoing = OutgoingBlocks(PLACES)
    sent = [message(2, b"a"), message(3, b"b"), message(4, b""), message(2, b"c")]
    for each in sent:
        outgoing.add(each)
    found = {(level, part): list(messages(data)) for level, part, data in outgoing.take()}
    assert found == {(1, 0): [sent[0], sent[2], sent[3]], (1, 1): [sent[1]]}
    assert [destination_of(each) for each in found[1, 0]] == [2, 4, 2]


def test_what_was_taken_is_not_taken_again() -> None:
    outgoing = OutgoingBlocks(PLACES)
    outgoing.add(message(2))
    assert len(outgoing.take()) == 1
    assert outgoing.take() == []


def test_a_full_block_is_closed() -> None:
    outgoing = OutgoingBlocks(PLACES)
    half = b"x" * (blocks.BLOCK_BYTES // 2)
    for _ in range(3):
        outgoing.add(message(2, half))
    taken = outgoing.take()
    assert [len(list(messages(data))) for _, _, data in taken] == [2, 1]


def test_further_frames_travel_along() -> None:
    outgoing = OutgoingBlocks(PLACES)
    mixed = [*message(3), b"\0\0\1\0"]
    outgoing.add(mixed)
    ((_, _, data),) = outgoing.take()
    assert list(messages(data)) == [mixed]
