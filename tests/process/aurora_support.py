"""A place with an Aurora cluster: the stand-in of aurora_stand_in, called by its client's words."""

import json
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from heron_engine.scheduler.backends.aurora.client import AuroraClient
from heron_engine.scheduler.backends.aurora.render import JobKey
from tests.process.process_support import Place, until

REMOVED_SECS = 60.0
"""A sandbox has the runtime, some thousand files, and a busy machine removes them slowly."""
STAND_IN = Path(__file__).parent / "aurora_stand_in"


class AuroraPlace(Place):
    """A place with a cluster called west."""

    def __init__(self, path: Path, cache: Path) -> None:
        super().__init__(path)
        self.aurora = path / "aurora"
        self.archives = path / "archives"
        for each in (self.aurora, self.archives, self.home):
            each.mkdir()
        self.environment["AURORA_STAND_IN"] = str(self.aurora)
        # The runtime is packed once for all tests.
        (self.home / "archives").symlink_to(cache)
        self.cluster("west")

    def cluster(self, name: str, aurora: dict[str, Any] | None = None, **changed: Any) -> None:
        """Write a cluster's file; JSON is YAML."""
        found = {
            "scheduler": "aurora",
            "state": self.store_url,
            "archives": {"folder": str(self.archives)},
            "aurora": {
                "cluster": "west",
                "role": "www",
                "env": "test",
                "client": shlex.join([sys.executable, str(STAND_IN)]),
                "python": sys.executable,
                "one_machine": True,
                **(aurora or {}),
            },
            **changed,
        }
        folder = self.home / "clusters"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(json.dumps(found, indent=1), "utf-8")

    def aurora_says(self, **settings: Any) -> None:
        """What the stand-in's Aurora knows and allows."""
        (self.aurora / "settings.json").write_text(json.dumps(settings), "utf-8")

    def calls(self) -> list[list[str]]:
        """The words of every call of the client."""
        lines = (self.aurora / "calls").read_text("utf-8").splitlines()
        return [json.loads(each) for each in lines]

    def shard(self, number: int, other_than: int = 0) -> psutil.Process:
        """The process of an instance, once it is there; another one than that of a pid."""

        def found() -> psutil.Process | None:
            for each in self.processes():
                with suppress(psutil.Error):
                    line = " ".join(each.cmdline())
                    is_shard = (
                        "-m heron_engine.scheduler.backends.aurora.container_agent" in line
                        and "bash" not in line
                    )
                    if is_shard and f"--container {number} " in line and each.pid != other_than:
                        return each
            return None

        return until(found, f"instance {number} runs")

    def client(self, name: str) -> AuroraClient:
        """Calls the stand-in about the job of a topology, without pauses."""
        variables = (f"{key}={self.environment[key]}" for key in ("AURORA_STAND_IN", "TMPDIR"))
        words = ("env", *variables, sys.executable, str(STAND_IN))
        return AuroraClient(words, JobKey("west", "www", "test", name), lambda _: None)

    def sandbox_output(self, number: int) -> str:
        """What an instance's processes have printed, in all of its lives."""
        files = self.aurora.glob(f"jobs/*/sandbox-{number}-*/output")
        return "".join(each.read_text("utf-8") for each in files)

    def output(self, log: str) -> str:
        """What a process of the topology has logged, in any sandbox."""
        files = self.aurora.glob(f"jobs/*/sandbox-*/logs/{log}.log")
        return "".join(each.read_text("utf-8") for each in files)

    def node(self, path: str) -> Any:
        """A node of the state store."""
        store = self.store()
        try:
            return store.get(path)
        finally:
            store.close()

    def all_gone(self) -> None:
        """No process, no node, no archive but the runtime, no sandbox."""
        self.nothing_is_left(REMOVED_SECS)
        until(lambda: not self.left(), "sandboxes and archives are gone")

    def left(self) -> list[str]:
        """Sandboxes, and archives but the runtime."""
        archives = [each.name for each in self.archives.rglob("*.packed")]
        own = [each for each in archives if not each.startswith("heronpy-runtime-")]
        return [*(each.name for each in (self.aurora / "jobs").iterdir()), *own]
