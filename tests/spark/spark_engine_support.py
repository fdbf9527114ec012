"""Queries in the background: submitted as a user does, their processes found, their counts read."""

import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from heron_core.stats import QueryStats
from tests.process.process_support import Finished, until
from tests.spark.spark_scheduler_support import SparkPlace

ENGINE_SECS = 300.0
"""For operations of half a minute on an idle machine: executors, and their archives."""
MAX_BATCH = 200
TOPOLOGY = Path(__file__).parent / "endless_words.py"
WHEEL = {
    "shouting.py": "def shout(word):\n    return word.upper()\n",
    "shouting-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n",
    "shouting-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
    "Root-Is-Purelib: true\nTag: py3-none-any\n",
    "shouting-1.0.dist-info/RECORD": "",
}


def packaged(place: SparkPlace) -> Path:
    """The topology and its package in an archive; the project is gone then."""
    project = place.path / "demo"
    for folder in ("topologies", "wheelhouse"):
        (project / folder).mkdir(parents=True)
    (project / "config.json").write_text('{"envs": {}, "topology_specs": "topologies"}')
    shutil.copy(TOPOLOGY, project / "topologies")
    with zipfile.ZipFile(project / "wheelhouse" / "shouting-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    wanted = "--no-index\n--find-links wheelhouse\nshouting==1.0\n"
    (project / "requirements.txt").write_text(wanted)
    archive = place.path / "demo.tar.gz"
    place.heronpy("package", "--config", project / "config.json", "-o", archive).succeeded()
    shutil.rmtree(project)
    return archive


class EnginePlace(SparkPlace):
    """A place whose topologies are queries."""

    @property
    def release(self) -> Path:
        """The file at which the words end."""
        return self.path / "release"

    def begin(self, file: object, master: str, *more: object) -> Finished:
        release = f"test.release={self.release}"
        words = ("submit", file, "-N", self.name, "--engine", "spark", "--master", master)
        options = ("--max-batch", MAX_BATCH, "-o", release, *more)
        finished = self.heronpy(*words, *options, secs=ENGINE_SECS)
        if found := self.scheduler():
            self.sessions.add(found["pid"])
        return finished

    def batch(self) -> int | None:
        """The newest batch reported by the driver."""
        with self.master() as master:
            stats = master.stats()
        return stats.batch if isinstance(stats, QueryStats) else None

    def batch_after(self, batch: int) -> int:
        """The newest batch, once newer than the given batch."""
        return until(lambda: self._newer(batch), f"a batch after {batch}", ENGINE_SECS)

    def _newer(self, batch: int) -> int | None:
        found = self.batch()
        return found if found is not None and found > batch else None

    def ended(self) -> dict[str, Any]:
        """Outcome of the topology, once ended."""
        file = self.home / "topologies" / self.name / "outcome.json"
        until(file.exists, "it ends", ENGINE_SECS)
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return found

    def is_exact(self) -> None:
        """AssertionError unless every word of every line was counted once."""
        (told,) = self._printed("lines")
        expected: Counter[str] = Counter()
        for number in range(told["lines"]):
            expected.update([f"WORD{number % 7}", f"WORD{number % 11}"])
        counted = [Counter(each) for each in self._printed("count")]
        assert len(counted) == 2
        assert sum(counted, Counter()) == expected

    def _printed(self, component: str) -> Iterator[Any]:
        for log in sorted(self.logs(self.name).glob(f"{component}-*.log")):
            for line in log.read_text("utf-8").splitlines():
                yield json.loads(line.partition(" INFO ")[2])


def python_workers(executor: psutil.Process) -> list[psutil.Process]:
    """Spark's Python workers below an executor, children of its daemon."""
    found = []
    for daemon in executor.children():
        with suppress(psutil.Error):
            found += [
                each
                for each in daemon.children()
                if "heron_spark.worker.task_host" not in each.cmdline()
            ]
    return found
