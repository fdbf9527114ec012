"""CPU of `heronpy ui` for each answer and each page, with 50 topologies, five of them real.

    python -m benchmarks.service_pages [--topologies N] [--real N]

The service is a process of its own, and its CPU is read from /proc before and after: what it does
besides, as asking masters, is in it. The other topologies are simulated masters behind sockets.
Pages are opened in Chromium, whose own CPU does not count. At the end the service is killed with
SIGKILL, and the real topologies have to go on: same processes, more tuples, not a line in a log.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.measure import BenchmarkError
from benchmarks.service_load import questions
from benchmarks.simulated_masters import MasterSockets, SimulatedMaster
from heron_core.stats import EVERY_COMPONENT
from heron_io.master_client import MasterClient
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from scheduler.user_folder import Home

TOPOLOGY = Path(__file__).parent / "topologies" / "paced.py"
REQUESTS = 10
"""Of each route, after a first one: the kernel tells CPU in hundredths of a second."""
OPENINGS = 3
"""Of each page."""
OPEN_SECS = 5.0
"""So long a page is left open to see what it costs a second."""
IDLE_SECS = 10.0
DEADLINE_SECS = 120.0
LIMIT_MS = 300.0
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
PAGES = {
    "/": "topology-0", "": "Critical path", "/component/count": "count[7]",
    "/containers": "count[7]",
    "/checkpoints": "It takes no checkpoints", "/configuration": "Packing plan",
    "/logs": " lines", "/profile": "Flame graph",
}  # fmt: skip
"""The end of an address -> what is there when the page is drawn."""


def until(found: Callable[[], Any], what: str) -> Any:
    """What is found, as soon as it is anything; BenchmarkError after DEADLINE_SECS."""
    deadline = time.monotonic() + DEADLINE_SECS
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.2)
    raise BenchmarkError(f"not within {DEADLINE_SECS:.0f} s: {what}")


def heronpy(*arguments: str) -> subprocess.Popen[str]:
    """The command, with what it prints."""
    command = [sys.executable, "-m", "heron_cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


class Service:
    """`heronpy ui`, as a process whose CPU is read."""

    def __init__(self) -> None:
        self._popen = heronpy("ui", "--port", "0")
        self.process = psutil.Process(self._popen.pid)
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        found = re.search(r"serving at (\S+)", line)
        if found is None:
            raise BenchmarkError(f"heronpy ui does not serve: {line}")
        self.address = found[1]

    def cpu_secs(self) -> float:
        """Since it began."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def megabytes(self) -> float:
        """Of memory."""
        return float(self.process.memory_info().rss / 2**20)

    def kill(self) -> None:
        """As the kernel does when memory is short."""
        self._popen.send_signal(signal.SIGKILL)
        self._popen.wait()


@contextmanager
def topologies(store: StateStore, simulated: int, real: list[str]) -> Iterator[None]:
    """They run until the end."""
    masters = [SimulatedMaster(f"topology-{number}") for number in range(simulated)]
    sockets = MasterSockets(masters, store)
    try:
        for each in [heronpy("submit", str(TOPOLOGY), "-N", name) for name in real]:
            if each.wait():
                raise BenchmarkError("a topology could not be submitted")
        yield
    finally:
        for each in [heronpy("kill", name, "--wait", "0") for name in real]:
            each.wait()
        sockets.close()


def request_costs(service: Service, name: str) -> Iterator[tuple[str, float]]:
    """Route -> CPU ms of the service for an answer."""
    with httpx.Client(base_url=service.address, timeout=60.0) as client:
        paths = client.get("/openapi.json").json()["paths"]
        for url, given in questions(paths, name, int(time.time())):
            client.get(url, params=given)
            before = service.cpu_secs()
            for _ in range(REQUESTS):
                answer = client.get(url, params=given)
            cpu_ms = (service.cpu_secs() - before) * 1000 / REQUESTS
            yield f"{url} ({answer.status_code}, {len(answer.content):,} bytes)", cpu_ms


