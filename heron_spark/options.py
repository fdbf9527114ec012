"""Every knob of a run on Spark; defaults and their reasons."""

import os
import re
import sys
from dataclasses import dataclass, field

from heron_core.errors import UsageError

ENGINE = "spark engine"
"""The kind of back end of a topology that is a query."""
MAX_BATCH = 1_000_000
"""Some 50 MB of short tuples; a larger batch only needs more memory."""
BATCH_SECS = 2.0
"""Target length of a batch, to outweigh Spark's own cost of about 0.4 s (docs/SPARK.md)."""


MASTER = re.compile(
    r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[\d+, *\d+, *\d+\]|yarn|k8s://.+|spark://.+"
)


@dataclass(frozen=True, slots=True)
class Archive:
    """A gzipped tar, unpacked by executors as folder `name` in their working folder."""

    path: str
    name: str
    inside: str
    """The relevant folder in the archive, relative to the executor's working folder."""
    on_path: bool
    """Whether `inside` is for PYTHONPATH."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How a topology runs on Spark."""

    master: str = "local[*]"
    checkpoint: str | None = None
    """Folder that outlives the run, at one path for all workers; None: a temporary folder of the
    run.
    """
    max_batch: int = MAX_BATCH
    """Maximum of deliveries by all spouts for one batch."""
    batch_secs: float = BATCH_SECS
    """How long a batch should take: spouts are asked for as much as that allows."""
    seconds: float | None = None
    """Duration until a stop; None: until the topology's end."""
    python: str = field(default_factory=lambda: os.environ.get("PYSPARK_PYTHON", sys.executable))
    """The workers' Python."""
    archives: tuple[Archive, ...] = ()
    """Archives sent to executors, then their only source of the project's code."""
    search_paths: tuple[str, ...] | None = None
    """The topology's search paths inside the archives, relative to executors; None: the local
    paths.
    """
    scratch: str | None = None
    """Parent of the run's temporary folder; None: the system's."""
    config: tuple[tuple[str, str], ...] = ()
    """Spark's own settings; they win over ours."""

    def check(self) -> None:
        """UsageError naming the option that is wrong."""
        if MASTER.fullmatch(self.master) is None:
            raise UsageError(
                f"--master {self.master!r} is not a Spark master: local[2], "
                "local-cluster[2,1,600], "
                "spark://HOST:7077, yarn or k8s://https://HOST:6443"
            )
        if self.max_batch < 1:
            raise UsageError(f"--max-batch must be at least 1, not {self.max_batch}")
        if not self.batch_secs > 0:
            raise UsageError(f"--batch-secs must be more than 0, not {self.batch_secs}")
        for key, _ in self.config:
            if not key.startswith("spark."):
                raise UsageError(f"--spark-config {key!r}: Spark's keys start with spark.")
