"""A Postgres for tests: a new cluster in a folder of its own, on a Unix socket, as a user without
rights, removed at the end of the process."""

import atexit
import os
import pwd
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.leftovers import leftovers

MISSING = "Postgres is not installed (Debian: apt-get install postgresql)"
DEADLINE_SECS = 60
USER = "heron"
UNPRIVILEGED = "nobody"
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "16MB",
    "timezone": "UTC",
    "wal_level": "logical",
    "max_replication_slots": "400",
}


def binaries() -> Path | None:
    """The folder of the newest installed server, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: each.parts[4])
    on_path = shutil.which("initdb")
    found += [Path(on_path).resolve()] if on_path else []
    return found[-1].parent if found else None


WHERE_POSTGRES_IS = [
    pytest.mark.skipif(binaries() is None, reason=MISSING),
    # Killed connections are not closed.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
"""Marks of tests that kill readers and writers of Postgres."""


class Server:
    """A running server."""

    def __init__(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        leftovers().add(word=str(self.folder), folder=str(self.folder))
        self._how: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        if os.getuid() == 0:
            user = pwd.getpwnam(UNPRIVILEGED)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._how |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        data = str(self.folder / "data")
        made = [str(programs / "initdb"), "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "-N"]
        self._run([*made, "--locale=C"])
        settings = " ".join(f"-c {name}={value or repr('')}" for name, value in _SETTINGS.items())
        self._control = [str(programs / "pg_ctl"), "-D", data, "-w", "-t", str(DEADLINE_SECS)]
        log = str(self.folder / "log")
        self._start = ["-l", log, "-o", f"-k {self.folder} {settings}", "start"]
        self._run([*self._control, *self._start])

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(command, check=False, cwd="/", **self._how)
        assert done.returncode == 0, command

    @property
    def arguments(self) -> dict[str, str]:
        """Arguments of `psycopg.connect`."""
        return {"host": str(self.folder), "user": USER, "dbname": "postgres"}

    def connection(self, schema: str = "public") -> psycopg.Connection[Any]:
        """A connection with a commit for each statement."""
        options = f"-csearch_path={schema}"
        return psycopg.connect(**self.arguments, options=options, autocommit=True)  # type: ignore[arg-type]

    def promote(self) -> None:
        """Promote a standby: another timeline of its log begins, all sessions end."""
        self._run([*self._control, "-m", "fast", "stop"])
        signal = self.folder / "data" / "standby.signal"
        signal.touch()
        if "user" in self._how:
            shutil.chown(signal, self._how["user"], self._how["group"])
        self._run([*self._control, *self._start])
        self._run([*self._control, "promote"])

    def stop(self) -> None:
        """Stop the server and remove all files."""
        self._run([*self._control, "-m", "immediate", "stop"])
        shutil.rmtree(self.folder, ignore_errors=True)
        leftovers().discard(word=str(self.folder), folder=str(self.folder))


@cache
def server() -> Server:
    """The server of this process; AssertionError if Postgres is not installed."""
    programs = binaries()
    assert programs is not None, MISSING
    found = Server(programs)
    atexit.register(found.stop)
    return found
