"""Which keys of a bolt's input are frequent, by the batches that it takes."""

import msgpack
import pytest

from heron_core.algorithms.hot_keys import SAMPLES_MIN
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire.values import array_of
from heron_instance.input.key_samples import (
    NEVER,
    ROWS_READ_MAX,
    SAMPLE_SECS,
    SAMPLE_SECS_MAX,
    KeySamples,
    PlainRows,
)

SOURCE, OTHER = ("words", "default"), ("ticks", "default")


def samples(kind: GroupingKind = GroupingKind.FIELDS, is_wanted: bool = True) -> KeySamples:
    """Of a bolt that reads `words` by their second field, and `ticks` shuffled."""
    words = ComponentSpec("words", True, "a.B", 1, (StreamSpec("default", ("at", "word")),))
    ticks = ComponentSpec("ticks", True, "a.B", 1, (StreamSpec("default", ("at",)),))
    fields = () if kind is GroupingKind.SHUFFLE else ("word",)
    inputs = (
        InputSpec("words", "default", GroupingSpec(kind, fields)),
        InputSpec("ticks", "default", GroupingSpec(GroupingKind.SHUFFLE)),
    )
    count = ComponentSpec("count", False, "a.C", 1, (), inputs)
    return KeySamples(TopologySpec("t", (words, ticks, count)), count, is_wanted)


def test_a_frequent_key_is_found_with_its_share_of_all_input() -> None:
    made, now, done = samples(), 0.0, 0
    for number in range(4 * SAMPLES_MIN):
        now += 0.25  # so that a report is due now and then
        rows = [[now, "storm" if number % 2 else f"w{number}"] for _ in range(8)]
        made.take(SOURCE, rows, done, now, now)
        done += 8
        made.take(OTHER, [[now]] * 2, done, now, now)
        done += 2
    assert made.snapshot is not None
    ((key, weight),) = made.snapshot["keys"]
    assert key == "'storm'"
    assert 0.3 < weight / made.snapshot["total"] < 0.5  # half of eight in ten


def test_one_row_of_a_body_is_read_without_the_others() -> None:
    rows = [[number, f"w{number}", None, b"x"] for number in range(3 * ROWS_READ_MAX)]
    read = PlainRows(array_of([msgpack.packb(row) for row in rows]), len(rows))
    assert len(read) == len(rows)
    assert [read[at] for at in (0, 1, ROWS_READ_MAX - 1)] == [*rows[:2], rows[ROWS_READ_MAX - 1]]
    assert read[2 * ROWS_READ_MAX + 5] == rows[5], "further rows are not passed over"


def test_a_body_whose_row_cannot_be_read_breaks_no_sample() -> None:
    text = msgpack.packb(["x", "word"]).replace(b"word", b"wor\xff")
    rows = PlainRows(array_of([text]), 1)
    with pytest.raises(ValueError, match="utf-8"):
        rows[0]
    made = samples()
    made.take(SOURCE, rows, 0, 7.0, 0.0)
    assert made.due == 7.0 + SAMPLE_SECS_MAX


def test_between_two_looks_nothing_is_looked_at() -> None:
    made = samples()
    assert made.due == 0.0
    made.take(SOURCE, [[0.0, "storm"]], 0, 7.0, 0.0)
    assert made.due == 7.0 + SAMPLE_SECS_MAX


@pytest.mark.parametrize(
    ("busy_secs", "secs"),
    [(1.0, SAMPLE_SECS), (0.25, 4 * SAMPLE_SECS), (0.001, SAMPLE_SECS_MAX)],
)
def test_a_bolt_is_looked_at_as_often_as_it_is_busy(busy_secs: float, secs: float) -> None:
    made = samples()
    made.take(SOURCE, [[0.0, "storm"]], 0, 7.0, 3.0)
    made.take(SOURCE, [[0.0, "storm"]], 1, 8.0, 3.0 + busy_secs)
    assert made.due == pytest.approx(8.0 + secs)


def test_input_that_is_not_keyed_or_not_to_be_shown_is_never_looked_at() -> None:
    assert samples(GroupingKind.SHUFFLE).due == NEVER
    assert samples(is_wanted=False).due == NEVER
    assert samples(GroupingKind.PARTIAL_KEY).due == 0.0


def test_no_key_breaks_the_sample() -> None:
    """One that cannot be hashed, a short row, long texts, surrogates: user code gets the tuple."""
    made = samples()
    for odd in (object(), "x" * 10_000, b"x" * 10_000, "\udc80", [1, 2], {"a": 1}, None, 1.5):
        made.take(SOURCE, [[0.0, odd]], 0, 1.0, 0.0)
    made.take(SOURCE, [[0.0]], 0, 1.0, 0.0)
    made.take(SOURCE, [], 0, 1.0, 0.0)
    assert made.snapshot is not None