def page_costs(
    service: Service, name: str, folder: str
) -> Iterator[tuple[str, float, float, float]]:
    """Page -> CPU ms of the service until it is drawn, the seconds until then, and CPU ms a second
    while it is open."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        raise BenchmarkError("this needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        for path, text in PAGES.items():
            address = service.address + (path if path == "/" else f"/ui/topology/{name}{path}")
            costs, waited = [], 0.0
            for _ in range(OPENINGS + 1):
                page = context.new_page()
                before, began = service.cpu_secs(), time.monotonic()
                page.goto(address)
                page.locator("#content", has_text=text).wait_for(timeout=60_000)
                costs.append((service.cpu_secs() - before) * 1000)
                waited = time.monotonic() - began
                if len(costs) <= OPENINGS:
                    page.close()
            before = service.cpu_secs()
            page.wait_for_timeout(OPEN_SECS * 1000)
            per_sec = (service.cpu_secs() - before) * 1000 / OPEN_SECS
            page.close()
            yield path or "/ui/topology/NAME", sum(costs[1:]) / OPENINGS, waited, per_sec
        context.close()


def noticed(store: StateStore, name: str) -> tuple[int, set[int | None], int]:
    """Of a real topology: tuples executed, process ids, and bytes of its logs."""
    with MasterClient(store, name) as client:
        stats = client.stats(EVERY_COMPONENT)
    executed = sum(each.executed for each in stats.components.values() if each.type == "bolt")
    logs = Path(Home.of_user().path, "topologies", name, "logs")
    size = sum(each.stat().st_size for each in logs.iterdir())
    return executed, {each.pid for each in stats.instances or ()}, size


def check_kill(service: Service, store: StateStore, real: list[str]) -> None:
    """BenchmarkError if a topology notices that the service is killed."""
    before = {name: noticed(store, name) for name in real}
    service.kill()
    for name, (executed, pids, size) in before.items():
        until(lambda name=name, at=executed: noticed(store, name)[0] > at + 200, f"{name} goes on")
        after = noticed(store, name)
        if after[1:] != (pids, size):
            raise BenchmarkError(f"{name} was changed: {pids, size} -> {after[1:]}")
    print(f"the service was killed: {len(real)} topologies go on, same processes, no new log line")


def measure(service: Service, names: list[str], real: list[str], folder: str) -> None:
    """Print what the service costs."""
    with httpx.Client(base_url=service.address, timeout=60.0) as client:
        until(
            lambda: (
                all(each["stats_at"] for each in client.get("/api/problems").json())
                and len(client.get("/api/problems").json()) == len(names)
            ),
            "every topology has numbers",
        )
    before = service.cpu_secs()
    time.sleep(IDLE_SECS)
    share = (service.cpu_secs() - before) / IDLE_SECS
    print(f"nobody asks: {share:.1%} of a core, {service.megabytes():.0f} MiB", flush=True)
    slow = []
    for path, cpu_ms in sorted(request_costs(service, names[0]), key=lambda each: -each[1]):
        print(f"{cpu_ms:8.1f} ms  {path}", flush=True)
        slow += [path] if cpu_ms > LIMIT_MS else []
    for path, cpu_ms, secs, per_sec in page_costs(service, real[0] if real else names[0], folder):
        print(
            f"{cpu_ms:8.1f} ms  page {path}, drawn in {secs:.1f} s, then {per_sec:.1f} ms a second"
        )
        slow += [path] if cpu_ms > LIMIT_MS else []
    print(f"{service.megabytes():.0f} MiB; above {LIMIT_MS:.0f} ms: {', '.join(slow) or 'none'}")


def main() -> None:
    """Start everything, measure, kill the service, end everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topologies", type=int, default=50)
    parser.add_argument("--real", type=int, default=5)
    given = parser.parse_args()
    real = [f"real-{number}" for number in range(given.real)]
    simulated = given.topologies - given.real
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HERONPY_HOME"] = os.path.join(folder, "home")
        with (
            open_store(Home.of_user().store_url) as store,
            topologies(store, simulated, real),
        ):
            service = Service()
            try:
                names = [f"topology-{number}" for number in range(simulated)] + real
                measure(service, names, real, os.path.join(folder, "browser"))
                check_kill(service, store, real)
            finally:
                if service.process.is_running():
                    service.kill()


if __name__ == "__main__":
    main()
