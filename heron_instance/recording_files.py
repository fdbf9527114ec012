"""Files of an instance's flight recorder: the ring and the incidents."""

import platform
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from heron_core import config as keys
from heron_core.config import values
from heron_core.config.effects import component_config
from heron_core.errors import HeronError
from heron_core.flight_records import DamagedRecording
from heron_core.incidents import INCIDENT_FORMAT, Incident, IncidentSummary
from heron_core.naming import first_of
from heron_core.plans import PackingPlan, instance_name, packing_to_json
from heron_core.topology import TopologySpec, topology_to_json
from heron_core.version import VERSION
from heron_core.wire.pickled import opened
from heron_instance.flight_recorder import FlightRecorder, LeftRing, Recorded
from heron_io.incident_files import RING_ENDING, IncidentFolder, MappedRing, left_ring

FOLDER = "incidents"
"""Beside the logs."""


class RecordedTask(Struct, frozen=True):
    """Identity of a recorded instance."""

    topology: TopologySpec
    packing: PackingPlan
    task: int
    run: str
    folder: str
    """Folder of rings and incidents."""

    @property
    def label(self) -> str:
        """In names of files."""
        return f"{self.packing.instances[self.task].component}-{self.task}"


class RecordingFiles:
    """The recorder of one instance with its files."""

    def __init__(self, task: RecordedTask, config: Mapping[str, Any], predecessor: str) -> None:
        """`predecessor`: end of the previous process, empty for the first process of a container.
        OSError if the folder is not writable."""
        self._task = task
        self._ahead_secs = time.time() - time.monotonic()
        path = f"{task.folder}/{task.label}{RING_ENDING}"
        self.warning = ""
        """Damage of the previous process's ring; empty without damage."""
        on_demand = keys.value_of(config, keys.FLIGHT_RECORDER) == values.ON_DEMAND
        left = self._left(path, predecessor) if predecessor and not on_demand else None
        mib = keys.value_of(config, keys.FLIGHT_RECORDER_MIB)
        most = keys.value_of(config, keys.FLIGHT_RECORDER_INCIDENTS)
        self._incidents = IncidentFolder(task.folder, task.label, most)
        self._file = MappedRing(path, mib, self._ahead_secs)
        ring = self._file.ring
        self.recorder = FlightRecorder(ring, time.monotonic, self._keep, left, on_demand)

    def _left(self, path: str, predecessor: str) -> LeftRing | None:
        try:
            ring = left_ring(path)
        except DamagedRecording as error:
            self.warning = f"what the process before has recorded is lost: {error}"
            return None
        return None if ring is None else LeftRing(ring.content(), predecessor, ring.ahead_secs)

    def _keep(self, recorded: Recorded) -> str:
        return self._incidents.keep(incident_of(self._task, recorded, self._ahead_secs))

    def end(self) -> str:
        """The process ends in order; returns a line for the log, or an empty text."""
        self._file.remove()
        numbers = self.recorder.statistics()
        if not any(numbers.values()):
            return ""
        return (
            f"flight recorder: {numbers['repeated']} more failures of a kind that has an incident,"
            f" {numbers['left_out']} records larger than"
            f" {keys.FLIGHT_RECORDER_MIB}"
        )


def without_incident(folder: str, packing: PackingPlan, tasks: Iterable[int]) -> str:
    """One line about instances whose last process has died with recorded input and will have no
    successor, which would write the incident; empty if there are none."""
    left = [
        instance_name(packing, task)
        for task in tasks
        if _has_news(f"{folder}/{packing.instances[task].component}-{task}{RING_ENDING}")
    ]
    if not left:
        return ""
    return (
        f"no incident of {first_of(left)}: the successor of a dead process writes it, and a"
        f" topology that has failed starts none ({keys.RESTART_LIMIT} of 1 or more allows one)"
    )


def _has_news(path: str) -> bool:
    try:
        return left_ring(path) is not None
    except DamagedRecording:
        return True


def incident_of(task: RecordedTask, recorded: Recorded, ahead_secs: float) -> Incident:
    """The incident for the archive; `ahead_secs`: time.time() minus the clock."""
    plan = task.packing.instances[task.task]
    summary = IncidentSummary(
        INCIDENT_FORMAT, VERSION, platform.python_version(), platform.platform(),
        task.topology.name, task.run, plan.component, plan.index, task.task,
        int(time.time() * 1000), recorded.cause, recorded.how, recorded.number,
        recorded.state is not None, recorded.is_complete, recorded.executed,
        recorded.ahead_secs or ahead_secs, recorded.left_out,
    )  # fmt: skip
    topology = msgspec.json.encode(topology_to_json(task.topology))
    packing = msgspec.json.encode(packing_to_json(task.packing))
    return Incident(summary, topology, packing, recorded.records, recorded.state)


def made_recording(task: RecordedTask, predecessor: str) -> RecordingFiles | None:
    """None if `topology.flight.recorder` is off; HeronError for a folder that is not writable."""
    spec = task.topology.by_name[task.packing.instances[task.task].component]
    merged = opened(keys.with_defaults(task.topology.config))
    config = keys.with_defaults(component_config(merged, opened(spec.config)))
    if keys.value_of(config, keys.FLIGHT_RECORDER) == values.OFF or not task.folder:
        return None
    try:
        return RecordingFiles(task, config, predecessor)
    except OSError as error:
        raise HeronError(
            f"{keys.FLIGHT_RECORDER} is on, and its ring in {task.folder} cannot be written:"
            f" {error.strerror or error}"
        ) from None
