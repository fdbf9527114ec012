"""Bytes that a stream manager's sockets have carried: by instance here, by other container."""

from collections.abc import Callable, Iterator

from heron_core.errors import ProtocolError
from heron_core.wire.frames import Frames, Kind, header_of, size_of
from heron_core.wire.merged import split

UNKNOWN = 0
"""Stands for the container of a peer that has not said yet who it is."""
CONNECTIONS_MAX = 10_000
"""That are remembered: a peer has one, and another one when it was away."""

ContainerOf = Callable[[int], int | None]


class Network:
    """Counted since the process began."""

    def __init__(self, container_of: ContainerOf) -> None:
        """`container_of`: where a task is."""
        self._container_of = container_of
        self._peers: dict[bytes, int] = {}
        """connection -> its container"""
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

    def from_peer(self, connection: bytes, frames: Frames) -> None:
        """A message of another stream manager, of which only the connection is known."""
        container = self._peers.get(connection)
        if container is None:
            container = self._known(connection, frames)
        self._from_peers[container] = self._from_peers.get(container, 0) + size_of(frames)

    def _known(self, connection: bytes, frames: Frames) -> int:
        """Whose connection it is, as the headers of a message say."""
        try:
            container = next(filter(None, self._senders(frames)), UNKNOWN)
        except ProtocolError:
            return UNKNOWN
        if container != UNKNOWN:
            if len(self._peers) >= CONNECTIONS_MAX:
                self._peers.clear()
            self._peers[connection] = container
        return container

    def _senders(self, frames: Frames) -> Iterator[int | None]:
        for each in split(frames):
            head = header_of(each)
            # Of back-pressure the source is a container, of all else a task.
            is_control = head.kind == Kind.CONTROL
            yield head.source if is_control else self._container_of(head.source)

    def statistics(self) -> dict[str, dict[int, int]]:
        """For the heartbeat."""
        return {
            "task_bytes_in": dict(self._to_tasks),
            "task_bytes_out": dict(self._from_tasks),
            "peer_bytes_in": dict(self._from_peers),
            "peer_bytes_out": dict(self._to_peers),
        }
