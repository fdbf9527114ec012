"""What the hosts of a run have to know; the driver writes it, hosts and workers read it."""

import json
from dataclasses import dataclass
from pathlib import Path

from heron_core.topology import TopologySpec, topology_from_json, topology_to_json
from heron_spark.checkpoint_dir import CheckpointDir, write_whole


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a topology."""

    topology: TopologySpec
    slots: int
    """Tasks that Spark runs at once: no level has more partitions."""
    max_batch: int
    batch_secs: float
    echo: bool
    """Whether printed lines go to the worker's stderr, too: not where that is the console."""

    def write(self, folder: CheckpointDir, run: str) -> None:
        """Leave it where the hosts look."""
        data = {
            "topology": topology_to_json(self.topology),
            "slots": self.slots,
            "max_batch": self.max_batch,
            "batch_secs": self.batch_secs,
            "echo": self.echo,
        }
        write_whole(folder.run_file(run), json.dumps(data).encode())

    @staticmethod
    def read(folder: CheckpointDir, run: str) -> "Job":
        """The job of a run; OSError if it is over."""
        data = json.loads(Path(folder.run_file(run)).read_text("utf-8"))
        topology = topology_from_json(data.pop("topology"))
        return Job(topology, **data)
