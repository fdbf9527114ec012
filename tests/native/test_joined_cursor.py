"""A cursor over several messages makes the tuples of each message in turn, in both variants."""

from array import array
from types import SimpleNamespace
from typing import Any

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from heron_core.dead_letters import REPLAYED
from heron_core.wire.frames import Flag, FrameKind, Frames, header
from heron_core.wire.values import array_of
from heron_instance.input.tuples import EngineTuple
from tests.native.hot_path_support import PYTHON
from tests.native.test_row_cursor import (
    NEVER,
    OWNERS,
    items_of,
    outbox_of,
    plain_rows,
    used_by_the_outbox,
)

EPOCH = 4
SOURCES = {
    1: ("words", ["default", "more"]),
    2: ("numbers", ["default"]),
    3: (REPLAYED, ["default"]),
}
ENDED = 5
TUPLES_MAX = 6
"""Of a message that is joined."""

Message = tuple[int, int, int, list[Any], str]
"""Source, stream, epoch, rows, and which ids come with them."""
messages = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 1, 2, 2, 3, ENDED, 9]),
        st.sampled_from([0, 0, 0, 1]),
        st.sampled_from([EPOCH, EPOCH, EPOCH, EPOCH - 1]),
        plain_rows | st.just([[[0]]]),
        st.sampled_from(["none", "each", "run"]),
    ),
    max_size=6,
)


def frames_of(message: Message, at: int) -> Frames:
    source, stream, epoch, rows, ids = message
    flags = {"none": Flag.NONE, "each": Flag.TRACKED, "run": Flag.TRACKED | Flag.RUNS}[ids]
    first = header(FrameKind.DATA, epoch, source, 9, len(rows), stream, flags)
    frames = [first, array_of([msgpack.packb(row) for row in rows])]
    root = OWNERS[at % len(OWNERS)]
    if ids == "each":
        numbers = [each for edge in range(len(rows)) for each in (root, 100 * at + edge + 1)]
        frames.append(array("Q", numbers).tobytes())
    elif ids == "run":
        runs = 1 if rows else 0
        frames.append(array("Q", [root, 100 * at + 1] * runs).tobytes())
        frames.append(array("I", [len(rows)] * runs).tobytes())
    return frames


def facts_of(module: SimpleNamespace, kept: list[Any]) -> list[str]:
    """What tuples are made of, with their anchor states as lists."""
    with used_by_the_outbox(module):
        roots = [None if each.roots is None else list(each.roots) for each in kept]
    return [repr((items_of(each)[:-1], own)) for each, own in zip(kept, roots, strict=True)]


def joined(module: SimpleNamespace, several: list[Frames], limits: tuple[int, int]) -> Any:
    """A cursor over the first of some messages, and where each of them comes from."""
    cursor = module.RowCursor(
        EngineTuple, "", "", 0, 1.5, array_of([]), 0, None, None, module.RowKeys(100),
        outbox_of(module, tracked=True), float,
    )  # fmt: skip
    sources = {**SOURCES, ENDED: SOURCES[1]}
    origins = module.join(
        cursor, several, EPOCH, sources, {ENDED}, REPLAYED, None, TUPLES_MAX, *limits
    )
    return cursor, origins


def stretches(module: SimpleNamespace, cursor: Any, sizes: list[int]) -> list[Any]:
    """All tuples, kept, taken in several loops; behind each loop where the cursor is."""
    kept, seen = [], []
    for size in [*sizes, cursor.left]:
        cursor.stretch(min(size, cursor.left), 0.0, NEVER)
        kept += list(cursor)
        seen.append((cursor.left, cursor.left_in_message, cursor.messages_done))
    return [*facts_of(module, kept), seen]


@given(
    some=messages,
    sizes=st.lists(st.integers(1, 9), max_size=4),
    limits=st.tuples(st.integers(1, 30), st.integers(1, 400)),
)
def test_messages_are_joined_in_the_same_way(
    compiled: SimpleNamespace, some: list[Message], sizes: list[int], limits: tuple[int, int]
) -> None:
    several = [frames_of(each, at) for at, each in enumerate(some)]
    outcomes = []
    for module in (PYTHON, compiled):
        cursor, origins = joined(module, several, limits)
        outcomes.append((origins, stretches(module, cursor, sizes)))
    assert outcomes[0] == outcomes[1]
    origins, (*tuples, seen) = outcomes[1]
    rows = [row for each in some[: len(origins)] for row in each[3]]
    assert len(tuples) == len(rows)
    assert seen[-1] == (0, 0, len(origins))
    for (component, stream, number), (source, of_source, *_, given_rows, _) in zip(
        origins, some, strict=False
    ):
        assert (component, stream) == (SOURCES[source][0], SOURCES[source][1][of_source])
        assert number == len(given_rows) <= TUPLES_MAX


@given(some=messages, taken=st.integers(0, 20))
def test_messages_that_have_not_begun_are_dropped(
    compiled: SimpleNamespace, some: list[Message], taken: int
) -> None:
    several = [frames_of(each, at) for at, each in enumerate(some)]
    outcomes = []
    for module in (PYTHON, compiled):
        cursor, origins = joined(module, several, (99, 9999))
        cursor.stretch(min(taken, cursor.left), 0.0, NEVER)
        begun = list(cursor)
        cursor.keep_message()
        left = cursor.left
        cursor.stretch(left, 0.0, NEVER)
        rest = list(cursor)
        ends = [sum(each[2] for each in origins[: at + 1]) for at in range(len(origins))]
        assert len(begun) + len(rest) in (0, *ends), "ends behind a message"
        assert (len(rest), cursor.left) == (left, 0)
        outcomes.append(facts_of(module, begun + rest))
    assert outcomes[0] == outcomes[1]
