"""Parameters of a run for its hosts, in a file written by the driver and read by hosts and
workers.
"""

import json
from pathlib import Path

from msgspec import Struct

from heron_core.topology import TopologySpec
from heron_core.typed_json import from_json, to_json
from heron_spark.batch_log.checkpoint_dir import CheckpointDir, write_whole


class Job(Struct, frozen=True):
    """One run of a topology."""

    topology: TopologySpec
    slots: int
    """Tasks that Spark runs at once: no level has more partitions."""
    max_batch: int
    batch_secs: float
    echo: bool
    """Whether printed lines also go to the worker's stderr: false where stderr is the driver's
    console, which shows the lines already.
    """
    classes: str = ""
    """Of the driver's main module (main_classes.py)."""
    of_frame: bool = False
    """Whether the query is a user's DataFrame, without a driver to decide the end."""
    driven: bool = True
    """Whether batches also start without input, for spouts that emit by themselves."""
    once: bool = False
    """Whether there is a single batch, because the DataFrame is static."""

    def to_json(self) -> str:
        """As text, which `from_json` reads."""
        return json.dumps(to_json(self))

    @staticmethod
    def from_json(text: str) -> "Job":
        """The inverse of `to_json`."""
        return from_json(Job, json.loads(text), "a job")

    def write(self, folder: CheckpointDir, run: str) -> None:
        """Write the file where the hosts look."""
        write_whole(folder.run_file(run), self.to_json().encode())

    @staticmethod
    def read(folder: CheckpointDir, run: str) -> "Job":
        """The job of a run; OSError if it is over."""
        return Job.from_json(Path(folder.run_file(run)).read_text("utf-8"))
