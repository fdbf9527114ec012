"""What the commands know of a query in the foreground: a file in the user's folder.

A foreground query has neither nodes in a state store nor a scheduler to write an outcome. The file
is written at the start, so even a killed query leaves the file; the next run of the name removes or
replaces it.
"""

import json
import os
from typing import Any

from msgspec import Struct

from heron_core.errors import HeronError
from heron_core.topology import TopologySpec, topology_from_json, topology_to_json
from heron_engine.scheduler.user_folder import Home
from heron_io.atomic_files import replace_whole
from heron_io.private_files import make_private_folders
from heron_io.processes import started_at


class ForegroundQuery(Struct, frozen=True):
    """The last query of a topology's name in the foreground."""

    topology: TopologySpec
    pid: int
    started: str
    """Start time of the process, from `started_at`."""

    @property
    def runs(self) -> bool:
        """Whether the process still exists."""
        return started_at(self.pid) == self.started


def announce(home: Home, topology: TopologySpec) -> None:
    """Record the running query of this process; HeronError if the file cannot be written."""
    pid, path = os.getpid(), home.query_file(topology.name)
    query = {
        "pid": pid,
        "started": started_at(pid),
        "topology": topology_to_json(topology),
    }
    try:
        make_private_folders(home.logs(topology.name))  # by which `remove-logs` knows the topology
        replace_whole(path, [json.dumps(query).encode()], f"{path}.{pid}.tmp", is_private=True)
    except OSError as error:
        raise HeronError(f"cannot write {path}: {error.strerror}") from None


def query_of(home: Home, name: str) -> ForegroundQuery | None:
    """The last query of that name in the foreground, unless another run has begun since; HeronError
    for a damaged file."""
    path = home.query_file(name)
    try:
        with open(path, encoding="utf-8") as file:
            query: dict[str, Any] = json.load(file)
        return ForegroundQuery(
            topology_from_json(query["topology"]), query["pid"], query["started"]
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeronError(f"{path} cannot be read: {error}; delete the file") from None
