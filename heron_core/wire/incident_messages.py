"""Messages of `heronpy record`: the request to instances, and their answers."""

from msgspec import Struct

from heron_core.wire.field_types import Whole


class RecordIncident(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to the instances of `tasks`: write an incident of the flight recorder."""

    record: Whole
    tasks: tuple[Whole, ...]


class IncidentRecorded(Struct, frozen=True, array_like=True, tag=True):
    """Answer of an instance to RecordIncident, in one line for people."""

    task: Whole
    record: Whole
    is_written: bool
    text: str
