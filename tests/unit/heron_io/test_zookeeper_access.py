"""What the environment says of ZooKeeper's users, passwords and certificates."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from heron_core.errors import UsageError
from heron_io.state_store.zookeeper_access import Access, clear_text_warning


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file that can be read."""
    (tmp_path / "file.pem").touch()
    return str(tmp_path / "file.pem")


def test_nothing_is_asked_of_anybody() -> None:
    assert Access.of({"HERONPY_ZOOKEEPER_AUTH": ""}).client_options() == {}


def test_each_way_to_say_who_we_are_makes_nodes_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puresasl", ModuleType("puresasl"))
    digest = Access.of({"HERONPY_ZOOKEEPER_AUTH": "ada:s"}).client_options()
    assert digest["auth_data"] == [("digest", "ada:s")]
    sasl = Access.of({"HERONPY_ZOOKEEPER_SASL": "ada:s:t"}).client_options()
    assert sasl["sasl_options"]["password"] == "s:t"
    monkeypatch.setitem(sys.modules, "puresasl", None)
    with pytest.raises(UsageError, match=r"pip install 'heronpy-topologies\[sasl\]'"):
        Access(sasl="ada:s").client_options()
    schemes = [[each.id.scheme for each in options["default_acl"]] for options in (digest, sasl)]
    assert schemes == [["digest"], ["sasl"]]


def test_tls_checks_the_servers_and_shows_a_certificate_of_our_own(file: str) -> None:
    options = Access(ca=file, certificate=file, key=file).client_options()
    assert options == {
        "use_ssl": True, "ca": file, "check_hostname": True, "certfile": file, "keyfile": file,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"AUTH": "ada"}, "HERONPY_ZOOKEEPER_AUTH must be USER:PASSWORD"),
        ({"SASL": ":s"}, "HERONPY_ZOOKEEPER_SASL must be USER:PASSWORD"),
        ({"TLS_CA": "/nowhere"}, "HERONPY_ZOOKEEPER_TLS_CA names /nowhere, which cannot be read"),
        ({"TLS_CERT": __file__}, "_TLS_CERT and HERONPY_ZOOKEEPER_TLS_KEY go together: set both"),
        ({"TLS_CERT": __file__, "TLS_KEY": __file__}, "is for TLS: set HERONPY_ZOOKEEPER_TLS_CA"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(environment: dict[str, str], line: str) -> None:
    found = {f"HERONPY_ZOOKEEPER_{name}": value for name, value in environment.items()}
    with pytest.raises(UsageError, match=line):
        Access.of(found).client_options()


def test_secrets_that_go_to_another_host_in_clear_are_told() -> None:
    auth = {"HERONPY_ZOOKEEPER_AUTH": "ada:s"}
    for here in ("file:///x", "zk://127.0.0.1:2181", "zk://localhost:1,[::1]:2/heron"):
        assert clear_text_warning(here, auth) == ""
    away = "zk://127.0.0.1:1,zk1:2181,[fe80::1]:2/heron"
    assert clear_text_warning(away, auth) == (
        "the password and the topology's key travel in clear to ZooKeeper at zk1:2181, "
        "[fe80::1]:2: set HERONPY_ZOOKEEPER_TLS_CA (docs/DEPLOY.md, Security)"
    )
    sasl = clear_text_warning(away, {"HERONPY_ZOOKEEPER_SASL": "ada:s"})
    assert sasl.startswith("the topology's key travels in clear to ZooKeeper at zk1:2181")
    assert clear_text_warning(away, {**auth, "HERONPY_ZOOKEEPER_TLS_CA": "x"}) == ""
