"""Emits anchored to tuples already acked or failed.

In Storm such an emit has its anchor's root. If the root was failed, the acker ignores the emit;
if acked, the tree never completes, and the spout tuple is replayed. Here the emitted tuple is
outside of the tree: it is delivered, and is not replayed if lost.
"""

from collections.abc import Callable

from heron_instance.emit.collector import BoltCollector


class UntrackedEmits:
    """Count the emits; the first in a process is reported as an error of the component."""

    def __init__(self, record_error: Callable[[str, str], None]) -> None:
        """`record_error` takes what happened, and the text for the log."""
        self._record_error = record_error
        self._has_reported = False

    def count_those_of(self, collector: BoltCollector) -> None:
        """Each is among what is late."""

        def count(stream: str) -> None:
            collector.outbox.late += 1
            if not self._has_reported:
                self._has_reported = True
                self._record_error("an emit is not tracked", _text(collector.component, stream))

        collector.count_untracked = count


def _text(component: str, stream: str) -> str:
    return (
        f"{component}.{stream}: an emit is anchored to a tuple that was acked or failed before, so"
        " it is no part of its tree: nothing replays it if it is lost. Emit first, then ack or"
        " fail; further ones are counted (late), not logged"
    )
