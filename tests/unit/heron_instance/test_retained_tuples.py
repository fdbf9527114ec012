"""Tuples that a bolt has neither acked nor failed, as its report of processed input has them."""

from typing import Any

from tests.unit.heron_instance.instance_support import (
    OTHER,
    SHUFFLE,
    Middle,
    batch,
    make,
    reads,
)

ROOT = (OTHER << 44) | 1


def test_a_report_amid_a_message_says_what_was_retained_before_it() -> None:
    """The tuples of the message under way are still with the stream manager."""
    made, seen = make(Middle, reads(SHUFFLE)), []

    def script(tup: Any) -> None:
        seen.append(made.core.retains)
        if tup.values != ["kept"]:
            made.component.ack(tup)

    made.component.script = script
    made.core.deliver(batch(["x"], ["kept"], roots=[(ROOT, 7), (ROOT + 1, 7)]))
    made.core.deliver(batch(["y"], ["z"], roots=[(ROOT + 2, 7), (ROOT + 3, 7)]))
    made.core.flush()
    assert [*seen, made.core.retains] == [False, False, True, True, True]
