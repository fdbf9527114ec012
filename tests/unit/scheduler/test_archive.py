"""Archives of projects: content, equal bytes for equal content, safe unpacking."""

import errno
import io
import json
import os
import socket
import tarfile
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import HeronError, UsageError
from heron_engine.scheduler.packaging.archive import (
    Entry,
    Manifest,
    packed_files,
    unpacked,
    write_archive,
)

MANIFEST = Manifest("demo", (Entry("words", "topologies/words.py"),), ("requests",), "py", "0.1")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with all kinds of files excluded from an archive."""
    root = tmp_path / "demo"
    for name in (
        "config.json", "topologies/words.py", "src/bolts/split.py", "resources/split.js",
        ".git/config", ".env", "src/__pycache__/x.pyc", "_build/a.jar", "logs/words.log",
        "env/pyvenv.cfg", "env/lib/x.py", "old.tar.gz", "demo.egg-info/PKG-INFO",
    ):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    (root / "resources" / "split.js").chmod(0o755)
    return root


def test_on_a_full_disk_no_half_archive_is_left(project: Path, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    (wheels / "a_folder.whl").mkdir(parents=True)  # no file: adding it fails half way
    with pytest.raises(OSError, match="Is a directory"):
        write_archive(str(tmp_path / "demo.tar.gz"), MANIFEST, str(project), str(wheels))
    assert [each.name for each in tmp_path.iterdir() if "tar" in each.name] == []


def test_what_belongs_into_an_archive(project: Path) -> None:
    """No hidden file, cache, log, virtual environment or older archive."""
    assert list(packed_files(str(project))) == [
        "config.json", "resources/split.js", "src/bolts/split.py", "topologies/words.py",
    ]  # fmt: skip


def test_sockets_and_pipes_beside_the_code_stay_at_home(project: Path, tmp_path: Path) -> None:
    """Left by an editor or a file system monitor: a pipe would be read for ever."""
    os.mkfifo(project / "src" / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        folder = os.open(project / "src", os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{folder}/socket")  # a longer path would be refused
        os.close(folder)
        assert write_archive(str(tmp_path / "a.tar.gz"), MANIFEST, str(project), None) == 4


def test_the_same_contents_are_the_same_bytes(project: Path, tmp_path: Path) -> None:
    """For any user and time: a build is new only with changed content."""
    write_archive(str(tmp_path / "a.tar.gz"), MANIFEST, str(project), None)
    (project / "config.json").touch()
    (project / "topologies" / "words.py").chmod(0o600)
    assert write_archive(str(tmp_path / "b.tar.gz"), MANIFEST, str(project), None) == 4
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    (project / "topologies" / "words.py").write_text("{ }")
    write_archive(str(tmp_path / "b.tar.gz"), MANIFEST, str(project), None)
    assert (tmp_path / "a.tar.gz").read_bytes() != (tmp_path / "b.tar.gz").read_bytes()


def test_what_is_packed_comes_out_again_and_only_once(project: Path, tmp_path: Path) -> None:
    """Contents, executable bits and manifest; a second run finds the folder."""
    archive, cache = str(tmp_path / "a.tar.gz"), tmp_path / "cache"
    write_archive(archive, MANIFEST, str(project), None)
    found = unpacked(archive, str(cache))
    assert found.manifest == MANIFEST
    assert found.packages == ()
    folder = Path(found.folder)
    assert list(packed_files(str(folder))) == list(packed_files(str(project)))
    assert (folder / "resources" / "split.js").stat().st_mode & 0o777 == 0o755
    (folder / "mark").write_text("")
    assert unpacked(archive, str(cache)) == found
    assert (folder / "mark").exists()
    assert [each.name for each in cache.iterdir()] == [Path(found.path).name]


def test_passwords_stay_at_home(project: Path, tmp_path: Path) -> None:
    """config.json of sparse may hold the ssh password; the rest is packed."""
    config = {"envs": {"prod": {"user": "storm", "ssh_password": "secret"}, "x": None}, "s": 1}
    (project / "config.json").write_text(json.dumps(config))
    archive = tmp_path / "a.tar.gz"
    write_archive(str(archive), MANIFEST, str(project), None)
    found = Path(unpacked(str(archive), str(tmp_path / "cache")).folder, "config.json")
    assert json.loads(found.read_text()) == {"envs": {"prod": {"user": "storm"}, "x": None}, "s": 1}
    assert json.loads((project / "config.json").read_text()) == config


def entries(*found: Entry) -> Any:
    """The function that chooses among an archive's topologies."""
    from heron_engine.scheduler.packaging.archive import Unpacked

    return Unpacked("/x", Manifest("demo", found, (), "py", "0.1")).topology


