"""Files of incidents and of rings: what is read back, and what is refused in one line."""

import stat
import zipfile
from pathlib import Path

import msgspec
import pytest

from heron_core.errors import HeronError
from heron_core.flight_records import DamagedRecording
from heron_core.incidents import INCIDENT_FORMAT, Incident, IncidentSummary
from heron_core.records import replace
from heron_core.state.file_snapshot import FileSnapshot
from heron_io.incident_files import (
    IncidentFolder,
    MappedRing,
    left_ring,
    read_incident,
    write_incident,
)

SUMMARY = IncidentSummary(
    INCIDENT_FORMAT, "0.2.0", "3.11", "Linux", "words", "run", "count", 0, 2, 1000, "raised"
)
INCIDENT = Incident(SUMMARY, b"{}", b"[]", b"records", None)


class Files:
    """The files of a state."""

    def copy(self, name: str, path: str) -> None:
        raise AssertionError("not asked for")

    def read(self, name: str) -> bytes:
        return name.encode() * 2

    def local_path(self, name: str) -> str | None:
        return None


def test_an_incident_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = str(tmp_path / "a.incident")
    write_incident(path, INCIDENT)
    assert read_incident(path) == INCIDENT
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_a_state_has_its_files(tmp_path: Path) -> None:
    path = str(tmp_path / "a.incident")
    state = FileSnapshot.of(b"state", {"one": 6}, Files())
    write_incident(path, replace(INCIDENT, state=state, summary=replace(SUMMARY, has_state=True)))
    found = read_incident(path).state
    assert isinstance(found, FileSnapshot)
    assert (found, found.files, found.source.read("one")) == (b"state", {"one": 6}, b"oneone")
    found.source.copy("one", str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == b"oneone"
    with pytest.raises(HeronError, match="two is not in the incident"):
        found.source.read("two")


@pytest.mark.parametrize(
    ("left_out", "what"),
    [("records.bin", "it has no records"), ("summary.json", "it has no summary")],
)
def test_an_archive_without_a_part_is_refused(tmp_path: Path, left_out: str, what: str) -> None:
    whole, cut = str(tmp_path / "a.incident"), str(tmp_path / "b.incident")
    write_incident(whole, INCIDENT)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(cut, "w") as new:
        for name in old.namelist():
            if name != left_out:
                new.writestr(name, old.read(name))
    with pytest.raises(HeronError, match=what):
        read_incident(cut)


def test_a_cut_file_and_an_absent_one_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.incident"
    with pytest.raises(HeronError, match="does not exist"):
        read_incident(str(path))
    write_incident(str(path), INCIDENT)
    data = path.read_bytes()
    for length in (0, 10, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(HeronError, match="is not an incident, or is cut"):
            read_incident(str(path))
    path.write_bytes(data.replace(b"records", b"damaged", 1))
    with pytest.raises(HeronError):
        read_incident(str(path))


def test_the_format_of_another_version_names_that_version(tmp_path: Path) -> None:
    path = str(tmp_path / "a.incident")
    write_incident(path, replace(INCIDENT, summary=replace(SUMMARY, format=99, heronpy="7.1")))
    with pytest.raises(HeronError, match=r"heronpy 7\.1 .*`pip install heronpy-topologies==7\.1`"):
        read_incident(path)


def test_a_summary_of_other_types_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "a.incident")
    write_incident(path, INCIDENT)
    data = msgspec.json.encode({"format": INCIDENT_FORMAT, "heronpy": 3})
    with zipfile.ZipFile(path) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, content in (entries | {"summary.json": data}).items():
            new.writestr(name, content)
    with pytest.raises(HeronError, match="is damaged: summary"):
        read_incident(path)


def test_the_newest_incidents_of_an_instance_stay(tmp_path: Path) -> None:
    folder = IncidentFolder(str(tmp_path), "count-2", 2)
    other = IncidentFolder(str(tmp_path), "count-2-more", 2)
    other.keep(INCIDENT)
    for at in (9, 10, 11):
        folder.keep(replace(INCIDENT, summary=replace(SUMMARY, recorded_at_ms=at)))
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["count-2-10.incident", "count-2-11.incident", "count-2-more-1000.incident"]


def test_a_ring_survives_its_process_and_goes_at_an_orderly_end(tmp_path: Path) -> None:
    path = str(tmp_path / "folder" / "count-2.ring")
    assert left_ring(path) is None
    mapped = MappedRing(path, 1, 2.5)
    assert left_ring(path) is None, "nothing is in it"
    mapped.ring.write(b"one")
    found = left_ring(path)
    assert found is not None
    assert (found.content(), found.ahead_secs) == (mapped.ring.content(), 2.5)
    mapped.ring.note_written()
    assert left_ring(path) is None
    mapped.remove()
    assert not Path(path).exists()
    Path(path).write_bytes(b"x" * 100)
    with pytest.raises(DamagedRecording):
        left_ring(path)
