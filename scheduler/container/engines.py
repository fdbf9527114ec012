"""Which engine each container of a topology runs by, where that is not the scheduler's own.

A container is usually forked from its scheduler, and so is of the same engine. After `heronpy
update --engine` it is started from another Python, or another folder: what stands here, in a file
beside the topology's sockets, is looked at each time a container starts.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heron_core.errors import ProtocolError
from heron_core.typed_json import from_json, to_json
from heron_io.private_files import private

ENGINES_FILE = "engines.json"
SEARCH_PATH = "PYTHONPATH"
OTHERS = -1
"""Key of the default engine: for unlisted containers, such as additions of an update."""
OURS = "heron_core"
"""Marker file of an engine in a folder of the search path."""


class InstalledEngine(Struct, frozen=True):
    """An installed engine of the machine."""

    python: str
    """Its interpreter; empty for an image."""
    folder: str = ""
    """Folder of its packages if outside of the interpreter's own folders."""
    version: str = ""
    image: str = ""
    """Of containers on Kubernetes, instead of interpreter and folder."""

    def __str__(self) -> str:
        if self.image:
            return f"heronpy {self.version} ({self.image})"
        where = f"{self.python}, {self.folder}" if self.folder else self.python
        return f"heronpy {self.version} ({where})"

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Environment of a process of the engine: `given`, without other engines."""
        words = [each for each in given.get(SEARCH_PATH, "").split(os.pathsep) if each]
        paths = [each for each in words if not os.path.isdir(os.path.join(each, OURS))]
        paths[:0] = [self.folder] * bool(self.folder)
        rest = {key: value for key, value in given.items() if key != SEARCH_PATH}
        return {**rest, SEARCH_PATH: os.pathsep.join(paths)} if paths else rest


class Choice(Struct, frozen=True):
    """Engine of a container."""

    engine: InstalledEngine | None = None
    on_trial: bool = False
    """Whether it may fail: then the engine before is put in place again."""


class Engines:
    """The choices for the containers of one scheduler."""

    def __init__(self, folder: str) -> None:
        """`folder`: the topology's socket folder."""
        self._path = os.path.join(folder, ENGINES_FILE)

    def of(self, container: int) -> Choice:
        """The engine of a container."""
        every = self._all()
        found = every.get(str(container)) or every.get(str(OTHERS), {})
        try:
            return from_json(Choice, found, ENGINES_FILE)
        except ProtocolError:  # written by a foreign program; ours writes atomically
            return Choice()

    def choose(self, container: int, choice: Choice) -> None:
        """Set the engine from the container's next start on."""
        entry = {"engine": to_json(choice.engine), "on_trial": choice.on_trial}
        new = f"{self._path}.new"
        with open(new, "w", encoding="utf-8", opener=private) as file:
            json.dump({**self._all(), str(container): entry}, file)
        os.replace(new, self._path)

    def _all(self) -> dict[str, Any]:
        try:
            with open(self._path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
