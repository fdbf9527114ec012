"""New code for containers on other machines: packed, kept in the state store, unpacked there."""

import os
from pathlib import Path

import pytest

from heron_core.errors import HeronError, UsageError
from heron_core.records import replace
from heron_core.state_tree import code_archive_path, code_part_path, code_path
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heron_engine.scheduler.container.main import _parser, on_this_machine
from heron_engine.scheduler.packaging import stored_code
from heron_engine.scheduler.packaging.code_folder import CodeFolder
from heron_engine.scheduler.packaging.relocation import FOLDER, relocated
from heron_engine.scheduler.packaging.stored_code import (
    RegisteredCode,
    packed_code,
    put_code,
    relocations,
)
from heron_engine.scheduler.registration import forget
from heron_io.state_store.opening import open_store

OUT = (StreamSpec("default", ("key",)),)
WORDS = ComponentSpec("words", True, "second.Words", 1, OUT, code="new")
PART_BYTES = 100


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a topology's file and a module of its own."""
    folder = tmp_path / "project"
    (folder / "lib").mkdir(parents=True)
    (folder / "second.py").write_text("from lib.words import WORDS\n")
    (folder / "lib" / "words.py").write_text(f"WORDS = {os.urandom(300).hex()!r}\n")
    return folder


def topology(project: Path) -> TopologySpec:
    """As it was loaded from the new file."""
    return TopologySpec("t", (WORDS,), {}, (str(project), "/old"), str(project / "second.py"))


def test_new_code_is_in_a_container_s_own_folder(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_code, "PART_BYTES", PART_BYTES)
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    url = f"file://{tmp_path}/state"
    archives = packed_code([str(project), str(project / "lib"), "/not/there"])
    in_plans = relocated(topology(project), relocations(archives))
    path = archives[0].path
    assert in_plans.search_paths == (path, "/old")
    assert in_plans.main_file == f"{path}/second.py"
    with open_store(url) as store:
        put_code(store, "t", archives)
        put_code(store, "t", archives)  # once is enough
        parts = store.children(code_archive_path("t", archives[0].digest))
        assert len(parts) > 1

    container = tmp_path / "container"
    container.mkdir()
    monkeypatch.chdir(container)
    words = ["--store", url, "--topology", "t", "--container", "1", "--logs", "l"]
    given = _parser().parse_args([*words, "--relocated", "/old", "/cache/old"])
    found = on_this_machine(given, in_plans)
    new, old = found.search_paths
    assert Path(new).is_relative_to(container)
    assert old == "/cache/old"
    assert Path(found.main_file).read_text() == (project / "second.py").read_text()
    packed, unpacked = (Path(each, "lib", "words.py").read_text() for each in (project, new))
    assert packed == unpacked

    with open_store(url) as store:
        forget(store, "t")
        assert store.children(code_path("t")) == []
    assert on_this_machine(given, in_plans) == found, "what is unpacked is not asked for again"


def test_code_that_is_not_in_the_store_as_it_was_put_is_told(project: Path, tmp_path: Path) -> None:
    (archive,) = packed_code([str(project)])
    with open_store(f"file://{tmp_path}/state") as store:
        with pytest.raises(HeronError, match=f"has not the code {archive.digest} of t"):
            stored_code.stored_archive(store, "t", archive.digest)
        put_code(store, "t", [archive])
        store.put(code_part_path("t", archive.digest, 0), "no base64")
        with pytest.raises(HeronError, match="update it again"):
            stored_code.stored_archive(store, "t", archive.digest)


def test_large_code_lies_in_a_folder_that_all_machines_reach(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state store has its place, which the next state store learns again; a changed file is
    noticed, and nothing stays behind the topology."""
    monkeypatch.setattr(stored_code, "ARCHIVE_BYTES_MAX", 10)
    in_folder = CodeFolder(f"file://{tmp_path}/code")
    (archive,) = packed_code([str(project)], in_folder)
    file = tmp_path / "code" / "t" / f"{archive.digest}.packed"
    with (
        open_store(f"file://{tmp_path}/state") as store,
        open_store(f"file://{tmp_path}/later") as later,
    ):
        put_code(store, "t", [archive], in_folder)
        assert store.children(code_archive_path("t", archive.digest)) == []
        assert stored_code.stored_archive(store, "t", archive.digest) == archive.data
        registered = RegisteredCode(store, "t")
        registered.poll()
        registered._store = later
        registered.write_again()
        assert stored_code.stored_archive(later, "t", archive.digest) == archive.data
        file.write_bytes(b"changed")
        with pytest.raises(HeronError, match=f"has not the code {archive.digest}"):
            stored_code.stored_archive(store, "t", archive.digest)
        forget(store, "t")
        assert not file.exists()
        with pytest.raises(HeronError, match=f"the code {file} cannot be read"):
            stored_code.stored_archive(later, "t", archive.digest)
    monkeypatch.setattr(stored_code, "FOLDER_BYTES_MAX", 10)
    with pytest.raises(UsageError, match="is the limit"):
        packed_code([str(project)], in_folder)


def test_too_much_code_is_refused_in_one_line(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_code, "ARCHIVE_BYTES_MAX", 10)
    with pytest.raises(UsageError, match="by the state store, which takes") as told:
        packed_code([str(project)])
    assert "\n" not in str(told.value)


def test_a_plan_without_new_code_needs_no_store(project: Path) -> None:
    words = ["--store", "nowhere://", "--topology", "t", "--container", "1", "--logs", "l"]
    given = _parser().parse_args(words)
    assert on_this_machine(given, topology(project)) == topology(project)
    given.container = 0  # the topology master imports no code of the user's
    there = replace(topology(project), search_paths=(f"{FOLDER}/abc",))
    assert on_this_machine(given, there) == there
