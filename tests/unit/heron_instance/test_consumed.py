"""What an instance tells its stream manager of the messages that it has processed."""

from types import SimpleNamespace

from heron_core.wire.frames import FrameKind, Frames, header, header_of
from heron_core.wire.packets import busy_secs_of, retains_in
from heron_instance.consumed import REPORT_SECS, Consumed

BATCH: Frames = [header(FrameKind.DATA, 1, 2, 3, 1), bytes(76)]
BATCH_BYTES = 100
BOLT = SimpleNamespace(outbox=SimpleNamespace(task=3), retains=False)


class Pool:
    """A bolt that takes tuples, and begins them later."""

    taken = 0
    begun = 0


def reported(consumed: Consumed) -> tuple[int, float]:
    """(messages, seconds of user code) of the next report."""
    head = header_of(consumed.report(1, BOLT))
    return head.consumed, busy_secs_of(head)


def test_a_report_has_the_messages_and_seconds_since_the_one_before() -> None:
    consumed = Consumed()
    consumed.add(BATCH, 10.0, 10.5)
    consumed.worked(0.25)  # on one that a barrier has cut
    consumed.add(BATCH, 10.75, 11.0)
    assert reported(consumed) == (2, 1.0)
    consumed.add(BATCH, 12.0, 12.125)
    assert reported(consumed) == (1, 0.125)


def test_a_report_says_whether_tuples_are_neither_acked_nor_failed() -> None:
    consumed = Consumed()
    for retains in (True, False):
        consumed.add(BATCH, 10.0, 10.5)
        bolt = SimpleNamespace(outbox=BOLT.outbox, retains=retains)
        head = header_of(consumed.report(1, bolt))
        assert (head.consumed, head.source, retains_in(head)) == (1, 3, retains)


def test_a_fast_bolt_reports_by_bytes_and_a_slow_one_by_time() -> None:
    consumed = Consumed(bytes_max=2 * BATCH_BYTES)
    consumed.add(BATCH, 10.0, 10.0)
    assert not consumed.is_due(10.0)
    assert not consumed.is_due(10.0 + REPORT_SECS / 2)
    assert consumed.is_due(10.0 + REPORT_SECS)
    consumed.add(BATCH, 10.0, 10.0)
    assert consumed.is_due(10.0)


def test_a_message_of_a_pool_is_processed_when_its_last_tuple_has_begun() -> None:
    consumed, pool = Consumed(bytes_max=2 * BATCH_BYTES), Pool()
    for pool.taken in (3, 5, 9):
        consumed.delivered(BATCH, 10.0, 10.0, pool)
    assert not consumed.begun(2, 10.0)
    assert consumed.messages == 0
    assert not consumed.begun(4, 10.0), "one of two messages that fill a report"
    assert consumed.messages == 1
    assert consumed.begun(5, 10.0)
    assert consumed.messages == 2
    consumed.report(1, BOLT)
    assert not consumed.begun(8, 99.0), "nothing is to be reported, however late it is"
    assert consumed.begun(9, 99.0) is False
    assert consumed.begun(9, 99.0 + REPORT_SECS)


def test_a_message_whose_tuples_have_begun_is_processed_at_once() -> None:
    consumed, pool = Consumed(), Pool()
    pool.taken = pool.begun = 3
    consumed.delivered(BATCH, 10.0, 10.5, pool)
    assert reported(consumed) == (1, 0.5)
