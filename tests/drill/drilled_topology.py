"""A running topology of the drill: readers of its problems, and ways to hurt the topology."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import psutil

from heron_core.stats import EVERY_COMPONENT, TopologyStats
from heron_tracker.model.problems import problems
from tests.drill.open_page import OpenPage
from tests.drill.trouble import Place, Timings, Trouble
from tests.process.process_support import TOPOLOGIES, Master, Running, until
from tests.process.process_support import Place as Runs

SUBMIT_SECS = 120.0
FLOWS_SECS = 60.0
"""Until the first tuples are through, on a busy machine."""


class Observers:
    """The service and Prometheus, beside all topologies of the drill."""

    def __init__(self, service: httpx.Client, prometheus: httpx.Client | None) -> None:
        self.service = service
        self.prometheus = prometheus
        """None: the machine has no Prometheus, and alerts are left out."""

    def is_scraping(self) -> bool:
        """Whether Prometheus has the service's numbers."""
        if self.prometheus is None:
            return False
        with suppress(httpx.TransportError):
            answer = self.prometheus.get("/api/v1/query", params={"query": "up == 1"})
            return answer.is_success and bool(answer.json()["data"]["result"])
        return False

    def alerts(self) -> list[dict[str, str]]:
        """Labels of all firing alerts."""
        if self.prometheus is None:
            return []
        query = {"query": 'ALERTS{alertstate="firing"}'}
        with suppress(httpx.TransportError):
            answer = self.prometheus.get("/api/v1/query", params=query)
            if answer.is_success:
                return [each["metric"] for each in answer.json()["data"]["result"]]
        return []


