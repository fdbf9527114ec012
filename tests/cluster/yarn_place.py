"""Folder and environment of `heronpy` for a real YARN, and the view of both on the topology."""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from heron_core.plans import PackingPlan
from heron_core.state_tree import IDENTITY_PATH, scheduler_path
from heron_engine.scheduler.backends.yarn.master import LOG
from heron_engine.scheduler.backends.yarn.render import asks
from heron_io.state_store.opening import open_store
from tests.cluster.servers import LOG_TAIL
from tests.cluster.yarn_cluster import LEAST_MB, YarnCluster
from tests.process.process_support import Finished, Place, until

SUBMIT_SECS = 180.0
DEADLINE_SECS = 120.0
RAM_MB, CORES = 640, 1
MASTER_RAM_MB = 512
PADDING = {"ram": "100MB", "cpu": 0.1}
PACKING = {"container": {"ram": f"{RAM_MB}MB", "cpu": CORES}, "padding": PADDING}


class YarnPlace(Place):
    """A place with a cluster called west."""

    def __init__(self, path: Path, cache: Path, yarn: YarnCluster, store_url: str) -> None:
        super().__init__(path)
        self.yarn, self.url = yarn, store_url
        self._store = open_store(store_url)
        self.home.mkdir()
        # The runtime is packed once for all tests.
        (self.home / "archives").symlink_to(cache)
        self.cluster("west")

    def cluster(self, name: str, packing: Mapping[str, Any] = PACKING, **changed: Any) -> None:
        """Write a cluster's file; JSON is YAML."""
        found = {
            "scheduler": "yarn",
            "state": self.url,
            "packing": packing,
            "yarn": {
                "conf_dir": str(self.yarn.conf_dir),
                "python": sys.executable,
                "master": {"ram": f"{MASTER_RAM_MB}MB"},
                "ready_secs": int(SUBMIT_SECS),
                **changed,
            },
        }
        folder = self.home / "clusters"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(json.dumps(found, indent=1), "utf-8")

    def on(self, cluster: str, *words: object) -> Finished:
        """Run `heronpy` for a cluster."""
        return self.heronpy(*words, "--cluster", cluster, secs=SUBMIT_SECS + DEADLINE_SECS)

    def submit(self, file: Path, *words: object, cluster: str = "west") -> Finished:
        """Submit a topology under the place's name."""
        return self.on(cluster, "submit", file, "-N", self.name, *words)

    def node(self, path: str) -> Any:
        """A node of the state store."""
        return self._store.get(path)

    def empty_the_state_store(self, path: str = "") -> None:
        """Remove the content, its identity first."""
        if not path:
            self._store.delete(IDENTITY_PATH)
        for child in self._store.children(path or "/"):
            self.empty_the_state_store(f"{path}/{child}")
        if path:
            self._store.delete(path)

    def close(self) -> None:
        """Kill what still runs."""
        super().close()
        self._store.close()

    def container(self, number: int) -> str | None:
        """YARN's id of a container that runs."""
        containers = (self.node(scheduler_path(self.name)) or {}).get("containers", {})
        found = containers.get(str(number), {})
        return found.get("id") if found.get("phase") == "running" else None

    def standby(self) -> str | None:
        """YARN's id of a container that waits."""
        found = (self.node(scheduler_path(self.name)) or {}).get("warm", {}).values()
        return next((each["id"] for each in found if each["phase"] == "running"), None)

    def is_granted(self, plan: PackingPlan) -> bool:
        """Whether YARN has given all containers of a plan, each as large as the plan has it, and
        no more."""
        wanted = {number: ask.memory_mb for number, ask in asks(plan).items()}
        found = (self.node(scheduler_path(self.name)) or {}).get("containers", {})
        sizes = {int(each): one["size"][0] for each, one in found.items() if one.get("size")}
        rounded = sum(-(-each // LEAST_MB) * LEAST_MB for each in (MASTER_RAM_MB, *wanted.values()))
        return sizes == wanted and self.application().get("allocatedMB") == rounded

    def is_another(self, number: int, container: str | None) -> bool:
        """Whether a container runs in another one of YARN's."""
        return self.container(number) not in (None, container)

    def process(self, module: str, word: str = "") -> psutil.Process | None:
        """The process of a module that YARN has started."""
        for each in self.yarn.processes():
            with suppress(psutil.Error):
                words = each.cmdline()
                if words[1:3] == ["-m", module] and word in " ".join(words):
                    return each
        return None

    def application(self) -> dict[str, Any]:
        """The newest application of the place's name, as YARN sees it."""
        found = [each for each in self.yarn.applications() if each["name"] == self.name]
        return max(found, key=lambda each: each["startedTime"], default={})

    def story(self) -> str:
        """View of YARN and the application masters on the newest application."""
        application = self.application()
        logs = self.yarn.container_logs(application.get("id", "none"), LOG)
        told = (f"{each}:\n{each.read_text('utf-8', 'replace')[-2 * LOG_TAIL :]}" for each in logs)
        seen = (application, self.yarn.node_managers(), self.node(scheduler_path(self.name)))
        return "\n".join([*map(str, seen), *told])

    def nothing_runs(self) -> None:
        """No process of any application, no application."""
        until(lambda: not self._left(), f"YARN runs nothing: {self._left()}", DEADLINE_SECS)
        states = {each["state"] for each in self.yarn.applications()}
        assert states <= {"FINISHED", "FAILED", "KILLED"}

    def _left(self) -> list[str]:
        found = []
        for each in self.yarn.processes():
            with suppress(psutil.Error):
                line = " ".join(each.cmdline())
                ours = "heron_engine.scheduler.backends.yarn" in line or "heron: " in line
                if ours or "py4j" in line[-200:]:
                    found.append(line[:100])
        return found
