"""Snapshots with files besides their bytes, such as snapshots of a state larger than memory.

A FileSnapshot is bytes for any code that stores states, and a checkpoint store saves only new
files. The name of a file is a digest of its content, so files of equal name are equal.

Computing the names reads all files, which would stop the main thread for a large state: the main
thread takes a DeferredSnapshot, and the first reader computes the bytes.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Protocol

DIGEST_CHARACTERS = 40
"""Characters of a SHA-256 in a file's name: with 160 bits two different files never share a
name."""


class FileSource(Protocol):
    """Access to the files of a snapshot."""

    def copy(self, name: str, path: str) -> None:
        """Copy a file to `path` on this machine; HeronError if the file cannot be read."""

    def read(self, name: str) -> bytes:
        """Content of a file; HeronError if the file cannot be read."""

    def local_path(self, name: str) -> str | None:
        """Path of a file on this machine; None if the file is elsewhere."""


class FileSnapshot(bytes):
    """The bytes of a snapshot, with references to files."""

    files: Mapping[str, int]
    """name -> size in bytes"""
    source: FileSource

    @classmethod
    def of(cls, data: bytes, files: Mapping[str, int], source: FileSource) -> "FileSnapshot":
        """`data` with files."""
        made = cls(data)
        made.files = files
        made.source = source
        return made


class DeferredSnapshot:
    """A taken snapshot; the bytes are computed later, in any thread."""

    def __init__(self, make: Callable[[], bytes]) -> None:
        """`make` returns equal bytes at each call, also in two threads at once; usually called
        once."""
        self._make = make
        self._made: bytes | None = None

    def made(self) -> bytes:
        """Bytes of the snapshot; an exception of `make` is raised."""
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
    """Name of a file by its content."""
    return hashlib.sha256(content).hexdigest()[:DIGEST_CHARACTERS]
