"""Meaning of an environment of config.json; keys of streamparse 5 and our `zookeeper`."""

from typing import Any

import pytest

from heron_cli.environment import NIMBUS_VARIABLE, NamedEnvironment, environment_of
from heron_cli.project import Project
from heron_core.errors import UsageError


@pytest.fixture(autouse=True)
def no_nimbus(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user of the tests may use sparse."""
    monkeypatch.delenv(NIMBUS_VARIABLE, raising=False)


def project(envs: Any, **more: Any) -> Project:
    """A project with the given environments."""
    return Project("/p", "/p/config.json", {"envs": envs, **more})


def only(**config: Any) -> NamedEnvironment:
    """The environment of a project with a single one."""
    return environment_of(project({"prod": config}), None)


def test_one_environment_is_taken_and_several_are_not() -> None:
    """As in sparse; the errors name the environments."""
    assert environment_of(project({"prod": {}}), None).name == "prod"
    two = project({"prod": {}, "beta": {}})
    assert environment_of(two, "beta").name == "beta"
    with pytest.raises(UsageError, match=r"has 2 environments: choose one with -e \(prod, beta\)"):
        environment_of(two, None)
    with pytest.raises(UsageError, match="no environment 'bete'; did you mean 'beta'"):
        environment_of(two, "bete")


def test_a_project_may_have_no_environment() -> None:
    """A project of heronpy needs none, unless requested."""
    assert environment_of(project({}), None) == NamedEnvironment()
    with pytest.raises(UsageError, match="no environment 'prod'; environments: none"):
        environment_of(project({}), "prod")


def test_options_and_log_settings_become_config() -> None:
    """`log` in its new and its old spelling (log_path, log_file); empty values are ignored."""
    found = only(
        options={"topology.max.spout.pending": 5},
        log={"path": "/var/log/x", "level": "WARNING", "max_bytes": 1000, "backup_count": 0,
             "file": ""},
        log_path="/old",
        log_file="old.log",
    )  # fmt: skip
    assert found.options == {
        "topology.max.spout.pending": 5,
        "pystorm.log.path": "/var/log/x",
        "pystorm.log.file": "old.log",
        "pystorm.log.level": "warning",
        "pystorm.log.max_bytes": 1000,
        "pystorm.log.backup_count": 0,
    }


def test_what_has_no_meaning_here_is_named_if_it_says_something() -> None:
    """The empty values that `sparse quickstart` writes are not reported."""
    assert only(user="", ssh_password="", nimbus="", workers=[], virtualenv_root="").ignored == ()
    found = only(user="storm", nimbus="head:6627", workers=["a"], use_virtualenv=False)
    assert found.ignored == ("user", "nimbus", "workers")
    assert found.zookeeper is None


def test_zookeeper_is_our_own_key_or_a_nimbus_of_its_scheme(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """STREAMPARSE_NIMBUS comes before the file's nimbus; a Storm Nimbus is no ZooKeeper."""
    assert only(zookeeper="z:2181/x").zookeeper == "z:2181/x"
    assert only(nimbus="zk://z:2181").zookeeper == "z:2181"
    assert only(nimbus="zk://z:2181").ignored == ()
    monkeypatch.setenv(NIMBUS_VARIABLE, "zk://other:1")
    found = only(nimbus="head")
    assert found.zookeeper == "other:1"
    assert found.config["nimbus"] == "zk://other:1"


@pytest.mark.parametrize(
    ("envs", "more", "expected"),
    [
        (["prod"], {}, "envs must map names to objects"),
        ({"prod": "x"}, {}, "envs must map names to objects"),
        ({"prod": {"options": ["a"]}}, {}, r"options must be an object, not \['a'\]"),
        ({"prod": {"log": "x"}}, {}, "log must be an object"),
        ({"prod": {}}, {"serializer": "xml"}, "serializer must be json or msgpack, not 'xml'"),
        ({"prod": {"serializer": 1}}, {"serializer": "json"}, "serializer must be"),
    ],
)
def test_wrong_values_are_told(envs: Any, more: dict[str, Any], expected: str) -> None:
    """A mistake in config.json is told with the file's name."""
    with pytest.raises(UsageError, match=rf"/p/config\.json: {expected}"):
        environment_of(project(envs, **more), None)
