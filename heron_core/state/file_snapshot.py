"""A snapshot that has files besides its bytes, as that of a state larger than memory has.

Whoever keeps a state as bytes keeps this one, too, and a checkpoint store saves the files that it
does not have yet. A file is called after its content, so that no two differ under one name.

To read all files for their names takes a while for a large state, which the main thread has no time
for: it takes a DeferredSnapshot, whose bytes whoever needs them first makes.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Protocol

DIGEST_CHARACTERS = 40
"""Of a SHA-256 in a file's name: 160 bits tell apart all files that there will ever be."""


class FileSource(Protocol):
    """Where the files of a snapshot are."""

    def copy(self, name: str, path: str) -> None:
        """Have the file at `path` of this machine; HeronError if it cannot be had."""

    def read(self, name: str) -> bytes:
        """Its content; HeronError if it cannot be had."""

    def local_path(self, name: str) -> str | None:
        """Where it is on this machine; None if it is elsewhere."""


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
    """A snapshot that is taken, and whose bytes are still to be made, in whichever thread."""

    def __init__(self, make: Callable[[], bytes]) -> None:
        """`make` gives the same whenever it is called, and in whichever threads, also in two at
        once; but as a rule it is called once."""
        self._make = make
        self._made: bytes | None = None

    def made(self) -> bytes:
        """The bytes; what `make` raises if it cannot."""
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
    """Of all of a state, its files included."""
    return len(state) + (sum(state.files.values()) if isinstance(state, FileSnapshot) else 0)


def digest_of(content: bytes) -> str:
    """What a file with this content is called after."""
    return hashlib.sha256(content).hexdigest()[:DIGEST_CHARACTERS]
