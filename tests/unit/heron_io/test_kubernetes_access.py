"""Whom a kubeconfig names, and how it says who we are: kubectl's rules."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import UsageError
from heron_io.kubernetes.access import access_of, namespace_of
from heron_io.kubernetes.credentials import FileToken

CLUSTER = {"name": "c", "cluster": {"server": "http://127.0.0.1:1234/below/"}}


def written(folder: Path, **changes: Any) -> dict[str, str]:
    """An environment with a kubeconfig."""
    document = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
        "clusters": [CLUSTER],
        "users": [{"name": "u", "user": {"token": "t"}}],
        **changes,
    }
    path = folder / "config"
    path.write_text(json.dumps(document))
    return {"KUBECONFIG": str(path)}


def user(**entry: Any) -> list[dict[str, Any]]:
    """The only user."""
    return [{"name": "u", "user": entry}]


def cluster(**entry: Any) -> list[dict[str, Any]]:
    """The only cluster."""
    return [{"name": "c", "cluster": entry}]


def test_a_kubeconfig_names_server_and_namespace(tmp_path: Path) -> None:
    environment = written(tmp_path)
    access = access_of(environment)
    assert access.address == "127.0.0.1:1234/below"
    assert access.credentials.header() == "Bearer t"
    assert access.tls is None
    assert namespace_of(environment) == "n"


def test_the_first_file_that_says_something_counts(tmp_path: Path) -> None:
    # KUBECONFIG=a:b, as people merge the files of several clusters.
    environment = written(tmp_path)
    other = tmp_path / "other"
    other.write_text("current-context: x\nusers: [{name: u, user: {token: first}}]\n")
    both = {"KUBECONFIG": f"{other}:{environment['KUBECONFIG']}:/not/there"}
    assert access_of(both).credentials.header() == "Bearer first"


def test_passwords_and_files_are_credentials(tmp_path: Path) -> None:
    access = access_of(written(tmp_path, users=user(username="a", password="b")))
    assert access.credentials.header() == "Basic YTpi"
    (tmp_path / "token").write_text("from a file\n")
    access = access_of(written(tmp_path, users=user(tokenFile="token")))
    assert access.credentials.header() == "Bearer from a file"


def test_a_refused_token_is_read_again(tmp_path: Path) -> None:
    # A pod's token is replaced every hour.
    path = tmp_path / "token"
    path.write_text("old")
    token = FileToken(str(path))
    assert token.header() == "Bearer old"
    path.write_text("new")
    assert token.header() == "Bearer old"
    token.refuse()
    assert token.header() == "Bearer new"


def plugin(text: str) -> list[dict[str, Any]]:
    """A user whose credentials a program prints, as those of clouds do."""
    variables = [{"name": "A", "value": "b"}]
    return user(exec={"command": sys.executable, "args": ["-c", text], "env": variables})


def test_a_program_prints_credentials(tmp_path: Path) -> None:
    text = (
        "import json, os; question = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "assert question['kind'] == 'ExecCredential';"
        "print(json.dumps({'status': {'token': os.environ['A']}}))"
    )
    access = access_of(written(tmp_path, users=plugin(text)))
    assert access.credentials.header() == "Bearer b"


def test_a_program_that_fails_is_told_in_one_line(tmp_path: Path) -> None:
    access = access_of(written(tmp_path, users=plugin("raise SystemExit('log in first')")))
    with pytest.raises(UsageError, match="log in first"):
        access.credentials.header()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"current-context": ""}, "no current-context"),
    ({"contexts": []}, "no context 'x'"),
    ({"clusters": cluster(server="ftp://x")}, "not an http or https URL"),
    ({"clusters": cluster(**{"server": "https://x", "proxy-url": "y"})}, "is not supported"),
    (
        {"clusters": cluster(**{"server": "https://x", "certificate-authority-data": "?"})},
        "is not base64",
    ),
]


@pytest.mark.parametrize(("changes", "said"), WRONG, ids=lambda value: str(value)[:24])
def test_what_is_wrong_is_told_in_one_line(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        access_of(written(tmp_path, **changes))
    assert "\n" not in str(caught.value)


def test_without_a_kubeconfig_or_a_pod_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match="set KUBECONFIG"):
        access_of({})
    with pytest.raises(UsageError, match="does not exist"):
        access_of({"KUBECONFIG": os.fspath(tmp_path / "nothing")})
    broken = tmp_path / "broken"
    broken.write_text("a: [")
    with pytest.raises(UsageError, match="cannot be read as a kubeconfig"):
        access_of({"KUBECONFIG": str(broken)})
