"""Neighbours of one root share an edge: acked once all are acked, in any order."""

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import ProtocolError
from heron_core.topology import GroupingKind
from heron_core.wire.batch import check_batch
from heron_core.wire.frames import Flag, FrameKind, Frames, header, parse_header
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    OTHER,
    SHUFFLE,
    SOURCE,
    Comfortable,
    Made,
    Middle,
    batch,
    body_of,
    grouped,
    make,
    reads,
)

ROOT = OTHER << 44
EDGE = 1000
RUNS = Flag.TRACKED | Flag.RUNS


def run_batch(
    *runs: tuple[int, int, int], flags: int = RUNS, kind: FrameKind = FrameKind.DATA
) -> Frames:
    """A DATA message to the tested bolt with these runs (root, edge, size); values count up."""
    total = sum(size for *_, size in runs)
    return [
        header(kind, EPOCH, OTHER, SOURCE, total, 0, flags),
        body_of([at] for at in range(total)),
        array("Q", [word for root, edge, _ in runs for word in (root, edge)]).tobytes(),
        array("I", [size for *_, size in runs]).tobytes(),
    ]


def held(*runs: tuple[int, int, int]) -> tuple[Made, list[Any]]:
    """A bolt with the held tuples of the runs."""
    made = make(Middle, reads(SHUFFLE))
    made.core.deliver(run_batch(*runs))
    return made, made.component.received


def acked(made: Made) -> list[int]:
    """The words of all acks so far."""
    made.core.flush()
    return made.words_of(FrameKind.ACK)


@pytest.mark.parametrize("kind", [GroupingKind.FIELDS, GroupingKind.GLOBAL])
def test_words_of_a_sentence_travel_with_one_edge(kind: GroupingKind) -> None:
    names = ("a",) if kind is GroupingKind.FIELDS else ()
    made = make(Middle, reads(grouped(kind, *names)))
    made.core.deliver(run_batch((ROOT, 7, 1), (ROOT + 1, 8, 1), flags=RUNS))
    first, second = made.component.received
    for anchors in ([first], [first], [], [], [second], [first]):
        made.component.emit(["same", 1], anchors=anchors)
    made.component.ack(first)
    made.component.ack(second)
    told = acked(made)
    (sent,) = made.batches()
    assert sent.head.flags == RUNS
    assert list(array("I", sent.parts[2])) == [2, 2, 1, 1]
    roots, edges = sent.ids[::2], sent.ids[1::2]
    assert roots == [ROOT, 0, ROOT + 1, ROOT]
    assert (edges[1], len(set(edges))) == (0, 4)
    assert told == [ROOT, 7 ^ edges[0] ^ edges[3], ROOT + 1, 8 ^ edges[2]]


def test_a_batch_without_neighbours_says_nothing_of_runs() -> None:
    made, (first, second) = held((ROOT, 7, 1), (ROOT + 1, 8, 1))
    for anchor in (first, second):
        made.component.emit([1, 2], anchors=[anchor])
    made.core.flush()
    assert {each.head.flags for each in made.batches()} == {Flag.TRACKED}


def test_what_was_sent_shares_nothing_with_what_follows() -> None:
    # The first part may be acked before the second has left.
    made = make(Middle, reads(grouped(GroupingKind.FIELDS, "a")))
    made.core.deliver(run_batch((ROOT, 7, 1)))
    (tup,) = made.component.received
    for _ in range(2):
        made.component.emit(["same", 1], anchors=[tup])
        made.core.flush()
    first, second = made.batches()
    assert first.ids[1] != second.ids[1] != 0


@pytest.mark.parametrize("joined_first", [True, False])
def test_a_tuple_of_several_roots_is_in_no_run(joined_first: bool) -> None:
    made = make(Middle, reads(grouped(GroupingKind.FIELDS, "a")))
    made.core.deliver(run_batch((ROOT, 7, 1), (ROOT + 1, 8, 1)))
    both = made.component.received
    steps = [both, both[:1], both[:1]]
    for anchors in steps if joined_first else steps[::-1]:
        made.component.emit(["same", 1], anchors=list(anchors))
    for tup in both:
        made.component.ack(tup)
    told = acked(made)
    sent = made.batches()
    reader = make(Middle, reads(SHUFFLE))
    for each in sent:
        head = each.head._replace(source=OTHER, destination=SOURCE)
        check_batch(head, each.frames)
        renamed = header(head.kind, EPOCH, OTHER, SOURCE, head.items, head.stream, head.flags)
        reader.core.deliver([renamed, *each.frames[1:]])
    for tup in reader.component.received:
        reader.component.ack(tup)
    rest = {ROOT: 7, ROOT + 1: 8}  # what their trees hold before these acks
    words = [*told, *acked(reader)]
    for root, value in zip(words[::2], words[1::2], strict=True):
        rest[root] ^= value
    assert rest == {ROOT: 0, ROOT + 1: 0}


