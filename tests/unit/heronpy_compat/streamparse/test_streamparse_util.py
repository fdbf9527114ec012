"""A project's config.json as users' fabfiles read it: environments and topologies by name."""

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from heron_core.errors import UsageError
from heronpy_compat.streamparse import util

Write = Callable[[str, str], str]


@pytest.fixture(autouse=True)
def unread_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "_config", None)


def config_of(**environments: Any) -> io.StringIO:
    return io.StringIO(json.dumps({"topology_specs": "topologies/", "envs": environments}))


def test_the_config_is_read_once(write: Write) -> None:
    write("config.json", '{"envs": {"prod": {"nimbus": "n1"}}}')
    assert util.get_config()["envs"] == {"prod": {"nimbus": "n1"}}
    assert util.get_config(config_of(other={}))["envs"] == {"prod": {"nimbus": "n1"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "config.json not found: run this"), ("{", "config.json is not JSON: Exp")],
)
def test_a_config_that_cannot_be_read(write: Write, text: str | None, message: str) -> None:
    write("elsewhere.json" if text is None else "config.json", text or "")
    with pytest.raises(UsageError, match=message):
        util.get_config()


def test_the_only_environment_needs_no_name() -> None:
    assert util.get_env_config(config_file=config_of(prod={"a": 1})) == ("prod", {"a": 1})


def test_environments_are_chosen_by_name() -> None:
    util.get_config(config_of(beta={"b": 1}, prod={"a": 1}))
    assert util.get_env_config("beta") == ("beta", {"b": 1})
    with pytest.raises(UsageError, match="more than one environment: choose one with -e, beta, pr"):
        util.get_env_config()
    with pytest.raises(UsageError, match="no environment 'prood'; did you mean 'prod'"):
        util.get_env_config("prood")


def test_topologies_are_files_of_the_project(write: Write) -> None:
    util.get_config(config_of())
    with pytest.raises(UsageError, match="topologies/ has no topology"):
        util.get_topology_definition()
    write("topologies/first.py", "")
    assert util.get_topology_definition() == ("first", "topologies/first.py")
    write("topologies/second.py", "")
    assert util.get_topology_definition("second") == ("second", "topologies/second.py")
    with pytest.raises(UsageError, match="more than one topology: choose one with -n, first, sec"):
        util.get_topology_definition()
    with pytest.raises(UsageError, match="no topology 'third'; topologies: first, second"):
        util.get_topology_definition("third")


def test_a_topology_class_comes_from_its_file_and_the_sources_beside(write: Write) -> None:
    write("src/parts.py", "from heronpy_compat.streamparse import Spout\n"
          "class Words(Spout):\n    outputs = ['word']\n")  # fmt: skip
    file = write(
        "topologies/one_topology.py",
        "from heronpy_compat.streamparse import Topology\nfrom parts import Words\n"
        "class One(Topology):\n    words = Words.spec()\n"
        "class Two(Topology):\n    words = Words.spec()\n",
    )
    assert util.get_topology_from_file(file) is sys.modules["one_topology"].One
    with pytest.raises(ValueError, match="has no topology: define a class"):
        util.get_topology_from_file(write("topologies/no_topology.py", ""))


def test_the_address_of_nimbus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STREAMPARSE_NIMBUS", raising=False)
    assert util.get_nimbus_host_port({"nimbus": "n1"}) == ("n1", 6627)
    assert util.get_nimbus_host_port({"nimbus": "n1:7"}) == ("n1", 7)
    assert util.is_ssh_for_nimbus({}) is True
    assert util.is_ssh_for_nimbus({"use_ssh_for_nimbus": False}) is False
    for wrong in ("", "n1:x", ":7"):
        with pytest.raises(UsageError, match="must be HOST or HOST:PORT"):
            util.get_nimbus_host_port({"nimbus": wrong})
    monkeypatch.setenv("STREAMPARSE_NIMBUS", "n2:8")
    assert util.get_nimbus_host_port({"nimbus": "n1"}) == ("n2", 8)


def test_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "count", "tasks": 12}, ["x", 3]]
    util.print_stats_table("Bolts", rows, ["name", "tasks"], custom_alignment={"tasks": "r"})
    util.print_stats_table("One", {"a": 1}, ["a", "b"])
    assert capsys.readouterr().out.splitlines() == [
        "# Bolts",
        "| name  | tasks |",
        "| ===== | ===== |",
        "| count |    12 |",
        "| x     |     3 |",
        "# One",
        "| a | b       |",
        "| = | ======= |",
        "| 1 | MISSING |",
    ]


def test_die_and_warn(capsys: pytest.CaptureFixture[str]) -> None:
    util.warn("soon")
    with pytest.raises(SystemExit) as caught:
        util.die("now", 3)
    assert caught.value.code == 3
    assert capsys.readouterr().out == "warning: soon\nerror: now\n"
