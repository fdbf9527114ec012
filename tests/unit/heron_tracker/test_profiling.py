"""Storm's profiling, with a stand-in of py-spy."""

import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.stats import RegisteredStats
from heron_tracker import profiling
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.options import TrackerOptions
from tests.unit.heron_tracker.client_support import Asked
from tests.unit.heron_tracker.tracker_support import snapshot, stats

# A shell would not do: a shell cannot trap a signal ignored at its start, like SIGINT in a script's
# children started with `&`. py-spy sets its handler.
RECORDS = f"""#!{sys.executable} -IS
import os, signal, sys

def end(*_):
    with open(sys.argv[-1], "w") as out:
        out.write("main;work 7\\n")
    os._exit(0)

signal.signal(signal.SIGINT, end)
with open(os.path.join(os.path.dirname(sys.argv[0]), "ready"), "w") as ready:
    ready.write("ready\\n")
while True:
    signal.pause()
"""
DENIED = """#!/bin/sh
echo "Error: Permission Denied: Try running again with elevated permissions" >&2
exit 1
"""
PREFIX = "/api/v1/topology/words/profiling"


def found(name: str) -> TopologySnapshot:
    """Container 2 is on this machine, and its instances are children of our parent."""
    here = {2: RegisteredStats(host=socket.gethostname(), pid=91, secs=60.0)}
    return snapshot(stats(instances={4: {"pid": os.getpid()}, 5: {}}, registered=here))


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """The service, whose temporary files are the test's."""
    monkeypatch.setattr(profiling, "REFUSED_SECS", 0.05)
    monkeypatch.setattr(profiling, "program", lambda: str(tmp_path / "py-spy"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = Asked(found)
    yield made
    made.service.profilers.close()
    made.close()


def install(folder: Path, program: str) -> None:
    """In the place of py-spy."""
    path = folder / "py-spy"
    path.write_text(program)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_worker_is_profiled_until_it_is_stopped(asked: Asked, tmp_path: Path) -> None:
    install(tmp_path, RECORDS)
    ready = tmp_path / "ready"
    os.mkfifo(ready)  # reading waits until the program takes signals
    worker = f"{socket.gethostname()}:2"
    assert asked.get(f"{PREFIX}/stop/{worker}").status == 404
    begun = asked.get(f"{PREFIX}/start/{worker}/5").json
    assert (begun["status"], begun["id"], begun["timeout"]) == ("ok", worker, "5")
    assert "is being profiled" in asked.get(f"{PREFIX}/start/{worker}/5").json["errorMessage"]
    assert ready.read_text() == "ready\n"
    dumped = asked.get(f"{PREFIX}/dumpprofile/{worker}").json
    assert asked.get(dumped["dumplink"]).text == "main;work 7\n"
    assert ready.read_text() == "ready\n"  # it goes on
    assert asked.get(f"{PREFIX}/stop/{worker}").json["status"] == "ok"
    assert asked.get(begun["dumplink"]).text == "main;work 7\n"
    assert not list(tmp_path.glob("heronpy-*"))
    for path in ("start/nowhere/5", "start/there-9/5", f"start/{worker}/0", "dumps/there-9"):
        assert asked.get(f"{PREFIX}/{path}").status in {400, 404}


def test_where_py_spy_may_not_look_one_line_says_what_allows_it(
    asked: Asked, tmp_path: Path
) -> None:
    install(tmp_path, DENIED)
    refused = asked.get(f"{PREFIX}/start/{socket.gethostname()}-2/5")
    assert refused.status == 503
    assert "ptrace_scope=0" in refused.json["errorMessage"]
    assert not list(tmp_path.glob("heronpy-*"))


def test_another_site_s_picture_starts_no_profiler(asked: Asked) -> None:
    """A GET, as in Storm, and yet limited to operators."""
    path = f"{PREFIX}/start/{socket.gethostname()}-2/5"
    assert asked.get(path, sec_fetch_site="cross-site").status == 403
    by_reader = Asked(found, options=TrackerOptions(token="o" * 20, read_token="r" * 20))
    assert by_reader.get(path, authorization=f"Bearer {'r' * 20}").status == 403
    by_reader.close()
