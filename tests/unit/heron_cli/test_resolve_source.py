"""From FILE, -n, -e and --config to the loaded topology and its name."""

import json
from pathlib import Path

import pytest

from heron_cli.options.source import SourceOptions
from heron_cli.resolve_source import resolve
from heron_core.errors import UsageError
from heron_core.java_properties import parse_properties

CONFIG = {"envs": {"prod": {"options": {"a": 1}}, "beta": {}}}


def options(
    file: str | None = None, name: str | None = None, environment: str | None = "prod"
) -> SourceOptions:
    """What the command line says; everything else is left out."""
    return SourceOptions(file, name, environment, None)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with one topology file."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "words.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_projects_topology_is_called_like_its_file(root: Path) -> None:
    """As in sparse, whatever the class in it is called."""
    found = resolve(options())
    assert found.name == "words"
    assert found.request.file == str(root / "topologies" / "words.py")
    assert found.request.name is None
    assert found.request.environment == "prod"
    assert found.environment.options == {"a": 1}
    assert resolve(options(name="words")).request == found.request


def test_another_name_is_a_topology_in_the_only_file(root: Path) -> None:
    """The file has two classes, and its error says `choose one with -n A or B`."""
    found = resolve(options(name="B"))
    assert (found.name, found.request.name) == ("B", "B")
    (root / "topologies" / "clicks.py").write_text("")
    with pytest.raises(UsageError, match="no topology 'B'; topologies: clicks, words"):
        resolve(options(name="B"))


def test_a_file_in_a_project_has_its_environment_and_its_own_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run from elsewhere: the project's src is found, -n picks a topology in the file."""
    monkeypatch.chdir("/")
    found = resolve(options(str(root / "topologies" / "words.py"), "B"))
    assert (found.name, found.request.name) == (None, "B")
    assert str(root / "src") in found.request.search_paths
    assert found.environment.name == "prod"
    with pytest.raises(UsageError, match="has 2 environments"):
        resolve(options(str(root / "topologies" / "words.py"), environment=None))


def test_a_file_of_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is needed but the file; -e without a project is a mistake."""
    monkeypatch.chdir(tmp_path)
    found = resolve(options("lines.py", environment=None))
    assert (found.request.file, found.request.search_paths) == ("lines.py", ())
    assert (found.project, found.environment.name) == (None, None)
    with pytest.raises(UsageError, match="-e prod needs a project"):
        resolve(options("lines.py"))
    with pytest.raises(UsageError, match="without FILE this command needs a project"):
        resolve(options(environment=None))


def test_properties_of_a_flux_file(tmp_path: Path) -> None:
    """--property comes before --filter."""
    file = tmp_path / "dev.properties"
    file.write_text("# dev\n! too\nhost: a=b\nport = 80\n\nempty\npath=c:d\n")
    found = resolve(
        SourceOptions("x.yaml", None, None, None, str(file), ("port=81", "new=x=y"), True)
    ).request
    assert found.properties == {
        "host": "a=b", "port": "81", "empty": "", "path": "c:d", "new": "x=y",
    }  # fmt: skip
    assert found.use_environment is True
    with pytest.raises(UsageError, match="--property 'port' is not NAME=VALUE"):
        resolve(SourceOptions("x.yaml", None, None, None, None, ("port",)))
    with pytest.raises(UsageError, match=r"--filter nowhere cannot be read: No such file"):
        resolve(SourceOptions("x.yaml", None, None, None, "nowhere"))


def test_a_property_ends_at_the_first_sign() -> None:
    """Java takes = and :, whichever comes first."""
    assert parse_properties(["a=b:c", "d:e=f"]) == {"a": "b:c", "d": "e=f"}


def test_lines_go_on_and_characters_are_escaped() -> None:
    """As java.util.Properties reads them."""
    lines = [
        "a = b, \\\n",
        "    c\n",
        "# no\\\n",
        "key\\ with\\=signs value\n",
        "t=\\t\\u00e4\\\\\n",
    ]
    assert parse_properties(lines) == {"a": "b, c", "key with=signs": "value", "t": "\t\u00e4\\"}
