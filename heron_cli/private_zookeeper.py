"""The private ZooKeeper of one run (`--zookeeper embedded`), readable by its user only.

    ~/.heronpy/zookeepers/NUMBER/      data, log and config of one server, for its owner alone
    ~/.heronpy/zookeepers/NUMBER/run   JSON: address, credentials, and whose server it is

A topology's nodes contain the key of its processes, so the server of a run gets random
credentials. Further commands of the user find the credentials here by the address.
"""

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heron_engine.scheduler.user_folder import Home
from heron_io.processes import started_at
from heron_io.state_store.zookeeper_access import CREDENTIALS_VARIABLE

RUN_FILE = "run"


@contextmanager
def private_zookeeper(home: Home) -> Iterator[tuple[str, str]]:
    """A server for the run: its address, and the folder to remove at the end. Folders of killed
    runs are removed first."""
    from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper

    os.makedirs(home.zookeepers, mode=0o700, exist_ok=True)
    remove_left(home)
    folder = tempfile.mkdtemp(dir=home.zookeepers)
    # The process and its children share the environment: all of them belong to the run.
    credentials = os.environ.setdefault(CREDENTIALS_VARIABLE, new_credentials())
    with EmbeddedZooKeeper(folder) as server:
        run = {
            "address": server.address,
            "credentials": credentials,
            "pid": os.getpid(),
            "started": started_at(os.getpid()),
        }
        descriptor = os.open(os.path.join(folder, RUN_FILE), os.O_WRONLY | os.O_CREAT, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(run, file)
        yield server.address, folder


def new_credentials() -> str:
    """A random USER:PASSWORD."""
    return f"heronpy:{secrets.token_hex(16)}"


def remove_left(home: Home) -> None:
    """Remove the folders of servers whose run was killed before its cleanup."""
    for folder in _folders(home):
        run = _run_of(folder)
        # A folder without a file was created just now, or its run was killed immediately: both are
        # small.
        if run and started_at(run["pid"]) != run["started"]:
            shutil.rmtree(folder, ignore_errors=True)


def find_credentials(home: Home, zookeeper: str) -> str | None:
    """The credentials of the server at HOST:PORT[/ROOT], if the server belongs to a run of the
    user."""
    address = zookeeper.partition("/")[0]
    runs = map(_run_of, _folders(home))
    return next((run["credentials"] for run in runs if run.get("address") == address), None)


def _folders(home: Home) -> list[str]:
    try:
        return [each.path for each in os.scandir(home.zookeepers)]
    except OSError:
        return []


def _run_of(folder: str) -> dict[str, Any]:
    """Content of a run's file; empty if missing or incomplete."""
    try:
        with open(os.path.join(folder, RUN_FILE), encoding="utf-8") as file:
            run: dict[str, Any] = json.load(file)
            return run
    except (OSError, ValueError):
        return {}
