"""The flight recorder of one instance: records of its driver in a ring, and incidents.

    driver, core ──records──► ring (a mapped file: it survives the process)
    user code raises ───────► incident: the newest state, the records behind it
    the process is killed ──► its successor makes the incident, from the ring file and the
                              state with which the successor begins

Whole messages are recorded on their way to the driver, so a single tuple costs nothing; without a
recorder a message costs one comparison. All calls come from the main thread.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from heron_core.errors import HeronError
from heron_core.flight_records import (
    Failure,
    FlightRecord,
    RecordKind,
    RecordRing,
    decode_records,
    encode_messages,
    encode_record,
    encode_records,
    start_of,
)
from heron_core.incidents import DEMANDED, KILLED, RAISED, newest_base
from heron_core.state.file_snapshot import StateBytes, as_bytes
from heron_core.state.saved_input import decode_input
from heron_core.wire.frames import Frames
from heron_instance.input.raised import line_of

KNOWN_FAILURES_MAX = 100
"""Kinds of failures with an incident in a process: further kinds are counted."""
VALUES_CHARACTERS_MAX = 500
"""Characters of a failing tuple's values, for people and for comparison with the replay."""

_INPUT, _OUTPUT = int(RecordKind.INPUT), int(RecordKind.OUTPUT)
_RESULTS, _CALLS = int(RecordKind.RESULTS), RecordKind.CALLS


class RecordedDriver(Protocol):
    """The part of a driver used by the recorder."""

    metrics: Any
    watermarks_taken: int
    report: Callable[[str], None]

    def known_watermarks(self) -> list[tuple[int, int]]:
        """Task and watermark of each source with a watermark."""


class Recorded:
    """Content of an incident's file, for `Keep`."""

    __slots__ = (
        "ahead_secs", "cause", "executed", "how", "is_complete", "left_out", "number", "records",
        "state",
    )  # fmt: skip

    def __init__(
        self,
        cause: str,
        number: int,
        state: bytes | None,
        records: bytes,
        is_complete: bool,
        executed: int | None = None,
        how: str = "",
        left_out: int = 0,
        ahead_secs: float = 0.0,
    ) -> None:
        """See IncidentSummary; `ahead_secs`: 0 for that of the process."""
        self.cause, self.number, self.state, self.records = cause, number, state, records
        self.is_complete, self.executed, self.how = is_complete, executed, how
        self.left_out, self.ahead_secs = left_out, ahead_secs


Keep = Callable[[Recorded], str]
"""Writes the file of an incident and returns its path; HeronError or OSError if the write fails."""


