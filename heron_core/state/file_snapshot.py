"""Snapshots that have files besides their bytes, such as those of a state larger than memory.

Code that keeps a state as bytes also keeps this one, and a checkpoint store saves the files that
the store does not have yet. The name of a file is made of its content, so no two files differ under
one name.

Reading all files for their names takes a while for a large state, and the main thread has no time
for that: the main thread takes a DeferredSnapshot, whose bytes are made by their first reader.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Protocol

DIGEST_CHARACTERS = 40
"""Characters of a SHA-256 in a file's name: 160 bits tell apart all files that there will ever
be."""


class FileSource(Protocol):
    """Where the files of a snapshot are."""

    def copy(self, name: str, path: str) -> None:
        """Copy a file to `path` on this machine; HeronError if the file cannot be read."""

    def read(self, name: str) -> bytes:
        """Content of a file; HeronError if the file cannot be read."""

    def local_path(self, name: str) -> str | None:
        """Path of a file on this machine; None if the file is elsewhere."""


class FileSnapshot(bytes):
    """The bytes of a snapshot, with its files."""

    files: Mapping[str, int]
    """name -> size in bytes"""
    source: FileSource

    @classmethod
    def of(cls, data: bytes, files: Mapping[str, int], source: FileSource) -> "FileSnapshot":
        """`data` with these files."""
        made = cls(data)
        made.files = files
        made.source = source
        return made


class DeferredSnapshot:
    """A snapshot that has been taken and whose bytes are made later, in any thread."""

    def __init__(self, make: Callable[[], bytes]) -> None:
        """`make` returns the same bytes at each call and in each thread, also in two threads at
        once; as a rule there is one call."""
        self._make = make
        self._made: bytes | None = None

    def made(self) -> bytes:
        """Bytes of the snapshot; raises the exception of `make` if there is one."""
        made = self._made
        if made is None:
            made = self._made = self._make()
        return made


StateBytes = bytes | DeferredSnapshot
"""A state on its way into a checkpoint store."""


def as_bytes(state: StateBytes) -> bytes:
    """The bytes of a snapshot."""
    return state.made() if isinstance(state, DeferredSnapshot) else state


def size_of(state: bytes) -> int:
    """Bytes of a state, its files included."""
    return len(state) + (sum(state.files.values()) if isinstance(state, FileSnapshot) else 0)


def digest_of(content: bytes) -> str:
    """Name of a file with this content."""
    return hashlib.sha256(content).hexdigest()[:DIGEST_CHARACTERS]
