"""Who may serve and ask; what a service on the network needs before it starts."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from heron_cli.main import heronpy
from heron_core.errors import HeronError, UsageError
from heron_core.loopback import is_loopback
from heron_tracker.auth.access import ANYBODY, Refusal, refusal, token_of
from heron_tracker.options import BODY_BYTES_MAX, TrackerOptions
from heron_tracker.stacks import answer_of


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True), ("127.8.9.1", True), ("localhost", True), ("[::1]", True),
        ("::1", True), ("0.0.0.0", False), ("10.0.0.7", False), ("localhost.evil", False),
        ("127.0.0.1.evil", False), ("", False),
    ],
)  # fmt: skip
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    "text", ["", "short", "two words of a token", "ein Schlüssel mit ü", "a;token-with-cookies"]
)
def test_what_is_no_token(text: str) -> None:
    with pytest.raises(UsageError, match="invalid token in t: it must be one line of at least 16"):
        token_of(text, "t")


def test_a_length_that_is_none() -> None:
    """Neither too long nor nonsense is read."""
    host = {"host": "127.0.0.1"}
    for length in (str(BODY_BYTES_MAX + 1), "-1", "9" * 100, "x", ""):
        refused = refused_by({**host, "content-length": length})
        assert refused is not None
        assert refused.status == 413
    assert refused_by({**host, "content-length": "9"}) is None


def refused_by(headers: dict[str, str]) -> Refusal | None:
    """Of a service without login."""
    return refusal("POST", "/", headers, TrackerOptions(), ANYBODY)


def refused(*arguments: str) -> str:
    """The error of `heronpy ui` with these arguments."""
    with pytest.raises((HeronError, click.ClickException)) as error:
        CliRunner().invoke(
            heronpy, ["ui", *arguments], catch_exceptions=False, standalone_mode=False
        )
    return str(error.value)


def test_the_command_refuses_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert "lets others in" in refused("--host", "0.0.0.0")
    assert "cannot be read: No such file" in refused("--token-file", "none.txt")
    issuer = ("--openid-issuer", "https://issuer.example")
    assert "needs --openid-audience" in refused(*issuer)
    operator = (*issuer, "--openid-audience", "heronpy", "--openid-operator", "ops")
    assert "--openid-operator 'ops' is not CLAIM=VALUE" in refused(*operator)


def test_without_the_extra_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if FastAPI were not installed."""
    import sys

    for name in [each for each in sys.modules if each.startswith("heron_tracker.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert refused() == "`heronpy ui` needs uvicorn: pip install 'heronpy-topologies[ui]'"


def test_what_the_end_of_py_spy_means() -> None:
    """A stack, or one line that says how to get one."""
    command = ["py-spy", "dump", "--pid", "7"]
    assert answer_of(command, 7, 0, "Thread 7 (active)", "")["stdout"] == "Thread 7 (active)"
    with pytest.raises(HeronError, match=r"into process 7: run the service as root, or `sysctl"):
        answer_of(command, 7, 1, "", "Permission Denied: Try running again with elevated…")
    with pytest.raises(HeronError, match="py-spy has failed: Error: no such process"):
        answer_of(command, 7, 1, "", "warning\nError: no such process\n")
