"""What the hosts of a run have to know; the driver writes it, hosts and workers read it."""

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
    """Whether printed lines go to the worker's stderr, too: not where that is the console on which
    the driver shows them."""
    classes: str = ""
    """Of the driver's main module (main_classes.py)."""
    of_frame: bool = False
    """Whether it is a DataFrame of a user's: then no driver decides about its end."""
    driven: bool = True
    """Whether batches come without input, too, so that a spout is asked for some time."""
    once: bool = False
    """Whether there is a single batch, as the DataFrame is no stream."""

    def to_json(self) -> str:
        """As text, which `from_json` reads."""
        return json.dumps(to_json(self))

    @staticmethod
    def from_json(text: str) -> "Job":
        """The inverse of `to_json`."""
        return from_json(Job, json.loads(text), "a job")

    def write(self, folder: CheckpointDir, run: str) -> None:
        """Leave it where the hosts look."""
        write_whole(folder.run_file(run), self.to_json().encode())

    @staticmethod
    def read(folder: CheckpointDir, run: str) -> "Job":
        """The job of a run; OSError if it is over."""
        return Job.from_json(Path(folder.run_file(run)).read_text("utf-8"))
