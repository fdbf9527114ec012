"""A snapshot that has files besides its bytes, as that of a state larger than memory has.

Whoever keeps a state as bytes keeps this one, too, and a checkpoint store saves the files that it
does not have yet. A file is called after its content, so that no two differ under one name.
"""

from collections.abc import Mapping
from typing import Protocol


class FileSource(Protocol):
    """Where the files of a snapshot are."""

    def copy(self, name: str, path: str) -> None:
        """Have the file at `path` of this machine; HeronError if it cannot be had."""

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
