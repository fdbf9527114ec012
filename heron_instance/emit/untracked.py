"""Emits that are anchored to tuples which were acked or failed before.

In Storm such an emit has its anchor's root. If that was failed, the acker ignores what it hears of
it; if it was acked, the tree never completes, and its spout tuple comes again. Here what is emitted
is no part of the tree: the tuple goes where it is to go, and is not replayed if it is lost.
"""

from collections.abc import Callable

from heron_instance.emit.collector import BoltCollector


class UntrackedEmits:
    """Counts them; the first one of a process is an error of its component."""

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
