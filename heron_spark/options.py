"""Every knob of a run on Spark; defaults and their reasons."""

import os
import re
import sys
from dataclasses import dataclass, field

from heron_core.errors import UsageError

ENGINE = "spark engine"
"""The kind of back end of a topology that is a query."""
MAX_BATCH = 1_000_000
"""Some 50 MB of short tuples; beyond it a batch gains nothing and only holds more memory."""
BATCH_SECS = 2.0
"""A batch costs about 0.4 s of Spark's own, so it is worth this much work (docs/SPARK.md)."""


MASTER = re.compile(
    r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[\d+, *\d+, *\d+\]|yarn|k8s://.+|spark://.+"
)


@dataclass(frozen=True, slots=True)
class Archive:
    """A gzipped tar that executors unpack as a folder `name` where they work."""

    path: str
    name: str
    inside: str
    """The folder in it that counts, from where executors work."""
    on_path: bool
    """Whether `inside` is for PYTHONPATH."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How a topology runs on Spark."""

    master: str = "local[*]"
    checkpoint: str | None = None
    """Folder that outlives the run and that every worker reaches by this path; None: a folder of
    the run's own, removed at its end."""
    max_batch: int = MAX_BATCH
    """Deliveries that all spouts together may make for one batch."""
    batch_secs: float = BATCH_SECS
    """How long a batch should take: spouts are asked for as much as that allows."""
    seconds: float | None = None
    """Stop after this long; None: when the topology ends."""
    python: str = field(default_factory=lambda: os.environ.get("PYSPARK_PYTHON", sys.executable))
    """The workers' Python."""
    archives: tuple[Archive, ...] = ()
    """What executors are sent, which then have nothing else of ours."""
    search_paths: tuple[str, ...] | None = None
    """The topology's, as they are in the archives, from where executors work; None: as here."""
    scratch: str | None = None
    """Where the run's temporary folder goes; None: where others do."""
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
