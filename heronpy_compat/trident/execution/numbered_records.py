"""Numbered records of a run: data of a transaction for a replay or the next process.

A suspended and replaced process may resume and write again. Record names carry the start of the
writing process, and the record of the latest process is valid.
"""

from typing import Any

from heron_api.run_store import RunStore
from heron_core.wire.values import packer, unpacker

_DIGITS = 20
_pack, _unpack = packer(), unpacker(pickles=True)


class NumberedRecords:
    """The records in one folder of a run store, all read at the start."""

    def __init__(self, store: RunStore, folder: str, born_ms: int) -> None:
        """`born_ms`: start of the process."""
        self._store = store
        self._folder = folder
        self._born_ms = born_ms
        self._names: dict[int, list[str]] = {}
        self._values: dict[int, Any] = {}
        for name in store.names(folder):
            number = int(name.partition("-")[0])
            self._names.setdefault(number, []).append(name)
        for number, names in self._names.items():
            self._values[number] = self._read(max(names))

    def _read(self, name: str) -> Any:
        record = self._store.read(f"{self._folder}/{name}")
        return None if record is None else _unpack(record)[0]

    @property
    def numbers(self) -> list[int]:
        """The numbers with a record, ascending."""
        return sorted(self._values)

    def get(self, number: int) -> Any:
        """The record of a number, or None."""
        return self._values.get(number)

    def has(self, number: int) -> bool:
        """Whether a number has a record, possibly None."""
        return number in self._values

    def before(self, number: int) -> Any:
        """The record of the highest number below `number`, or None."""
        lower = [known for known in self._values if known < number]
        return self._values[max(lower)] if lower else None

    def put(self, number: int, value: Any) -> None:
        """Store a record durably."""
        name = f"{number:0{_DIGITS}d}-{self._born_ms:0{_DIGITS}d}"
        self._store.write(f"{self._folder}/{name}", _pack([value]))
        self._values[number] = value
        names = self._names.setdefault(number, [])
        if name not in names:
            names.append(name)

    def remove(self, number: int) -> None:
        """Forget the record of a number; HeronError, and it is kept, if the store refuses."""
        for name in self._names.get(number, ()):
            self._store.remove(f"{self._folder}/{name}")
        self._names.pop(number, None)
        self._values.pop(number, None)

    def remove_below(self, number: int) -> None:
        """Forget the records of all lower numbers."""
        for known in [each for each in self._values if each < number]:
            self.remove(known)