def test_which_topology_of_an_archive() -> None:
    """The only one, or the one named; in an archive of a single file, a topology inside as well."""
    one, two = Entry("words", "words.py"), Entry("clicks", "clicks.py")
    assert entries(one)(None) == one
    assert entries(one, two)("clicks") == two
    assert entries(one)("B") == Entry("B", "words.py", "B")
    with pytest.raises(UsageError, match="has 2 topologies: choose one with -n words or clicks"):
        entries(one, two)(None)
    with pytest.raises(UsageError, match="no topology 'click'; did you mean 'clicks'"):
        entries(one, two)("click")


def tar(path: Path, members: dict[str, bytes | tarfile.TarInfo]) -> str:
    """A gzipped tar with these members."""
    with tarfile.open(path, "w:gz") as file:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                file.addfile(content, io.BytesIO(b"x") if content.isreg() else None)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return str(path)


def link() -> tarfile.TarInfo:
    """A symbolic link out of the archive."""
    info = tarfile.TarInfo("project/link")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return info


def extending(kind: bytes, size: int) -> tarfile.TarInfo:
    """A header with a claim about the next header's size."""
    info = tarfile.TarInfo("project/next")
    info.type, info.size = kind, size
    return info


def manifest(**changes: Any) -> bytes:
    """A manifest with changes."""
    return json.dumps({**MANIFEST.to_json(), **changes}).encode()


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"project/a": b""}, r"heronpy\.json: No such file"),
        ({"../a": b"x"}, "'../a' leads out of the archive"),
        ({"/etc/a": b"x"}, "'/etc/a' leads out of the archive"),
        ({"link": link()}, "project/link is not a regular file"),
        ({"heronpy.json": b"["}, r"heronpy\.json: Expecting value"),
        ({"heronpy.json": b"{}"}, "its heronpy.json lacks 'format'"),
        ({"heronpy.json": manifest(format=2)}, "its format is 2, but this heronpy reads format 1"),
        ({"heronpy.json": manifest(topologies=[{"name": "x", "file": "../x", "inside": None}])},
         "'../x' leads out of the archive"),
        ({"heronpy.json": manifest(topologies=[])}, "its heronpy.json lists no topologies"),
        ({"heronpy.json": manifest(topologies=3)}, "its heronpy.json lacks"),
        ({"heronpy.json": manifest(topologies=[{"name": [], "file": "x", "inside": None}])},
         "lists no topologies"),
        ({"heronpy.json": b"[" * 200_000}, r"heronpy\.json: "),
        ({".": b"x"}, r"'\.' is not a path of a file"),
        ({"project/a": b"x", "project/a/b/c": b"y"}, "project/a/b/c is below a file"),
        ({"project/a/b": b"x", "project/a": b"y"}, "project/a is in it twice, or is a folder"),
        ({"project/" + "n" * 300: b"x"}, "is too long or too deep"),
        ({"d/" * 3_000 + "f": b"x"}, "is too long or too deep"),
        ({"long": extending(tarfile.XHDTYPE, 1 << 30)}, "a header of 1073741824 bytes"),
        ({"long": extending(tarfile.GNUTYPE_LONGNAME, 1 << 30)}, "a header of 1073741824 bytes"),
        ({"holes": extending(tarfile.GNUTYPE_SPARSE, 1)}, "is a sparse file"),
    ],
)  # fmt: skip
def test_what_is_no_archive_of_ours(tmp_path: Path, members: dict[str, Any], expected: str) -> None:
    """A foreign tar, a malicious one, or one of a newer release: one line, and an empty cache."""
    path = tar(tmp_path / "a.tar.gz", members)
    with pytest.raises(UsageError, match=expected):
        unpacked(path, str(tmp_path / "cache"))
    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "a").exists()


def test_an_archive_that_has_a_file_twice(tmp_path: Path) -> None:
    """The second file would win on some hosts only."""
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for _ in range(2):
            file.addfile(tarfile.TarInfo("project/a"))
    with pytest.raises(UsageError, match="project/a is in it twice"):
        unpacked(str(path), str(tmp_path / "cache"))


def test_an_archive_for_which_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reported as lack of space, not as a fault of the archive."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tar(tmp_path / "a.tar.gz", {"heronpy.json": manifest()})
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(HeronError, match=r"cannot be unpacked into .*: No space left"):
        unpacked(path, str(tmp_path / "cache"))


def test_a_file_that_is_no_tar(tmp_path: Path) -> None:
    """Any other file, a cut archive, or a missing file."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"PK\3\4")
    with pytest.raises(UsageError, match="is not an archive of `heronpy package`"):
        unpacked(str(path), str(tmp_path / "cache"))
    whole = Path(tar(path, {"heronpy.json": manifest()})).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match="is not an archive of `heronpy package`"):
        unpacked(str(path), str(tmp_path / "cache"))
    with pytest.raises(UsageError, match=r"nowhere\.tar\.gz cannot be read: No such file"):
        unpacked(str(tmp_path / "nowhere.tar.gz"), str(tmp_path / "cache"))
