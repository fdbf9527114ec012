"""Bytes that a stream manager's sockets have carried: by instance here, by other container."""

from heron_core.wire.frames import Frames, size_of
from heron_core.wire.links import container_of_link


class Network:
    """Counted since the process began."""

    def __init__(self) -> None:
        self._to_tasks: dict[int, int] = {}
        self._from_tasks: dict[int, int] = {}
        self._to_peers: dict[int, int] = {}
        self._from_peers: dict[int, int] = {}

    def to_task(self, task: int, frames: Frames) -> None:
        """A message for an instance."""
        self._to_tasks[task] = self._to_tasks.get(task, 0) + size_of(frames)

    def from_task(self, task: int, frames: Frames) -> None:
        """A message of an instance."""
        self._from_tasks[task] = self._from_tasks.get(task, 0) + size_of(frames)

    def to_peer(self, container: int, frames: Frames) -> None:
        """A message for another stream manager."""
        self._to_peers[container] = self._to_peers.get(container, 0) + size_of(frames)

    def from_peer(self, frames: Frames) -> None:
        """A message of another stream manager: of container 0 if it does not say which."""
        container = container_of_link(frames)
        self._from_peers[container] = self._from_peers.get(container, 0) + size_of(frames)

    def statistics(self) -> dict[str, dict[int, int]]:
        """For the heartbeat."""
        return {
            "task_bytes_in": dict(self._to_tasks),
            "task_bytes_out": dict(self._from_tasks),
            "peer_bytes_in": dict(self._from_peers),
            "peer_bytes_out": dict(self._to_peers),
        }
