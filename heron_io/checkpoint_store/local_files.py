"""The checkpoint store that needs no server: files below one folder, TOPOLOGY/CHECKPOINT/TASK.

    header (16 bytes)  magic b"HCKP", u32 crc of the state, u64 its length; little endian
    state

A file is written beside its place, synced and renamed, so it is there as a whole or not at all.
Containers on several machines need a folder that all of them have (NFS, say).
"""

import os
import shutil
import struct
import threading
import zlib

from heron_io.atomic_files import replace_whole
from heron_io.checkpoint_store.protocol import CheckpointStoreError

_HEADER = struct.Struct("<4sIQ")
_MAGIC = b"HCKP"


class LocalFiles:
    """A CheckpointStore below a folder, which is made when something is saved."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def save(self, topology: str, checkpoint: int, task: int, state: bytes) -> None:
        """See CheckpointStore."""
        path = self._path(topology, checkpoint, task)
        # Of a task that was restarted, two processes may be at it for a moment.
        beside = f"{path}.{os.getpid()}.{threading.get_ident()}.part"
        head = _HEADER.pack(_MAGIC, zlib.crc32(state), len(state))
        try:
            replace_whole(path, (head, state), beside)
        except OSError as error:
            raise CheckpointStoreError(
                f"the state of task {task} cannot be saved at {path}: {error.strerror or error}"
            ) from error

    def load(self, topology: str, checkpoint: int, task: int) -> bytes:
        """See CheckpointStore."""
        path = self._path(topology, checkpoint, task)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise CheckpointStoreError(
                f"the state of task {task} cannot be read from {path}: {error.strerror or error}"
            ) from error
        return _state_in(data, path)

    def discard(self, topology: str, checkpoint: int) -> None:
        """See CheckpointStore."""
        path = os.path.dirname(self._path(topology, checkpoint, 0))
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise CheckpointStoreError(
                f"checkpoint {checkpoint} cannot be removed from {path}: {error.strerror or error}"
            ) from error

    def _path(self, topology: str, checkpoint: int, task: int) -> str:
        return os.path.join(self._folder, topology, str(checkpoint), str(task))


def _state_in(data: bytes, path: str) -> bytes:
    if len(data) < _HEADER.size:
        raise CheckpointStoreError(f"{path} is no state: it is cut after {len(data)} bytes")
    magic, crc, length = _HEADER.unpack_from(data)
    state = data[_HEADER.size :]
    if magic != _MAGIC or length != len(state) or crc != zlib.crc32(state):
        raise CheckpointStoreError(f"{path} is damaged: it is not what was saved there")
    return state
