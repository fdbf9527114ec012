"""Where the topology master was last found, kept beside a container's sockets.

A stream manager that starts while the state store is away asks the master there: data goes on
without a state store, so it has to go on after a stream manager's death, too. Only the owner of the
sockets' folder gets at the file, and what answers at the address has to have the topology's key.
"""

import json
import os
from typing import Any


class KnownMaster:
    """One container's file."""

    def __init__(self, socket_path: str) -> None:
        self._path = f"{socket_path}.master"

    def remember(self, node: Any) -> None:
        """The master's node in the state store; not remembered without a disk."""
        fresh = f"{self._path}.new"
        try:
            with open(fresh, "w", encoding="utf-8") as file:
                json.dump(node, file)
            os.replace(fresh, self._path)
        except OSError:
            pass

    def recall(self) -> Any | None:
        """The last remembered node, or None."""
        try:
            with open(self._path, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None
