"""Further roots of a batch are of tuples that it has."""

from array import array

import pytest

from heron_core.errors import ProtocolError
from heron_core.wire.batch import decode_batch
from heron_core.wire.frames import Flag, FrameKind, Frames, header, parse_header

ROOT, OTHER_ROOT = 7, 8


def joined(position: int) -> Frames:
    """A batch of two tuples, of which the first has a root, and the one at `position` another."""
    head = header(FrameKind.DATA, 1, 2, 3, 2, 0, Flag.TRACKED | Flag.MULTI_ROOT)
    ids, extras = array("Q", [ROOT, 5, 0, 6]), array("Q", [position, OTHER_ROOT])
    return [head, b"body", ids.tobytes(), extras.tobytes()]


def test_a_tuple_with_a_root_may_have_another() -> None:
    frames = joined(0)
    extras = decode_batch(parse_header(frames[0]), frames).extras
    assert extras == array("Q", [0, OTHER_ROOT])


@pytest.mark.parametrize("position", [1, 2, 3], ids=["without a root", "behind", "far behind"])
def test_no_other_place_has_one(position: int) -> None:
    frames = joined(position)
    with pytest.raises(ProtocolError, match="further roots for a tuple without any"):
        decode_batch(parse_header(frames[0]), frames)
