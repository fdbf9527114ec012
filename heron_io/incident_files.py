"""Files of the flight recorder: rings, which survive their process, and incidents.

An incident is a zip archive: summary.json, topology.json, packing.json,
records.bin (heron_core/flight_records.py), and state.bin with its files if there is a state.
Tuples, state and config are the user's data, so only the owner of the files may read them.
"""

import mmap
import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO

import msgspec

from heron_core.errors import HeronError
from heron_core.flight_records import HEADER_BYTES, DamagedRecording, RecordRing
from heron_core.incidents import INCIDENT_ENDING, INCIDENT_FORMAT, Incident, IncidentSummary
from heron_core.state.file_snapshot import FileSnapshot
from heron_core.version import VERSION
from heron_io.atomic_files import remove, replace_whole
from heron_io.private_files import make_private_folders, private

RING_ENDING = ".ring"
SUMMARY, TOPOLOGY, PACKING = "summary.json", "topology.json", "packing.json"
RECORDS, STATE, STATE_FILES = "records.bin", "state.bin", "state/"
MIB = 1024 * 1024


class IncidentError(HeronError):
    """A file is not a readable incident."""


class MappedRing:
    """A ring in a file, mapped into memory."""

    def __init__(self, path: str, size_mib: int, ahead_secs: float) -> None:
        """Create the file, or replace an existing file; OSError on failure."""
        self._path = path
        make_private_folders(os.path.dirname(path))
        remove(path)
        length = HEADER_BYTES + size_mib * MIB
        descriptor = private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            os.truncate(descriptor, length)
            self._map = mmap.mmap(descriptor, length)
        finally:
            os.close(descriptor)
        self.ring = RecordRing.begun(self._map, ahead_secs)

    def remove(self) -> None:
        """The process ends in order: the records are not needed."""
        remove(self._path)


def left_ring(path: str) -> RecordRing | None:
    """The ring of an ended process at `path`; None without a file, or without records since the
    newest incident. DamagedRecording for a damaged file."""
    try:
        with open(path, "rb") as file:
            ring = RecordRing.found(bytearray(file.read()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DamagedRecording(f"{path} cannot be read: {error.strerror}") from None
    return ring if ring.has_news else None


class IncidentFolder:
    """The newest incidents of one instance."""

    def __init__(self, folder: str, label: str, most: int) -> None:
        """`label`: the instance, in the names of files; `most`: maximum number of files."""
        self._folder = folder
        self._label = label
        self._most = most

    def keep(self, incident: Incident) -> str:
        """Write an incident; returns the path. The oldest files beyond the limit are removed."""
        stem = f"{self._label}-{incident.summary.recorded_at_ms}"
        path = os.path.abspath(os.path.join(self._folder, f"{stem}{INCIDENT_ENDING}"))
        write_incident(path, incident)
        for old in self._names()[: -self._most]:
            remove(os.path.join(self._folder, old))
        return path

    def _names(self) -> list[str]:
        """Oldest first."""
        start = f"{self._label}-"
        names = [each for each in os.listdir(self._folder) if each.endswith(INCIDENT_ENDING)]
        times = {each: each.removeprefix(start).removesuffix(INCIDENT_ENDING) for each in names}
        own = [each for each in names if each.startswith(start) and times[each].isdigit()]
        return sorted(own, key=lambda each: int(times[each]))


def write_incident(path: str, incident: Incident) -> None:
    """Write the archive atomically; OSError on failure."""
    entries = {
        SUMMARY: msgspec.json.encode(incident.summary),
        TOPOLOGY: incident.topology,
        PACKING: incident.packing,
        RECORDS: incident.records,
    }
    if incident.state is not None:
        entries[STATE] = bytes(incident.state)
        entries |= _files_of(incident.state)
    packed = BytesIO()
    # Stored, not compressed: the instance waits meanwhile.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    replace_whole(path, [packed.getvalue()], f"{path}.part", is_private=True)


def _files_of(state: bytes) -> dict[str, bytes]:
    if not isinstance(state, FileSnapshot):
        return {}
    return {f"{STATE_FILES}{name}": state.source.read(name) for name in state.files}


def read_incident(path: str) -> Incident:
    """The incident in a file; IncidentError, in one line, for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError:
        raise IncidentError(f"{path} does not exist") from None
    except OSError as error:
        raise IncidentError(f"{path} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise IncidentError(f"{path} is not an incident, or is cut: {error}") from None
    for name in (SUMMARY, TOPOLOGY, PACKING, RECORDS):
        if name not in entries:
            raise IncidentError(f"{path} is not an incident: it has no {name}")
    summary = _summary(path, entries[SUMMARY])
    if summary.has_state and STATE not in entries:
        raise IncidentError(f"{path} is damaged: it has no {STATE}")
    state = _state(entries) if summary.has_state else None
    return Incident(summary, entries[TOPOLOGY], entries[PACKING], entries[RECORDS], state)


def _summary(path: str, data: bytes) -> IncidentSummary:
    written = {}
    with suppress(msgspec.MsgspecError):
        written = msgspec.json.decode(data, type=dict)
    if written.get("format") != INCIDENT_FORMAT:
        version = written.get("heronpy", "an unknown version")
        raise IncidentError(
            f"{path} was recorded by heronpy {version} in another format than heronpy {VERSION}"
            f" reads: replay it with `pip install heronpy-topologies=={version}`"
        )
    try:
        return msgspec.json.decode(data, type=IncidentSummary)
    except msgspec.MsgspecError as error:
        raise IncidentError(f"{path} is damaged: {SUMMARY}: {error}") from None


def _state(entries: Mapping[str, bytes]) -> bytes:
    files = {
        name.removeprefix(STATE_FILES): data
        for name, data in entries.items()
        if name.startswith(STATE_FILES)
    }
    if not files:
        return entries[STATE]
    sizes = {name: len(data) for name, data in files.items()}
    return FileSnapshot.of(entries[STATE], sizes, _ReadFiles(files))


class _ReadFiles:
    """Files of a state, in memory."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def copy(self, name: str, path: str) -> None:
        """See FileSource."""
        with open(path, "wb", opener=private) as file:
            file.write(self.read(name))

    def read(self, name: str) -> bytes:
        """See FileSource."""
        if name not in self._files:
            raise IncidentError(f"the state's file {name} is not in the incident")
        return self._files[name]

    def local_path(self, name: str) -> str | None:
        """See FileSource."""
        return None
