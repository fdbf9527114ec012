"""A random run that was recorded, and its replay: the same emits, byte for byte."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.flight_records import (
    HEADER_BYTES,
    DamagedRecording,
    RecordRing,
    decode_records,
    encode_records,
)
from tests.unit.heron_tester.recorded_support import (
    RecordedRun,
    Totals,
    replayed,
    values,
    watermark,
)

numbers = st.lists(st.integers(-2, 100), min_size=1, max_size=90)
"""Some messages are joined, some run alone; negative ones raise."""
steps = st.one_of(
    st.tuples(st.just("receive"), st.lists(numbers, min_size=1, max_size=4)),
    st.tuples(st.just("pass"), st.floats(0.001, 3)),
    st.tuples(st.just("watermark"), st.integers(0, 10_000)),
    st.tuples(st.just("idle"), st.none()),
    st.tuples(st.just("save"), st.none()),
)
CONFIG = {"topology.tick.tuple.freq.secs": 2}


def take(run: RecordedRun, kind: str, value: Any, number: int) -> None:
    """One step of a run."""
    if kind == "receive":
        run.receive(*(values(*each) for each in value))
    elif kind == "pass":
        run.now += value
    elif kind == "watermark":
        run.receive(watermark(value))
    elif kind == "save":
        run.save(number)
    else:
        run.idle()


@given(st.lists(steps, max_size=25), st.sampled_from(["ATMOST_ONCE", "ATLEAST_ONCE"]))
def test_a_replay_emits_what_was_emitted(some: list[Any], mode: str) -> None:
    run = RecordedRun(Totals, mode, CONFIG)
    for number, (kind, value) in enumerate(some, 1):
        take(run, kind, value, number)
    result = replayed(run.demanded())
    assert (result.output.missing, result.output.further) == (0, 0)
    assert [each.failure for each in result.failures] == result.recorded
    assert result.output.again == result.output.recorded


@given(st.lists(st.binary(max_size=70), max_size=60), st.integers(40, 200))
def test_a_ring_has_the_newest_records(records: list[bytes], size: int) -> None:
    buffer = bytearray(HEADER_BYTES + size)
    ring = RecordRing.begun(buffer, 1.5)
    for each in records:
        ring.write(each)
    content = RecordRing.found(buffer).content()
    fitting = [records[at:] for at in range(len(records) + 1)]
    newest = next(each for each in fitting if len(encode_records(each)) <= size)
    too_large = [at for at, each in enumerate(records) if len(each) + 4 > size]
    newest = newest if not too_large else records[max(too_large) + 1 :][-len(newest) or None :]
    assert content == encode_records(newest)


@given(st.binary(max_size=200))
def test_damaged_records_are_refused(data: bytes) -> None:
    try:
        list(decode_records(data))
    except DamagedRecording:
        return
    assert data == b"" or len(data) > 4


def test_a_ring_of_another_kind_is_refused() -> None:
    with pytest.raises(DamagedRecording, match="not a recording"):
        RecordRing.found(bytearray(100))