def test_the_last_ack_of_a_run_tells_its_edge() -> None:
    made, tups = held((ROOT, EDGE, 3), (ROOT + 1, 5, 1))
    for tup in (tups[2], tups[0], tups[3]):
        made.component.ack(tup)
    assert acked(made) == [ROOT + 1, 5]
    made.component.ack(tups[1])
    assert acked(made)[2:] == [ROOT, EDGE]
    assert made.core.statistics().acked == 4


def test_a_batch_acked_as_it_comes_is_one_ack_for_each_run() -> None:
    made = make(Comfortable, reads(SHUFFLE))
    made.core.deliver(run_batch((ROOT, EDGE, 3), (0, 0, 2), (ROOT + 1, 5, 1)))
    assert acked(made) == [ROOT, EDGE, ROOT + 1, 5]
    assert made.core.statistics().acked == 6
    late = made.component.received[1]
    made.component.ack(late)
    made.component.fail(late)
    made.component.emit([1, 2], anchors=[late])
    assert len(acked(made)) == 4
    assert made.core.statistics().late == 3  # ack, fail, emit
    assert made.words_of(FrameKind.FAIL) == []
    assert made.batches()[0].ids == [0, 0]


@pytest.mark.parametrize(
    ("order", "roots"),
    [
        ([0, 1, 2], [ROOT, ROOT + 1, ROOT + 2]),  # as they came
        ([2, 0, 1], [ROOT, ROOT + 1, ROOT + 2]),
        ([0, 1], [ROOT, ROOT + 1, ROOT + 2]),
        ([0, 1, 1], [ROOT, ROOT + 1, ROOT + 2]),
        ([0, 1, 2, 2], [ROOT, ROOT + 1, ROOT + 2]),
        ([0, 1, 2], [ROOT, ROOT, ROOT + 2]),
        ([0, 1, 2], [ROOT, 1 << 44, ROOT]),  # of two spouts
        ([0, 1, 2], [ROOT, 0, ROOT + 2]),  # one of them nobody tracks
    ],
)
def test_each_ack_counts_once_in_whatever_order(order: list[int], roots: list[int]) -> None:
    made = make(Middle, reads(SHUFFLE))
    rows = made.component.received
    edges = [(root, 5 + at) if root else None for at, root in enumerate(roots)]

    def ack_all_with_the_last(tup: Any) -> None:
        rows.append(tup)
        if len(rows) == len(roots):
            for at in order:
                made.component.ack(rows[at])

    made.component.script = ack_all_with_the_last
    made.core.deliver(batch([0], [1], [2], roots=edges))
    numbers = acked(made)
    told: dict[int, int] = {}
    for root, value in zip(numbers[::2], numbers[1::2], strict=True):
        told[root] = told.get(root, 0) ^ value
    expected: dict[int, int] = {}
    for at in set(order):
        if roots[at]:
            expected[roots[at]] = expected.get(roots[at], 0) ^ (5 + at)
    assert told == expected
    assert made.core.outbox.acks_counted == len(set(order))
    assert made.core.outbox.empty


def test_an_emit_belongs_to_the_run_until_all_of_it_is_acked() -> None:
    made, tups = held((ROOT, EDGE, 2))
    made.component.emit([1, 2], anchors=[tups[0]])
    made.component.ack(tups[0])
    assert acked(made) == []
    made.component.ack(tups[1])
    told = acked(made)
    assert told == [ROOT, EDGE ^ made.batches()[0].ids[1]]


def test_a_second_ack_is_not_taken_for_a_neighbours() -> None:
    made, tups = held((ROOT, EDGE, 2))
    made.component.ack(tups[0])
    made.component.ack(tups[0])
    assert acked(made) == []
    assert made.core.statistics().late == 1
    made.component.fail(tups[1])
    made.core.flush()
    assert made.words_of(FrameKind.FAIL) == [ROOT]


def test_a_poison_tuple_fails_the_root_of_its_run_once() -> None:
    made = make(Comfortable, reads(SHUFFLE))

    def script(tup: Any) -> None:
        if tup.values[0] in (1, 2):
            raise ValueError("poison")

    made.component.script = script
    made.core.deliver(run_batch((ROOT, EDGE, 4), (ROOT + 1, 5, 2)))
    assert acked(made) == [ROOT + 1, 5]
    assert made.words_of(FrameKind.FAIL) == [ROOT]
    found = made.core.statistics()
    assert (found.acked, found.failed, found.late) == (4, 2, 0)


