"""Local stores of a task: values by key in memory or on the local disk, with a changelog.

The steps of a write and of a commit, and what a kill between them leaves:

    put                  the newest values are in memory only        lost, with their messages
    changelog.append     durable for every host                      the local copy is behind
    local copy.apply     values and changelog position, one transaction
    offsets              of the task, behind all of its stores       messages are read again

So the local copy is always the changelog up to the copy's own position, a restore reads the rest of
the changelog, and a message is lost by none of the kills. State may be ahead of the offsets, as in
Samza; a transactional restore cuts the changelog at the position stored with the offsets.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from heron_core.errors import ComponentError
from heronpy_compat.samza.compacted_logs import CompactedLog, Entry
from heronpy_compat.samza.local_copies import LocalCopy
from heronpy_compat.samza.serdes import Serde

CHANGED_KEYS_MAX = 10_000
"""Changed keys that are kept in memory; more are flushed before the commit."""
ENTRIES_AT_ONCE = 1_000
"""A restore gives the local copy so many entries in one transaction."""


class KeyValueStore:
    """A store of one task; keys are ordered by their bytes."""

    def __init__(
        self, name: str, key: Serde, message: Serde, copy: LocalCopy, log: CompactedLog | None
    ) -> None:
        self.name = name
        self._key, self._message = key, message
        self._copy, self._log = copy, log
        self._changed: dict[bytes, bytes | None] = {}
        """Changes since the last flush; None deletes."""
        self.position = copy.position or 0
        """Behind the newest entry that is flushed; of a side input, its offset."""

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        packed = self._key_of(key)
        data = self._changed[packed] if packed in self._changed else self._copy.get(packed)
        return self._message.decoded(data)

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key; None deletes the key. ComponentError for a key or value that the
        serde does not take."""
        packed = self._key_of(key)
        try:
            self._change(packed, self._message.encoded(value))
        except (TypeError, ValueError) as error:
            raise ComponentError(f"stores.{self.name}.msg.serde: {error}") from None

    def delete(self, key: Any) -> None:
        """Remove a key, if it is there."""
        self._change(self._key_of(key), None)

    def get_all(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """Key -> value of the keys; None for a key without value."""
        return {key: self.get(key) for key in keys}

    def put_all(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Set several values."""
        for key, value in dict(entries).items():
            self.put(key, value)

    def delete_all(self, keys: Iterable[Any]) -> None:
        """Remove several keys."""
        for key in keys:
            self.delete(key)

    def range(self, start: Any, end: Any) -> Iterator[tuple[Any, Any]]:
        """(key, value) from `start` up to `end`, which is not included, in the order of the keys'
        bytes; changes made meanwhile may be seen."""
        return self._decoded(self._key_of(start), self._key_of(end))

    def all(self) -> Iterator[tuple[Any, Any]]:
        """(key, value) of all keys, as `range`."""
        return self._decoded(None, None)

    def flush(self) -> None:
        """Write the changes to the changelog, then to the local copy."""
        entries = list(self._changed.items())
        if self._log is not None:
            self.position = self._log.append(entries)
        self._copy.apply(entries, self.position)
        self._changed = {}

    def compact(self, retained: int | None) -> None:
        """After a flush: compact the changelog. `retained`: the oldest position that a restore may
        ask for; None: the newest."""
        if self._log is not None:
            self._log.compact(lambda: self._copy.scan(None, None), self.position)
            self._log.forget(self.position if retained is None else retained)

    def close(self) -> None:
        """Close the local copy and the changelog, without a flush."""
        self._copy.close()
        if self._log is not None:
            self._log.close()

    def _key_of(self, key: Any) -> bytes:
        try:
            packed = self._key.encoded(key)
        except (TypeError, ValueError) as error:
            raise ComponentError(f"stores.{self.name}.key.serde: {error}") from None
        if packed is None:
            raise ComponentError(f"store {self.name}: a key is not None")
        return packed

    def _change(self, key: bytes, value: bytes | None) -> None:
        self._changed[key] = value
        if len(self._changed) > CHANGED_KEYS_MAX:
            self.flush()

    def take(self, key: bytes, value: bytes | None, position: int) -> None:
        """A message of a side input: its bytes are the store's entry."""
        self.position = position
        self._change(key, value)

    def _decoded(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[Any, Any]]:
        for key, value in self._scan(start, end):
            yield self._key.decoded(key), self._message.decoded(value)

    def _scan(self, start: bytes | None, end: bytes | None) -> Iterator[Entry]:
        changed = {
            key: value
            for key, value in sorted(self._changed.items())
            if (start is None or key >= start) and (end is None or key < end)
        }
        waiting = iter(changed.items())
        next_change = next(waiting, None)
        for key, value in self._copy.scan(start, end):
            while next_change is not None and next_change[0] < key:
                if next_change[1] is not None:
                    yield next_change
                next_change = next(waiting, None)
            if key not in changed:
                yield key, value
        while next_change is not None:
            if next_change[1] is not None:
                yield next_change
            next_change = next(waiting, None)


@dataclass(frozen=True, slots=True)
class RestoredEntries:
    """What a restore has read of a changelog."""

    entries: int
    size_bytes: int
    """Of keys and values."""
    is_tail: bool
    """Whether the local copy was there, and only what it lacked was read."""


def restore(log: CompactedLog, copy: LocalCopy, position: int | None) -> RestoredEntries:
    """Bring a local copy to the changelog's end; or to `position`, where the changelog is cut.

    The copy has no position meanwhile: a restore that is killed begins anew.
    """
    end = log.end if position is None else position
    begin = copy.position
    is_tail = begin is not None and begin <= end and log.has_tail(begin, copy.age_secs)
    if begin is None or not is_tail:
        copy.clear()
        begin = 0
    entries, size_bytes = 0, 0
    reading = log.read(begin, end)
    while some := list(islice(reading, ENTRIES_AT_ONCE)):
        copy.apply(some, None)
        entries += len(some)
        size_bytes += sum(len(key) + len(value or b"") for key, value in some)
    if position is not None:
        end = log.cut(position, copy.get)
    copy.apply((), end)
    return RestoredEntries(entries, size_bytes, is_tail)