class DrilledTopology:
    """One topology of the drill."""

    def __init__(self, runs: Runs, trouble: Trouble, observers: Observers) -> None:
        self.runs = runs
        self.trouble = trouble
        self.observers = observers
        self.name = f"{runs.name}-{trouble.name}"
        self.trouble_file = Path(runs.results_folder) / f"{self.name}.json"
        self.timings = Timings()
        self.master = Master(runs.store_url, self.name)
        self._page: OpenPage | None = None

    def submit(self) -> Running:
        """Begin to submit the topology."""
        words = [word for each in self.trouble.options for word in ("-o", each)]
        file, chosen = TOPOLOGIES / "drilled.py", ("-n", self.trouble.topology, "-N", self.name)
        trouble = f"test.trouble={self.name}"
        return self.runs.start("submit", file, *chosen, "-o", trouble, *words)

    def flows(self) -> bool:
        """Whether all bolts have executed something."""
        stats = self.master.stats()
        return stats is not None and all(
            each.executed > 0
            for name, each in stats.components.items()
            if each.type == "bolt" and not name.startswith("__")
        )

    def await_flow(self) -> None:
        """Wait for tuples at all bolts, then open the page."""
        until(self.flows, f"tuples of {self.name} flow", FLOWS_SECS)

        service = self.observers.service
        found = {"topology": self.name}
        until(lambda: service.get("/api/problems", params=found).is_success, "the service has it")
        self._page = OpenPage(service, f"/ui/topology/{self.name}")

    # --- what is read ----------------------------------------------------------------------------

    def is_named(self, place: Place) -> bool:
        """Whether a reader finds component, cause and remedy at a place."""
        return _READERS[place](self)

    def found(self) -> list[str]:
        """All sentences of `heronpy stats`."""
        stats = self._stats()
        return [] if stats is None else [each.sentence for each in problems(stats, time.time())]

    def _stats(self) -> TopologyStats | None:
        return self.master.stats(EVERY_COMPONENT)

    def by_stats(self) -> bool:
        """Whether `heronpy stats` names the trouble, by the answer of the master."""
        wanted, stats = self.trouble, self._stats()
        if stats is None:
            return False
        return any(
            each.kind == wanted.kind
            and each.component == wanted.component
            and each.cause.startswith(wanted.cause)
            and wanted.remedy in each.remedy
            for each in problems(stats, time.time())
        )

    def watch(self) -> None:
        """Keep what `heronpy stats` says besides."""
        stats = self._stats()
        for each in () if stats is None else problems(stats, time.time()):
            if each.kind != self.trouble.kind:
                self.timings.others.setdefault(each.kind, each.sentence)

    def by_api(self) -> bool:
        """Whether /api/problems names the trouble."""
        wanted = self.trouble
        return any(
            each["kind"] == wanted.kind
            and each["component"] == wanted.component
            and wanted.remedy in each["remedy"]
            for each in self._rows()
        )

    def _rows(self) -> list[dict[str, str]]:
        answer = self.observers.service.get("/api/problems", params={"topology": self.name})
        return list(answer.json()["problems"]) if answer.is_success else []

    def by_page(self) -> bool:
        """Whether the open page of the topology names the trouble."""
        return self._page is not None and self._page.shows(self.trouble.remedy)

    def by_metric(self) -> bool:
        """Whether /metrics names the trouble."""
        wanted = self.trouble
        series = (
            f'kind="{wanted.kind}"',
            f'component="{wanted.component}"',
            f'cause="{wanted.cause}',
        )
        return any(
            line.startswith("heron_topology_problems{")
            and f'topology="{self.name}"' in line
            and all(each in line for each in series)
            and not line.endswith(" 0.0")
            for line in self.observers.service.get("/metrics").text.splitlines()
        )

    def by_alert(self) -> bool:
        """Whether an alert fires in Prometheus."""
        wanted = self.trouble
        return any(
            each["alertname"] == wanted.alert
            and each.get("topology") == self.name
            and each.get("component", "") == wanted.component
            for each in self.observers.alerts()
        )

    # --- what is done to it ----------------------------------------------------------------------

    def processes(self, title: str) -> list[psutil.Process]:
        """Processes of the topology with this begin of the title."""
        found = []
        for each in psutil.process_iter():
            with suppress(psutil.Error):
                words = " ".join(each.cmdline())
                if words.startswith(f"heron: {title}") and f"({self.name})" in words:
                    found.append(each)
        return found

    def signal(self, title: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to all processes of a title, at least one."""
        found = until(lambda: self.processes(title), f"{title} of {self.name} runs")
        for each in found:
            os.kill(each.pid, number)

    def folder(self) -> Path:
        """Folder of checkpoints and logs."""
        return self.runs.home / "topologies" / self.name

    def kill(self) -> Running:
        """Begin to end the topology, in any state."""
        for title in ("topology master", "sink[0]", "stream manager"):
            for each in self.processes(title):
                with suppress(ProcessLookupError):
                    os.kill(each.pid, signal.SIGCONT)
        if self._page is not None:
            self._page.close()
        self.master.__exit__()
        return self.runs.start("kill", self.name)

    def told(self) -> str:
        """Timings in one line."""
        named = " / ".join(
            f"{self.timings.named[each]:.1f}" if each in self.timings.named else "-"
            for each in self.trouble.places
        )
        gone = max(self.timings.gone.values(), default=None)
        after = "stays" if gone is None else f"{gone:.1f}"
        others = ", ".join(self.timings.others)
        return f"{self.trouble.name:24} {named:34} gone {after:6} besides: {others or '-'}"


def submit_all(topologies: Sequence[DrilledTopology], ends: ExitStack) -> None:
    """Submit topologies, and kill them at the end of `ends`; all at the same time."""
    ends.callback(kill_all, topologies)
    for each in [each.submit() for each in topologies]:
        each.wait(SUBMIT_SECS).succeeded()


def kill_all(topologies: Sequence[DrilledTopology]) -> None:
    """End topologies at the same time. An ended topology has no process to kill."""
    for each in [each.kill() for each in topologies]:
        each.wait(SUBMIT_SECS)


_READERS: dict[Place, Callable[[DrilledTopology], bool]] = {
    Place.STATS: DrilledTopology.by_stats,
    Place.API: DrilledTopology.by_api,
    Place.PAGE: DrilledTopology.by_page,
    Place.METRIC: DrilledTopology.by_metric,
    Place.ALERT: DrilledTopology.by_alert,
}
