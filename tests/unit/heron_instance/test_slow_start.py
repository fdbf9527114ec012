"""After a long pause an instance goes on slowly, so that the next pause finds little under way."""

from typing import Any

import pytest

from heron_instance.emit.output_buffers import (
    SLOW_START_AFTER_SECS,
    SLOW_START_SECS,
    SLOW_START_TUPLES,
)
from tests.unit.heron_instance.instance_support import SHUFFLE, Source, make, reads


def rested(made: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many deliveries had been sent at each rest."""
    outbox, found = made.core.outbox, []
    monkeypatch.setattr(outbox, "rest", lambda secs: found.append(outbox.sent))
    return found


def emit(made: Any, tuples: int) -> None:
    for number in range(tuples):
        made.component.emit([number, "x"])
    made.core.flush()


def test_each_message_after_a_long_pause_is_twice_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(Source, reads(SHUFFLE))
    rests = rested(made, monkeypatch)
    made.core.outbox.was_blocked(SLOW_START_AFTER_SECS)
    emit(made, 100)
    first, second, third = rests
    assert first <= SLOW_START_TUPLES + 1
    assert second - first <= 2 * SLOW_START_TUPLES + 1
    assert third - second <= 4 * SLOW_START_TUPLES + 1


def test_small_messages_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(Source, reads(SHUFFLE))
    rests = rested(made, monkeypatch)
    made.core.outbox.was_blocked(SLOW_START_AFTER_SECS)
    for _ in range(SLOW_START_TUPLES):
        assert not rests
        emit(made, 1)
    assert rests == [SLOW_START_TUPLES]


def test_soon_it_goes_on_at_full_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(Source, reads(SHUFFLE))
    rests = rested(made, monkeypatch)
    made.core.outbox.was_blocked(SLOW_START_AFTER_SECS)
    emit(made, 50_000)
    before = len(rests)
    assert before <= 12
    emit(made, 50_000)
    assert len(rests) == before


def test_a_short_pause_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(Source, reads(SHUFFLE))
    rests = rested(made, monkeypatch)
    made.core.outbox.was_blocked(SLOW_START_AFTER_SECS / 2)
    emit(made, 1000)
    assert not rests


def test_a_slow_instance_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(Source, reads(SHUFFLE))
    outbox, rests, now = made.core.outbox, rested(made, monkeypatch), [0.0]
    monkeypatch.setattr(outbox, "clock", lambda: now[0])
    outbox.was_blocked(SLOW_START_AFTER_SECS)
    for _ in range(100):
        now[0] += 2 * SLOW_START_SECS / SLOW_START_TUPLES
        emit(made, 1)
    assert not rests


def test_what_is_left_of_the_interval_is_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(Source, reads(SHUFFLE))
    outbox, found = made.core.outbox, list[float]()
    monkeypatch.setattr(outbox, "clock", lambda: 7.0)
    outbox.was_blocked(SLOW_START_AFTER_SECS)
    monkeypatch.setattr(outbox, "clock", lambda: 7.0 + SLOW_START_SECS / 4)
    monkeypatch.setattr(outbox, "rest", found.append)
    emit(made, SLOW_START_TUPLES)
    assert found == [pytest.approx(SLOW_START_SECS * 3 / 4)]
