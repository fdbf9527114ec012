"""Loads the user's topology file in a child process, so that the command runs no user code.

User modules may shadow heronpy's names (scheduler.py), start threads, or crash.
"""

import json
import os
from dataclasses import dataclass

from heron_core.errors import HeronError, TopologyError, UsageError
from heron_core.topology import TopologySpec, topology_from_json, topology_to_json
from heron_frontends.loading.load_request import LoadRequest
from heron_io.processes import fork_child

__all__ = ["LoadRequest", "Loading", "load_in_child"]

CHUNK_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Loading:
    """A topology file being loaded by a child process."""

    pid: int
    pipe: int
    file: str

    def result(self) -> TopologySpec:
        """Wait for the result; one-line TopologyError or UsageError of the loader."""
        data = b""
        while chunk := os.read(self.pipe, CHUNK_BYTES):
            data += chunk
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        if not data:
            raise TopologyError(
                f"{self.file}: the process that imported the file ended without a result"
            )
        answer = json.loads(data)
        if "error" in answer:
            kind = UsageError if answer["usage"] else TopologyError
            raise kind(answer["error"])
        return topology_from_json(answer)


def load_in_child(request: LoadRequest | str, name: str | None = None) -> Loading:
    """Start to load a topology while other work continues.

    `load_in_child(file, name)` is a shortcut without options.
    """
    wanted = LoadRequest(request, name) if isinstance(request, str) else request
    ours, theirs = os.pipe()

    def main(lifeline: int) -> int:
        os.close(ours)
        with os.fdopen(theirs, "w", encoding="utf-8") as pipe:
            json.dump(_loaded(wanted), pipe)
        return 0

    child = fork_child("heronpy: loading", main, killed_with_parent=True)
    os.close(theirs)
    os.close(child.lifeline)
    return Loading(child.pid, ours, wanted.file)


def _loaded(request: LoadRequest) -> dict[str, object]:
    from heron_frontends.loading.load import load

    try:
        return topology_to_json(load(request))
    except HeronError as error:
        return {"error": str(error), "usage": isinstance(error, UsageError)}
