"""Messages whose tuples fail without a call of user code."""

from heron_core.flight_records import RecordKind
from heron_core.wire.batch import roots_of
from heron_core.wire.frames import Frames, Header
from heron_instance.input.failed_calls import FailedCalls


class UnrunMessages(FailedCalls):
    """Fails the tuples of a message, and counts them."""

    _misrouted_since = 0
    """The `keys_since` of the newest update that tuples were on their way in."""

    def _misrouted(self, head: Header, frames: Frames, first: int) -> None:
        """Keys were moved by an update while the tuples were in transit: the task's state lacks
        them. The tuples fail and are replayed to the right task, or are lost if untracked; both
        are counted."""
        self.metrics.fenced += 1
        self._fail_all_of(head, frames, first)
        if self._misrouted_since < self.keys_since:
            self._misrouted_since = self.keys_since
            what = "fail and come again" if self.options.tracked else "are lost"
            self.report(
                f"tuples that were on their way while an update has moved keys {what}: see failed"
                " in `heronpy stats`"
            )

    def _fail_all_of(self, head: Header, frames: Frames, first: int) -> None:
        """The tuples of a message from `first` on fail without a call of user code."""
        left = head.items - first
        if self.recorder is not None:
            self.recorder.step(RecordKind.SKIPPED, number=left)
        self.metrics.executed += left
        self.collector.failed += left
        if not roots_of(head, frames):
            self.collector.failed_for_good += left
        self._fail_batch(head, frames)

    def _fail_batch(self, head: Header, frames: Frames) -> None:
        """Nothing of a batch is processed: its roots fail now, not after the message timeout."""
        self.outbox.fails.extend(roots_of(head, frames))
