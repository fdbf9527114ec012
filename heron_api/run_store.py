"""Small named records of one run of a topology, which any process of it may read and write."""

from typing import Protocol


class RunStore(Protocol):
    """What `write` has returned from survives the death of any process, and any successor reads it.

    The records are those of one run: another run of a topology of the same name does not see them,
    one that resumes does, and they are removed with the run's other states. A name is words between
    slashes. A write takes some milliseconds, as the disk has to have it: a record for each batch is
    fine, a record for each tuple is not. What a method raises is a HeronError of one line.
    """

    def write(self, name: str, record: bytes) -> None:
        """Keep a record, in the place of one of the same name."""

    def read(self, name: str) -> bytes | None:
        """The record of that name, None if there is none."""

    def names(self, folder: str) -> list[str]:
        """The last words of the names that begin with `folder` and a slash, sorted."""

    def remove(self, name: str) -> None:
        """Remove a record, if it is there."""


class MemoryRunStore:
    """One in this process: where no process is ever replaced by another one."""

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
