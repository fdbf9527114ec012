"""What the sources of a task agree on of event time."""

from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK
from heron_core.algorithms.source_watermarks import SourceWatermarks


def test_the_slowest_source_decides() -> None:
    sources = SourceWatermarks([1, 2])
    assert sources.take(1, 50)
    assert sources.lowest_ms == NO_WATERMARK
    assert sources.take(2, 20)
    assert sources.lowest_ms == 20
    assert not sources.take(2, 10), "a watermark never falls"
    assert not sources.take(3, 10), "of a task that is no source"


def test_one_that_has_finished_holds_nothing_back_until_it_sends_again() -> None:
    sources = SourceWatermarks([1, 2])
    sources.take(1, 5)
    sources.take(2, 20)
    sources.take(1, END_OF_TIME)
    assert sources.lowest_ms == 20
    sources.take(2, END_OF_TIME)
    assert sources.lowest_ms == END_OF_TIME
    sources.reopened(1)
    assert sources.lowest_ms == 5
    assert sources.take(1, END_OF_TIME)


def test_tasks_that_come_and_go() -> None:
    sources = SourceWatermarks([1, 2])
    sources.take(1, 5)
    sources.take(2, END_OF_TIME)
    sources.retask([1, 3])
    assert sources.lowest_ms == NO_WATERMARK
    sources.take(3, 7)
    assert sources.lowest_ms == 5
    assert SourceWatermarks().lowest_ms == NO_WATERMARK
