"""CPU of `heronpy ui` for each answer and each page, with 50 topologies, five of them real.

    python -m benchmarks.service_pages [--topologies N] [--real N] [--page PATH …]

The service is a separate process; its CPU time is read from /proc before and after, and includes
background work such as queries to masters. The remaining topologies are simulated masters behind
sockets. Pages are opened in Chromium, whose own CPU does not count; a page is drawn when its text
and the data of its pictures are present. At the end the service is killed with SIGKILL, and the
real topologies must continue: unchanged processes, more tuples, not a line in a log. The kernel
ends all descendants with the benchmark's process.
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
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil

from benchmarks.measure import BenchmarkError
from benchmarks.service_load import questions
from benchmarks.simulated_masters import MasterSockets, SimulatedMaster
from heron_core.stats import EVERY_COMPONENT
from heron_engine.scheduler.user_folder import Home
from heron_io.master_client import MasterClient
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore

HERONPY = """
import runpy, sys
from heron_io.processes import die_with_parent
die_with_parent(int(sys.argv.pop(1)))
runpy.run_module("heron_cli", run_name="__main__", alter_sys=True)
"""
"""The command, killed by the kernel with its parent. The process has threads, so Popen must not run
Python between fork and exec."""
TOPOLOGY = Path(__file__).parent / "topologies" / "paced.py"
REQUESTS = 10
"""Of each route, after a first one: the kernel tells CPU in hundredths of a second."""
OPENINGS = 3
"""Of each page, after a first one; the median counts."""
OPEN_SECS = 5.0
"""Duration of an open page, to measure its cost per second."""
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
"""Suffix of an address -> selector present in the drawn page."""
DRAWN = """text => {
    const content = document.querySelector("#content");
    const charts = [...document.querySelectorAll(".chart, .graph")];
    return content && content.innerText.includes(text)
        && charts.every(each => (getElement(each).options.series || []).length);
}"""
"""Whether a page is drawn: the text is present, and every picture has its data."""


def until(found: Callable[[], Any], what: str) -> Any:
    """The result of `found` once truthy; BenchmarkError after DEADLINE_SECS."""
    deadline = time.monotonic() + DEADLINE_SECS
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.2)
    raise BenchmarkError(f"not within {DEADLINE_SECS:.0f} s: {what}")


def heronpy(*arguments: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """The command; ends with this process, even after a kill."""
    return subprocess.Popen(
        [sys.executable, "-c", HERONPY, str(os.getpid()), *arguments],
        stdout=stdout,
        stderr=None if stdout == subprocess.PIPE else subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


class Service:
    """`heronpy ui`, as a process whose CPU is read."""

    def __init__(self) -> None:
        self._popen = heronpy("ui", "--port", "0", stdout=subprocess.PIPE)
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
    """Run the topologies until the end; real ones in the foreground, ending with their command."""
    masters = [SimulatedMaster(f"topology-{number}") for number in range(simulated)]
    sockets = MasterSockets(masters, store)
    runs = [heronpy("run", str(TOPOLOGY), "-N", name) for name in real]
    try:
        yield
    finally:
        for each in runs:
            each.terminate()
        for each in runs:
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


@dataclass(frozen=True, slots=True)
class PageCost:
    """What the service needs for a page."""

    path: str
    drawn_ms: float
    """CPU from the request until it is drawn: median of OPENINGS."""
    drawn_secs: float
    open_ms: float
    """CPU a second while it is open."""


def page_costs(service: Service, name: str, folder: str, paths: list[str]) -> Iterator[PageCost]:
    """Of each of these pages, in Chromium."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        raise BenchmarkError("this needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        for path in paths:
            address = service.address + (path if path == "/" else f"/ui/topology/{name}{path}")
            found = []
            for number in range(OPENINGS + 1):
                page = context.new_page()
                before, began = service.cpu_secs(), time.monotonic()
                page.goto(address)
                page.wait_for_function(DRAWN, arg=PAGES[path], timeout=60_000)
                used = (service.cpu_secs() - before) * 1000
                found += [(used, time.monotonic() - began)] if number else []
                if number < OPENINGS:
                    page.close()
            before = service.cpu_secs()
            page.wait_for_timeout(OPEN_SECS * 1000)
            per_sec = (service.cpu_secs() - before) * 1000 / OPEN_SECS
            page.close()
            drawn_ms, drawn_secs = map(median, zip(*found, strict=True))
            yield PageCost(path or "/ui/topology/NAME", drawn_ms, drawn_secs, per_sec)
        context.close()


def noticed(store: StateStore, name: str) -> tuple[int, set[int | None], int]:
    """Of a real topology: tuples executed, process ids, and bytes of its logs."""
    with MasterClient(store, name) as client:
        stats = client.stats(EVERY_COMPONENT)
    executed = sum(each.executed for each in stats.components.values() if each.type == "bolt")
    logs = Path(Home.of_user().path, "topologies", name, "logs")
    size = sum(each.stat().st_size for each in logs.glob("*.log"))
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


def measure(
    service: Service, names: list[str], real: list[str], folder: str, paths: list[str]
) -> None:
    """Print the service's costs; with a selection of pages, without routes."""
    with httpx.Client(base_url=service.address, timeout=60.0) as client:
        until(
            lambda: (
                all(each["stats_at"] for each in client.get("/api/problems").json())
                and len(client.get("/api/problems").json()) == len(names)
            ),
            "every topology has numbers",
        )
    slow = [] if paths else measure_routes(service, names[0])
    for each in page_costs(service, real[0] if real else names[0], folder, paths or list(PAGES)):
        print(
            f"{each.drawn_ms:8.1f} ms  page {each.path}, drawn in {each.drawn_secs:.1f} s, "
            f"then {each.open_ms:.1f} ms a second",
            flush=True,
        )
        slow += [each.path] if each.drawn_ms > LIMIT_MS else []
    print(f"{service.megabytes():.0f} MiB; above {LIMIT_MS:.0f} ms: {', '.join(slow) or 'none'}")


def measure_routes(service: Service, name: str) -> list[str]:
    """Print the cost without clients, and of each answer; returns the slow routes."""
    before = service.cpu_secs()
    time.sleep(IDLE_SECS)
    share = (service.cpu_secs() - before) / IDLE_SECS
    print(f"nobody asks: {share:.1%} of a core, {service.megabytes():.0f} MiB", flush=True)
    found = sorted(request_costs(service, name), key=lambda each: -each[1])
    for path, cpu_ms in found:
        print(f"{cpu_ms:8.1f} ms  {path}", flush=True)
    return [path for path, cpu_ms in found if cpu_ms > LIMIT_MS]


def main() -> None:
    """Start everything, measure, kill the service, end everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topologies", type=int, default=50)
    parser.add_argument("--real", type=int, default=5)
    parser.add_argument("--page", action="append", default=[], choices=list(PAGES))
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
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
                measure(service, names, real, os.path.join(folder, "browser"), given.page)
                check_kill(service, store, real)
            finally:
                if service.process.is_running():
                    service.kill()


if __name__ == "__main__":
    main()
