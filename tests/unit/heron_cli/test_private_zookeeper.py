"""Whose ZooKeeper it is: no topology's key where everybody may read it, unless somebody says so."""

import json
import os
from pathlib import Path

import pytest

from heron_cli.options.state_store import check_private, store_url
from heron_cli.private_zookeeper import find_credentials, new_credentials, remove_left
from heron_core.errors import UsageError
from heron_engine.scheduler.user_folder import Home
from heron_io.processes import started_at
from heron_io.state_store.zookeeper_access import CREDENTIALS_VARIABLE

SHARED = "zk://zk1:2181/heron"


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody has set any, and the user's folder is empty."""
    monkeypatch.setenv(CREDENTIALS_VARIABLE, "to be removed again at the end")
    monkeypatch.delenv(CREDENTIALS_VARIABLE)
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))


def left_by(home: Home, name: str, pid: int, started: str | None) -> Path:
    """The folder of a run with a ZooKeeper of its own."""
    folder = Path(home.zookeepers) / name
    folder.mkdir(parents=True)
    run = {"address": f"127.0.0.1:{name}", "credentials": "a:b", "pid": pid, "started": started}
    (folder / "run").write_text(json.dumps(run))
    return folder


def test_a_zookeeper_without_credentials_is_refused() -> None:
    # Somebody submits to the ZooKeeper that his Storm used: every user of the network reads it.
    with pytest.raises(UsageError, match=r"set HERONPY_ZOOKEEPER_AUTH=.* or give --insecure"):
        check_private(SHARED, insecure=False)
    check_private(SHARED, insecure=True)
    check_private("file:///home/me/.heronpy/state", insecure=False)


def test_a_zookeeper_with_credentials_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CREDENTIALS_VARIABLE, "me:secret")
    check_private(SHARED, insecure=False)


def test_another_command_finds_the_credentials_of_a_run() -> None:
    # `heronpy stats --zookeeper 127.0.0.1:4000` beside `heronpy run --zookeeper embedded`.
    home = Home.of_user()
    left_by(home, "4000", os.getpid(), started_at(os.getpid()))
    assert find_credentials(home, "127.0.0.1:4000/heron") == "a:b"
    assert find_credentials(home, "127.0.0.1:4001") is None
    assert store_url("127.0.0.1:4000") == "zk://127.0.0.1:4000"
    assert os.environ[CREDENTIALS_VARIABLE] == "a:b"


def test_what_killed_runs_have_left_goes_with_the_next_one() -> None:
    # Command and scheduler were killed together: nobody was left to remove the server's data.
    home = Home.of_user()
    ours = left_by(home, "1", os.getpid(), started_at(os.getpid()))
    reused = left_by(home, "2", os.getpid(), "another time")
    made = Path(home.zookeepers) / "3"
    made.mkdir()
    remove_left(home)
    assert (ours.exists(), reused.exists(), made.exists()) == (True, False, True)


def test_credentials_are_random() -> None:
    assert new_credentials() != new_credentials()
