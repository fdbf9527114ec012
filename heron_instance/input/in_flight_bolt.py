"""Drives a bolt whose tuples are in flight when `process` has returned: it acks them later itself,
or (coroutines.py) they are coroutines."""

from collections.abc import Iterable
from typing import Any

from heron_core.algorithms.event_windows.values import NO_WATERMARK
from heron_instance.in_flight import BoltInFlight
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.dividing import Run
from heron_instance.input.tuples import EngineTuple
from heron_instance.later_acks import LaterAcks


class InFlightBoltDriver(BoltDriver):
    """Common base: watermarks never overtake tuples in flight, which are saved."""

    divides = False
    uses_cursors = False

    def __init__(self, in_flight: BoltInFlight, *arguments: Any) -> None:
        """`arguments` are BoltDriver's."""
        self.in_flight = in_flight
        self._marked_ms = self._passed_ms = NO_WATERMARK
        super().__init__(*arguments)

    def unfinished(self) -> list[Any]:
        """See BoltDriver."""
        return [*self.in_flight.unfinished(), *self.again]

    def abandon_unfinished(self) -> None:
        """See ComponentDriver."""
        for tup in self.unfinished():
            self.collector.fail_by(tup, None)
        self.outbox.flush_acks()

    def send_watermark(self) -> None:
        """See ComponentDriver: each is sent when all tuples before it are finished."""
        lowest_ms = self.source_watermarks.lowest_ms
        if lowest_ms != self._marked_ms:
            self._marked_ms = lowest_ms
            self.in_flight.add_watermark(lowest_ms)
        passed_ms = self.in_flight.passed()
        if passed_ms is not None:
            self._passed_ms = passed_ms
            self.passed(passed_ms)
        self.watermarks.send(min(self._passed_ms, lowest_ms))

    def passed(self, watermark_ms: int) -> None:
        """All tuples before a watermark are finished."""

    def validate(self) -> None:
        """AssertionError with a text if an invariant does not hold; between two calls."""
        super().validate()
        self.in_flight.validate()


class LaterAcksDriver(InFlightBoltDriver):
    """Drives a bolt with explicit acks (later_acks.py)."""

    def __init__(self, later: LaterAcks, *arguments: Any) -> None:
        """`arguments` are BoltDriver's."""
        self._later = later
        super().__init__(later.in_flight, *arguments)
        if not self.component.retains_until_finish:
            self.also_idle(lambda: not len(self.in_flight))

    def _make_run(self, hooks: Any) -> Run:
        run, later = super()._make_run(hooks), self._later

        def kept(some: Iterable[EngineTuple]) -> None:
            later.run(run, some)
            if text := later.too_many():
                self.report(text)

        return kept

    def _fail(self, tup: EngineTuple) -> None:
        self._later.fail(tup)

    def finish(self) -> None:
        """See BoltDriver; tuples unsettled by then are lost and reported."""
        super().finish()
        left = len(self.in_flight)
        if left:
            self.collector.failed += left
            self.collector.failed_for_good += left
            self.record_error(
                "tuples are left", f"{left} tuples were neither acked nor failed when the run ended"
            )