def test_what_is_emitted_beside_a_failed_row_of_a_batch_is_no_failure_of_its_own() -> None:
    made, tups = held((ROOT, EDGE, 3))
    made.component.fail(tups[0])
    made.component.emit([1, 2], anchors=[tups[1]])
    made.component.ack(tups[1])
    made.component.fail(tups[2])
    assert acked(made) == []
    assert made.words_of(FrameKind.FAIL) == [ROOT]
    (sent,) = made.batches()
    assert sent.ids[0] == ROOT
    reader, (tup,) = held((ROOT, sent.ids[1], 1))
    reader.component.fail(tup)
    found = reader.core.statistics()
    assert (found.failed, found.failed_for_good) == (1, 0)


def test_failed_first_and_acked_then_is_failed() -> None:
    # The acks of the whole batch come in its order, and still the first word counts.
    made = make(Middle, reads(SHUFFLE))

    def script(tup: Any) -> None:
        if tup.values[0] == 0:
            made.component.fail(tup)
        made.component.ack(tup)

    made.component.script = script
    made.core.deliver(run_batch((ROOT, EDGE, 2)))
    assert acked(made) == []
    assert made.words_of(FrameKind.FAIL) == [ROOT]
    assert made.core.statistics().late == 1


def test_ids_tell_the_tuples_of_a_run_apart() -> None:
    _, tups = held((ROOT, EDGE, 3), (0, 0, 2))
    assert len({tup.id for tup in tups[:3]} | {"0"}) == 4
    assert [tup.id for tup in tups[3:]] == ["0", "0"]


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 15), st.booleans())),
)
def test_a_root_is_told_as_its_tuples_were_settled(
    sizes: list[int], steps: list[tuple[bool, int, bool]]
) -> None:
    made, tups = held(*((ROOT + at, EDGE + at, size) for at, size in enumerate(sizes)))
    run_of = [at for at, size in enumerate(sizes) for _ in range(size)]
    outcome: dict[int, bool] = {}
    for is_ack, number, flush in steps:
        position = number % len(tups)
        (made.component.ack if is_ack else made.component.fail)(tups[position])
        outcome.setdefault(position, is_ack)
        if flush:
            made.core.flush()
    of_run = [
        [outcome.get(each) for each in range(len(tups)) if run_of[each] == at]
        for at in range(len(sizes))
    ]
    told = acked(made)
    assert sorted(zip(told[::2], told[1::2], strict=True)) == [
        (ROOT + at, EDGE + at) for at, found in enumerate(of_run) if all(found)
    ]
    assert sorted(made.words_of(FrameKind.FAIL)) == [
        ROOT + at for at, found in enumerate(of_run) if False in found
    ]
    found = made.core.statistics()
    assert found.late == len(steps) - len(outcome)
    assert found.acked + found.failed == len(outcome)


# --- malformed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1, 1), (0, 3), (4, 0), (2, 2)])
def test_runs_that_are_not_of_all_tuples_are_malformed(sizes: tuple[int, int]) -> None:
    frames = run_batch((ROOT, 1, 1), (ROOT + 1, 2, 2))
    frames[3] = array("I", sizes).tobytes()
    made = make(Middle, reads(SHUFFLE))
    with pytest.raises(ProtocolError, match="runs for a number of tuples other than 3"):
        made.core.deliver(frames)
    assert made.component.received == []


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        (Flag.RUNS, FrameKind.DATA),
        (RUNS | Flag.MIXED, FrameKind.DATA),
        (RUNS | Flag.MULTI_ROOT, FrameKind.DATA),
        (RUNS | Flag.BEGINS, FrameKind.DATA),
        (RUNS, FrameKind.FANOUT),
    ],
)
def test_runs_go_with_nothing_else(flags: int, kind: FrameKind) -> None:
    frames = run_batch((ROOT, 1, 1), (ROOT + 1, 2, 2), flags=flags, kind=kind)
    with pytest.raises(ProtocolError):
        check_batch(parse_header(frames[0]), frames)


@pytest.mark.parametrize("frames_of_it", range(1, 7))
@pytest.mark.parametrize("flags", [Flag.MULTI_ROOT, Flag.BEGINS, Flag.COLUMNS | Flag.MIXED])
def test_flags_that_make_no_sense_are_malformed(flags: int, frames_of_it: int) -> None:
    """However many frames there are: roots of several trees, or the begin of some, of no tree."""
    head = header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 1, 0, flags)
    with pytest.raises(ProtocolError, match=f"{frames_of_it} frames with flags"):
        check_batch(parse_header(head), [head, *[b""] * (frames_of_it - 1)])


@pytest.mark.parametrize("cut", [2, 3])
def test_cut_runs_are_malformed(cut: int) -> None:
    frames = run_batch((ROOT, 1, 1), (ROOT + 1, 2, 2))
    frames[cut] = frames[cut][:-1]
    with pytest.raises(ProtocolError, match="bytes of runs"):
        check_batch(parse_header(frames[0]), frames)
