"""A dead topology is a firing alert of a real Prometheus, with its reason, within 30 s."""

import json
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.process.conftest import place
from tests.process.process_support import TOPOLOGIES, Place, Running, until
from tests.prometheus.needs import missing

__all__ = ["place"]

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "it is here")

FIRING_SECS = 30.0
"""From the death of a topology until its alert fires: the promise of docs/RUNBOOK.md."""
BUSY_SECS = 60.0
"""Allowance for load of the machine; the measured time is in the message of a failure."""
FAILING = """
from heronpy_compat import Spout, Topology

class Words(Spout):
    outputs = ["word"]

    def initialize(self, config, context):
        raise ValueError("there is no source")

    def next_tuple(self):
        pass

class Failing(Topology):
    words = Words.spec()
"""


@contextmanager
def prometheus(folder: Path, scraped: str, rules: Path) -> Iterator[httpx.Client]:
    """A server as docs/RUNBOOK.md configures it."""
    config = folder / "prometheus.yml"
    config.write_text(
        json.dumps(
            {
                "global": {"evaluation_interval": "5s"},
                "rule_files": [str(rules)],
                "scrape_configs": [
                    {
                        "job_name": "heronpy",
                        "scrape_interval": "5s",
                        "static_configs": [{"targets": [scraped]}],
                    }
                ],
            }
        )
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = (
        f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
    )  # fmt: skip
    program = str(shutil.which("prometheus"))
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen((program, *words), stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20.0) as client:
            yield client
    finally:
        process.terminate()
        process.wait(40.0)


def service(place: Place) -> str:
    """host:port of `heronpy ui`."""
    running: Running = place.start("ui", "--port", 0)
    pattern = r"serving at http://(\S+)"
    return running.until(lambda: re.search(pattern, running.out), "it serves")[1]


def samples(client: httpx.Client, query: str) -> list[Any]:
    """Present result of a query; empty while the server starts."""
    try:
        answer = client.get("/api/v1/query", params={"query": query})
    except httpx.TransportError:
        return []
    return list(answer.json()["data"]["result"]) if answer.is_success else []


def firing(client: httpx.Client, name: str, topology: str) -> dict[str, str] | None:
    """Labels of an alert firing for a topology."""
    query = f'ALERTS{{alertname="{name}",topology="{topology}",alertstate="firing"}}'
    found = samples(client, query)
    return dict(found[0]["metric"]) if found else None


def killed(place: Place, topology: str) -> None:
    """SIGKILL for all processes of the topology at once, as a host's lack of power has it."""
    roles = ("guardian", "scheduler")
    starts = tuple(f"heron: {role} ({topology})" for role in roles)
    found = [each for each in place.processes() if " ".join(each.cmdline()).startswith(starts)]
    assert len(found) == len(roles)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for each in found:
            each.send_signal(number)
    psutil.wait_procs(found, 20.0)


def test_a_topology_that_dies_is_a_firing_alert(place: Place, tmp_path: Path) -> None:
    """A topology fails by itself, another by kills of its processes, beside a healthy one without a
    firing alert."""
    rules = tmp_path / "heronpy-alerts.yml"
    rules.write_text(place.heronpy("ui", "--alert-rules").succeeded().out)
    alive, lost, failing = (f"{place.name}-{word}" for word in ("alive", "lost", "failing"))
    for name in (alive, lost):
        place.heronpy(
            "submit", TOPOLOGIES / "forever.py", "-n", "Forever", "-N", name, secs=60.0
        ).succeeded()
    with prometheus(tmp_path, service(place), rules) as client:
        running = 'count(heron_topology_state{state="RUNNING"}) == 2'
        until(lambda: samples(client, running), "both are scraped")
        file = place.path / "failing.py"
        file.write_text(FAILING, "utf-8")
        began = time.monotonic()
        killed(place, lost)
        until(lambda: firing(client, "HeronTopologyOver", lost), "it fires", BUSY_SECS)
        lost_secs = time.monotonic() - began
        place.heronpy("submit", file, "-N", failing, "-o", "topology.restart.limit=0")
        began = time.monotonic()
        labels = until(lambda: firing(client, "HeronTopologyOver", failing), "it fires", BUSY_SECS)
        failed_secs = time.monotonic() - began
        assert "there is no source" in labels["cause"]
        assert labels["severity"] == "page"
        assert not samples(client, f'ALERTS{{topology="{alive}",severity="page"}}')
        assert max(lost_secs, failed_secs) < FIRING_SECS or psutil.getloadavg()[0] > 4, (
            f"LOST fires after {lost_secs:.1f} s, FAILED after {failed_secs:.1f} s"
        )
        print(f"LOST fires after {lost_secs:.1f} s, FAILED after {failed_secs:.1f} s")
    place.heronpy("kill", alive).succeeded()
    place.heronpy("kill", lost).succeeded()
