"""A Postgres for tests: a new cluster in a folder of its own, on a Unix socket, as a user without
rights, gone with the process that started it."""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

MISSING = "Postgres is not installed (Debian: apt-get install postgresql)"
DEADLINE_SECS = 60.0
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
    "max_replication_slots": "20",
}


def binaries() -> Path | None:
    """The folder of the newest server that is installed; None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: each.parts[4])
    on_path = shutil.which("initdb")
    found += [Path(on_path).resolve()] if on_path else []
    return found[-1].parent if found else None


class Server:
    """One that runs."""

    def __init__(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._who: dict[str, Any] = {}
        if os.getuid() == 0:
            user = pwd.getpwnam(UNPRIVILEGED)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        data = str(self.folder / "data")
        made = [str(programs / "initdb"), "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run([*made, "--locale=C"], check=True, capture_output=True, cwd="/", **self._who)
        settings = [text for pair in _SETTINGS.items() for text in ("-c", "=".join(pair))]
        self._log = (self.folder / "log").open("wb")
        self._process = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", str(self.folder), *settings],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd="/",
            **self._who,
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + DEADLINE_SECS
        while True:
            try:
                self.connection().close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < deadline, (self.folder / "log").read_text()
                time.sleep(0.05)

    @property
    def arguments(self) -> dict[str, str]:
        """Those of `psycopg.connect`."""
        return {"host": str(self.folder), "user": USER, "dbname": "postgres"}

    def connection(self, schema: str = "public") -> psycopg.Connection[Any]:
        """One that commits each statement."""
        options = f"-csearch_path={schema}"
        return psycopg.connect(**self.arguments, options=options, autocommit=True)  # type: ignore[arg-type]

    def stop(self) -> None:
        """It and its files are gone."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(DEADLINE_SECS)
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def server() -> Server:
    """That of this process; AssertionError if Postgres is not installed."""
    programs = binaries()
    assert programs is not None, MISSING
    found = Server(programs)
    atexit.register(found.stop)
    return found
