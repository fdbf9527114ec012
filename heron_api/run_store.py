"""Small named records of one run of a topology, readable and writable by any process of the run."""

from typing import Protocol


class RunStore(Protocol):
    """A completed `write` survives the death of any process, and is visible to any successor.

    Records belong to one run: a new run of a topology with an equal name starts empty, a resumed
    run keeps the records, and they are removed with the run's state. A name consists of words
    between slashes. A write takes some milliseconds for the disk: suitable for a record per
    batch, too slow for a record per tuple. Methods raise HeronErrors of one line.
    """

    def write(self, name: str, record: bytes) -> None:
        """Store a record, replacing a record of equal name."""

    def read(self, name: str) -> bytes | None:
        """The record with the name, or None."""

    def names(self, folder: str) -> list[str]:
        """The last words of the names that start with `folder` and a slash, sorted."""

    def remove(self, name: str) -> None:
        """Remove a record, if present."""


class MemoryRunStore:
    """In-process store, for engines that never replace a process."""

    def __init__(self) -> None:
        self._records: dict[str, bytes] = {}

    def write(self, name: str, record: bytes) -> None:
        """See RunStore."""
        self._records[name] = bytes(record)

    def read(self, name: str) -> bytes | None:
        """See RunStore."""
        return self._records.get(name)

    def names(self, folder: str) -> list[str]:
        """See RunStore."""
        begin = f"{folder}/"
        rest = (name.removeprefix(begin) for name in self._records if name.startswith(begin))
        return sorted({word.partition("/")[0] for word in rest})

    def remove(self, name: str) -> None:
        """See RunStore."""
        self._records.pop(name, None)
