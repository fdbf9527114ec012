"""Nodes for the life of their owner; lost nodes are written again.

People and scripts remove state (`rm -rf ~/.heronpy/state`, a cleaned ZooKeeper) while topologies
run; no command could find their processes any more.
"""

from typing import Any

from heron_io.state_store.protocol import StateStore

POLL_SECS = 0.5
"""Between two looks: what is gone is back in about a second, and a ZooKeeper of hundreds of
topologies does not feel it. A store for which that is too often says so itself, by `poll_secs`."""


class NodeRegistry:
    """The nodes of one owner, and their values.

    A node counts as missing only after two consecutive checks: the end of a topology removes its
    nodes one after the other.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._values: dict[str, Any] = {}
        self._missed: frozenset[str] = frozenset()
        self._poll_secs: float = getattr(store, "poll_secs", POLL_SECS)
        self._poll_at = float("-inf")

    def keep(self, path: str, value: Any) -> None:
        """Set the value of a path from now on."""
        self._values[path] = value

    def value(self, path: str) -> Any:
        """Value of a registered path."""
        return self._values[path]

    def is_due(self, now: float) -> bool:
        """Whether a check is due; the next follows after the interval."""
        if now < self._poll_at:
            return False
        self._poll_at = now + self._poll_secs
        return True

    def missing(self) -> list[str]:
        """The missing paths, in order of registration."""
        names = {folder: self._store.children(folder) for folder in map(_folder, self._values)}
        gone = frozenset(path for path in self._values if _name(path) not in names[_folder(path)])
        again, self._missed = gone & self._missed, gone
        return [path for path in self._values if path in again]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]