class FlightRecorder:
    """Records the steps of one instance, and keeps incidents."""

    def __init__(
        self,
        ring: RecordRing,
        clock: Callable[[], float],
        keep: Keep,
        left_behind: "LeftRing | None" = None,
        on_demand: bool = False,
    ) -> None:
        """`left_behind`: records of the task's killed process. `on_demand`: incidents are written
        on request only, and not when user code raises."""
        self._on_demand = on_demand
        self._ring = ring
        self._clock = clock
        self._keep = keep
        self._left_behind = left_behind
        self._driver: RecordedDriver
        self._number = 0
        self._state: StateBytes | None = None
        self._base_at = 0
        """Offset of the record of the newest state."""
        self._known: set[tuple[str, str]] = set()
        self.repeated = 0
        """Failures of a kind that has an incident."""
        self.left_out = 0
        """Number of records larger than the ring."""
        self.failing: object = None
        """Values of the failing tuple, until `failed`."""

    def attach(self, driver: RecordedDriver) -> None:
        """Record the steps of a driver, whose `recorder` is set by the caller."""
        self._driver = driver

    # --- records ------------------------------------------------------------------------------

    def inputs(self, messages: Sequence[Frames], first: int, started: float) -> None:
        """The driver is about to run messages, the first message from tuple `first` on."""
        driver = self._driver
        start = start_of(_INPUT, started, driver.metrics.executed, driver.watermarks_taken)
        self._write(encode_messages(start, first, messages))

    def sending(self, send: Callable[[list[Frames]], None]) -> Callable[[list[Frames]], None]:
        """`send`, preceded by a record of the messages."""

        def sent(messages: list[Frames]) -> None:
            driver = self._driver
            at = driver.metrics.executed, driver.watermarks_taken
            self._write(encode_messages(start_of(_OUTPUT, self._clock(), *at), 0, messages))
            send(messages)

        return sent

    def results(self, frames: Frames) -> None:
        """A spout receives the outcome of roots."""
        start = start_of(_RESULTS, self._clock(), self._driver.metrics.executed, 0)
        self._write(encode_messages(start, 0, [frames]))

    def calls(self, most: int, now: float) -> None:
        """A spout's next_tuple is about to be called, up to `most` times."""
        self._note(_CALLS, most, now)

    def step(self, kind: RecordKind, now: float | None = None, number: int = 0) -> None:
        """Another step."""
        self._note(kind, number, self._clock() if now is None else now)

    def began(self, number: int, saved: bytes | None) -> None:
        """A new object begins with the saved state of a number; None for the beginning."""
        state = None if saved is None else decode_input(saved)[0] or None
        self._base(RecordKind.BEGAN, number, state)
        left, self._left_behind = self._left_behind, None
        if left is not None:
            self._driver.report(self._kept(lambda: left.recorded(number, state))[1])

    def saved(self, number: int, state: StateBytes) -> None:
        """The state was taken; later records follow the state."""
        self._base(RecordKind.SAVED, number, state)

    def _base(self, kind: RecordKind, number: int, state: StateBytes | None) -> None:
        self._number, self._state, self._base_at = number, state, self._ring.head
        driver = self._driver
        at = driver.metrics.executed, driver.watermarks_taken
        known = driver.known_watermarks()
        record = FlightRecord(kind, self._clock(), *at, number, (), None, known)
        self._write(encode_record(record))

    def _note(
        self, kind: RecordKind, number: int, now: float, failure: Failure | None = None
    ) -> None:
        driver = self._driver
        at = driver.metrics.executed, driver.watermarks_taken
        self._write(encode_record(FlightRecord(kind, now, *at, number, (), failure)))

    def _write(self, record: bytes) -> None:
        if not self._ring.write(record):
            self.left_out += 1

    # --- incidents ----------------------------------------------------------------------------

    def failed(self, where: str, error: BaseException | None) -> str:
        """User code raised; returns a line for the error's text, empty without a new incident."""
        values, self.failing = self.failing, None
        text = "" if values is None else _text_of(values)
        failure = Failure(where, line_of(error), text)
        self._note(RecordKind.FAILED, 0, self._clock(), failure)
        key = where, type(error).__name__
        if self._on_demand:
            return ""
        if key in self._known or len(self._known) >= KNOWN_FAILURES_MAX:
            self.repeated += 1
            return ""
        self._known.add(key)
        return self._kept_now(RAISED)[1]

    def demanded(self) -> tuple[bool, str]:
        """Make an incident on request; returns whether the file is written, and a line."""
        return self._kept_now(DEMANDED)

    def _kept_now(self, cause: str) -> tuple[bool, str]:
        state = self._state
        try:
            data = None if state is None else decode_input(as_bytes(state))[0] or None
        except Exception as error:  # reported by the checkpoint's writer, too
            reason = f"its state cannot be serialised: {line_of(error)}"
            return False, f"no incident is recorded: {reason}"
        is_complete = self._ring.tail <= self._base_at
        executed = None if cause == RAISED else self._driver.metrics.executed
        records = self._ring.content(self._base_at)
        recorded = Recorded(
            cause, self._number, data, records, is_complete, executed, "", self.left_out
        )
        kept = self._kept(lambda: recorded)
        self._ring.note_written()
        return kept

    def _kept(self, make: Callable[[], Recorded]) -> tuple[bool, str]:
        try:
            return True, f"incident recorded, run it again: heronpy replay {self._keep(make())}"
        except (HeronError, OSError) as error:
            return False, f"no incident is recorded: {error}"

    def statistics(self) -> dict[str, int]:
        """Counts of failures without an incident of their own, and of records left out."""
        return {"repeated": self.repeated, "left_out": self.left_out}


class LeftRing:
    """Records of a killed process of the task."""

    def __init__(self, records: bytes, how: str, ahead_secs: float) -> None:
        """`how`: end of the process, in words; `ahead_secs`: see IncidentSummary."""
        self._records = records
        self._how = how
        self._ahead_secs = ahead_secs

    def recorded(self, number: int, state: bytes | None) -> Recorded:
        """An incident from the state of a number, with which the successor begins as well.
        DamagedRecording for damaged records."""
        records = list(decode_records(self._records))
        base = newest_base(records, number)
        kept: Iterable[FlightRecord] = records if base is None else records[base:]
        data = encode_records(map(encode_record, kept))
        is_complete = base is not None
        return Recorded(
            KILLED, number, state, data, is_complete, None, self._how, 0, self._ahead_secs
        )


def _text_of(values: object) -> str:
    try:
        text = repr(values)
    except Exception as error:  # of user code
        text = f"values whose repr raises {line_of(error)}"
    return text[:VALUES_CHARACTERS_MAX]
