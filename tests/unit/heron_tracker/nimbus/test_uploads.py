"""Uploads: their limits, and that what is left behind goes."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from heron_core.errors import TopologyError
from heron_core.thrift.calls import AuthorizationException
from heron_tracker.nimbus import code_archive
from heron_tracker.nimbus.code_archive import unpack_code
from heron_tracker.nimbus.uploads import (
    FINISHED_MAX,
    IDLE_SECS,
    KEPT_SECS,
    UNFINISHED_MAX,
    Uploads,
)
from tests.unit.heron_tracker.nimbus.nimbus_support import jar


class Time:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def uploads(tmp_path: Path, clock: Time) -> Uploads:
    return Uploads(str(tmp_path / "uploads"), 100, clock)


def test_chunks_become_a_file_of_its_owner(uploads: Uploads) -> None:
    location = uploads.begin()
    uploads.add(location, b"ab")
    uploads.add(location, b"cd")
    uploads.finish(location)
    path = Path(uploads.finished(location))
    assert path.read_bytes() == b"abcd"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(AuthorizationException, match="is finished"):
        uploads.add(location, b"ef")


def test_all_chunks_together_are_bounded(uploads: Uploads, tmp_path: Path) -> None:
    location = uploads.begin()
    uploads.add(location, b"x" * 60)
    with pytest.raises(AuthorizationException, match="`heronpy nimbus --upload-max MB`"):
        uploads.add(location, b"x" * 41)
    assert os.listdir(tmp_path / "uploads") == []


def test_abandoned_uploads_make_room(uploads: Uploads, clock: Time) -> None:
    for _ in range(UNFINISHED_MAX):
        uploads.begin()
    with pytest.raises(AuthorizationException, match="16 uploads are under way"):
        uploads.begin()
    clock.now = IDLE_SECS + 1
    uploads.begin()


def test_archives_stay_for_an_hour_after_their_last_use(
    uploads: Uploads, clock: Time, tmp_path: Path
) -> None:
    location = uploads.begin()
    uploads.finish(location)
    clock.now = KEPT_SECS - 1
    uploads.finished(location)
    clock.now = 2 * KEPT_SECS - 2
    uploads.sweep()
    assert uploads.finished(location)
    clock.now += KEPT_SECS + 1
    uploads.sweep()
    assert os.listdir(tmp_path / "uploads") == []


def test_so_many_archives_stay(uploads: Uploads, clock: Time, tmp_path: Path) -> None:
    for _ in range(FINISHED_MAX + 3):
        clock.now += 1
        uploads.finish(uploads.begin())
    uploads.sweep()
    assert len(os.listdir(tmp_path / "uploads")) == FINISHED_MAX


def test_what_an_earlier_process_left_is_removed(tmp_path: Path, clock: Time) -> None:
    first = Uploads(str(tmp_path), 100, clock)
    first.begin()
    second = Uploads(str(tmp_path), 100, clock)
    assert os.listdir(tmp_path) == []
    second.begin()
    second.close()
    assert os.listdir(tmp_path) == []


def test_only_resources_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "code.jar"
    jar(path, {"resources/a/b.py": "x = 1", "org/Main.class": "", "META-INF/MANIFEST.MF": ""})
    unpack_code(str(path), str(tmp_path / "code"), is_needed=True)
    files = [each for each in (tmp_path / "code").rglob("*") if each.is_file()]
    assert [str(each.relative_to(tmp_path / "code")) for each in files] == ["resources/a/b.py"]


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"a.py": ""}, "there is no folder resources in it"),
        ({"resources/../../a.py": ""}, "leads out of the archive"),
        ({"resources//a.py": ""}, "is not a path of a file"),
        ({"resources/a": "", "resources/a/b": ""}, "is in it twice, or below a file"),
    ],
)
def test_an_archive_of_another_kind_is_one_line(
    tmp_path: Path, files: dict[str, str], line: str
) -> None:
    jar(tmp_path / "code.jar", files)
    with pytest.raises(TopologyError, match=line):
        unpack_code(str(tmp_path / "code.jar"), str(tmp_path / "code"), is_needed=True)
    assert not (tmp_path / "a.py").exists()


def test_a_bomb_is_refused_by_what_it_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_archive, "BYTES_MAX", 1000)
    jar(tmp_path / "code.jar", {"resources/a": "x" * 1001})
    with pytest.raises(TopologyError, match="it is too large"):
        unpack_code(str(tmp_path / "code.jar"), str(tmp_path / "code"), is_needed=True)


def test_damaged_bytes_are_one_line(tmp_path: Path) -> None:
    """One bit at a time."""
    data = jar(tmp_path / "good.jar", {"resources/a.py": "print(1)\n" * 50})
    path = tmp_path / "code.jar"
    for at in range(0, len(data), 3):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            unpack_code(str(path), str(tmp_path / f"code-{at}"), is_needed=True)
        except TopologyError as error:
            line = str(error)
        else:
            line = ""
        assert "\n" not in line


def test_a_program_in_the_archive_may_be_executed(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("resources/run.sh")
        info.external_attr = 0o755 << 16
        archive.writestr(info, "#!/bin/sh\n")
    (tmp_path / "code.jar").write_bytes(buffer.getvalue())
    unpack_code(str(tmp_path / "code.jar"), str(tmp_path), is_needed=True)
    assert os.access(tmp_path / "resources" / "run.sh", os.X_OK)
