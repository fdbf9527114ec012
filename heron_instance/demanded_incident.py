"""The answer of an instance to `heronpy record`."""

from heron_core.config import FLIGHT_RECORDER
from heron_core.wire.messages import IncidentRecorded, RecordIncident
from heron_instance.events import SendControl
from heron_instance.flight_recorder import FlightRecorder

NOT_RECORDED = False, f"{FLIGHT_RECORDER} is off, or the component has not begun"
"""Answer to a request for an incident without a recorder."""


def answer_of(asked: RecordIncident, task: int, recorder: FlightRecorder | None) -> SendControl:
    """Write an incident now, between two tuples."""
    is_written, text = NOT_RECORDED if recorder is None else recorder.demanded()
    return SendControl(IncidentRecorded(task, asked.record, is_written, text))
