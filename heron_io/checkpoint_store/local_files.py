"""Checkpoint store without a server: files below one local folder.

A file is written beside its place, synced and renamed, and so appears completely or not at all.
Containers on several machines need a shared folder (NFS, for example).
"""

import os
import shutil
import threading
from collections.abc import Iterable, Iterator

from heron_io.atomic_files import remove, replace_whole
from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles

_PART_BYTES = 1 << 20


class LocalAccess:
    """FileAccess to this machine's files."""

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        """See FileAccess."""
        # Of a task that was restarted, two processes may be at it for a moment.
        beside = f"{path}.{os.getpid()}.{threading.get_ident()}.part"
        replace_whole(path, parts, beside, is_private=True)

    def read(self, path: str) -> bytes:
        """See FileAccess."""
        with open(path, "rb") as file:
            return file.read()

    def upload(self, local: str, path: str) -> None:
        """See FileAccess."""
        self.write(path, _parts_of(local))

    def download(self, path: str, local: str) -> None:
        """See FileAccess."""
        shutil.copyfile(path, local)

    def size(self, path: str) -> int | None:
        """See FileAccess."""
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        """See FileAccess."""
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []

    def remove(self, path: str) -> None:
        """See FileAccess."""
        remove(path)

    def remove_folder(self, path: str) -> None:
        """See FileAccess."""
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            pass


def _parts_of(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while part := file.read(_PART_BYTES):
            yield part


class LocalFiles(CheckpointFiles):
    """A CheckpointStore below a folder, which is made when something is saved."""

    def __init__(self, folder: str, key: bytes = b"") -> None:
        super().__init__(LocalAccess(), folder, key)
