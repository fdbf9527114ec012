"""Folders taken as projects, and the choice of a topology; rules of streamparse 5."""

import json
from pathlib import Path

import pytest

from heron_cli.project import project_here, project_of_file, required
from heron_core.errors import UsageError

CONFIG = {"topology_specs": "topologies/", "envs": {"prod": {}}}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with two topologies and unrelated files."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    folder = tmp_path / "topologies"
    folder.mkdir()
    for name in ("words.py", "clicks.yaml", "__init__.py", ".hidden.py", "notes.txt"):
        (folder / name).write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_topologies_are_the_files_of_the_folder(root: Path) -> None:
    """Python and Flux files, each called like its file; __init__.py is ignored."""
    project = project_here()
    assert project is not None
    assert project.topology_files() == {
        "clicks": str(root / "topologies" / "clicks.yaml"),
        "words": str(root / "topologies" / "words.py"),
    }
    assert project.topology_file("words") == ("words", str(root / "topologies" / "words.py"))
    assert project.search_paths == (str(root), str(root / "src"), str(root / "topologies"))


def test_a_python_file_comes_before_a_flux_file_of_the_same_name(root: Path) -> None:
    """words.yaml was the first version of words.py."""
    (root / "topologies" / "words.yaml").write_text("")
    project = project_here()
    assert project is not None
    assert project.topology_file("words")[1].endswith("words.py")


def test_one_topology_needs_no_name_and_several_do(root: Path) -> None:
    """As in sparse: a single topology needs no name; of several, the error lists them."""
    project = required(project_here(), "this")
    with pytest.raises(UsageError, match="has 2 topologies: choose one with -n clicks or words"):
        project.topology_file(None)
    with pytest.raises(UsageError, match="no topology 'word'; did you mean 'words'"):
        project.topology_file("word")
    (root / "topologies" / "clicks.yaml").unlink()
    assert project.topology_file(None)[0] == "words"
    (root / "topologies" / "words.py").unlink()
    with pytest.raises(UsageError, match=r"no topology is in .*topologies: put NAME\.py there"):
        project.topology_file(None)


def test_a_folder_without_config_json_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a project is needed, the error names the missing file and its cure."""
    monkeypatch.chdir(tmp_path)
    assert project_here() is None
    with pytest.raises(UsageError, match=r"-e prod needs a project.*quickstart NAME"):
        required(project_here(), "-e prod")


def test_a_file_finds_its_project_above_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`heronpy run elsewhere/topologies/words.py` from anywhere."""
    monkeypatch.chdir("/")
    found = project_of_file(str(root / "topologies" / "words.py"))
    assert found is not None
    assert found.root == str(root)


@pytest.mark.parametrize("text", ['{"theme": "dark"}', "[1, 2]", "{broken", "\udcff"])
def test_a_config_json_of_another_program_is_not_ours(tmp_path: Path, text: str) -> None:
    """Many programs keep a config.json; perhaps a broken one."""
    (tmp_path / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert project_of_file(str(tmp_path / "below" / "words.py")) is None


def test_a_broken_config_json_of_ours_is_told(root: Path) -> None:
    """A comma too many: file, line and column, the comma's from Python 3.13 on."""
    (root / "config.json").write_text('{"envs": {},}')
    with pytest.raises(UsageError, match=r"config\.json is not JSON: .*line 1 column 1[23]"):
        project_here()


def test_another_config_file_keeps_the_current_folder_as_the_project(root: Path) -> None:
    """`sparse run --config deploy/beta.json`: topologies still come from this folder."""
    (root / "deploy").mkdir()
    (root / "deploy" / "beta.json").write_text(json.dumps(CONFIG))
    project = required(project_here("deploy/beta.json"), "this")
    assert project.root == str(root)
    with pytest.raises(UsageError, match=r"nowhere\.json cannot be read: No such file"):
        project_here("nowhere.json")


def test_a_config_file_elsewhere_brings_its_own_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """From a folder that is no project, --config names the project."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert required(project_here(str(root / "config.json")), "this").root == str(root)


def test_a_broken_config_json_is_named_where_a_project_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"none of the keys of a project \(topology_sp"):
        required(project_here(), "-e prod")
