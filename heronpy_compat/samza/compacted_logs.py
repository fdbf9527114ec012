"""Changelogs: logs of (key, value), with the newest value of a key in force. The file form.

Entries are numbered from 0. Positions are numbers of entries; what `append` has
returned from survives any crash. In a folder of any file system (`FileLog`):

    00000000000000000000-00000000000000000500     entries 0 to 499 as they were appended
    base-00000000000000000500/000000 …             newest entries of each key up to 499, in parts
    base-00000000000000000500/complete             the number of parts and entries; written last

A base is written from the store when the entries behind the last base are as many as the base's
own, so a log has at most two entries of a key, and a rewrite costs a constant share of appends.
Files that a base replaces are removed when no restore can ask for a position before the base.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

import msgpack

from heron_core.errors import ComponentError
from heron_io.checkpoint_store.opening import open_file_access

Entry = tuple[bytes, bytes | None]
"""(key, value); None as value deletes the key."""

ENTRIES_MIN = 1000
"""So many entries are not worth a base: a restore reads them within milliseconds."""
PART_BYTES_MAX = 1024 * 1024
"""Limit of a part of a base: a restore holds one part in memory."""
_SEGMENT = re.compile(r"(\d{20})-(\d{20})")
_BASE = re.compile(r"base-(\d{20})")
_COMPLETE = "complete"
_CHECKSUM_BYTES = 4


class ChangelogDamaged(ComponentError):
    """A changelog lacks entries, or differs from the written entries; one line."""


class CompactedLog(Protocol):
    """A changelog of one store of one task, with one writer at a time."""

    @property
    def end(self) -> int:
        """The position behind the newest entry."""

    def append(self, entries: Sequence[Entry]) -> int:
        """Append durably; the new end."""

    def read(self, start: int, end: int) -> Iterator[Entry]:
        """The entries from `start` up to `end`, perhaps without replaced entries."""

    def has_tail(self, position: int, age_secs: float) -> bool:
        """Whether `read` from `position` still has each deletion, so that a copy of the position
        and age needs no earlier entries."""

    def cut(self, position: int, value_of: Callable[[bytes], bytes | None]) -> int:
        """Undo the entries behind `position`; the new end. `value_of`: the value of a key at the
        position."""

    def compact(self, entries: Callable[[], Iterable[Entry]], end: int) -> None:
        """Write a base of `end`, the current end, if due; `entries` gives the whole store."""

    def forget(self, position: int) -> None:
        """No restore will ask for a position before this one."""

    def close(self) -> None:
        """Release clients and files."""


class FileLog:
    """A CompactedLog in a folder of any file system known to fsspec, by a URL."""

    def __init__(self, url: str) -> None:
        """Read the names of files; ChangelogDamaged if entries are missing."""
        self._files, self._folder = open_file_access(url)
        self._segments: list[tuple[int, int]] = []
        self._bases: dict[int, tuple[int, int]] = {}
        """End of a base -> (number of parts, number of entries)."""
        self._read_folder()

    def _read_folder(self) -> None:
        for name in sorted(self._files.names(self._folder)):
            if match := _SEGMENT.fullmatch(name):
                self._segments.append((int(match[1]), int(match[2])))
            elif match := _BASE.fullmatch(name):
                self._read_base(int(match[1]))
        self._check()

    def _read_base(self, end: int) -> None:
        """A base without `complete` was not finished: the segments still have the entries."""
        folder = self._base_folder(end)
        if self._files.size(f"{folder}/{_COMPLETE}") is None:
            self._files.remove_folder(folder)
            return
        said = json.loads(self._files.read(f"{folder}/{_COMPLETE}"))
        self._bases[end] = said["parts"], said["entries"]

    def _check(self) -> None:
        position = min(self._bases, default=0)
        for first, end in self._segments:
            if end <= position:  # left by a crash between a base and the removal of its segments
                continue
            if first != position:
                raise ChangelogDamaged(
                    f"{self._folder}: the changelog has entries up to {position} and from {first}"
                    " on: two processes have written, or files are missing; remove the folder to"
                    " start with an empty store"
                )
            position = end

    @property
    def end(self) -> int:
        """See CompactedLog."""
        return max(*self._bases, *(end for _, end in self._segments), 0, 0)

    @property
    def entries(self) -> int:
        """The number of entries read by a full restore."""
        base = max(self._bases, default=0)
        return self._base_entries + sum(end - first for first, end in self._segments if end > base)

    @property
    def _base_entries(self) -> int:
        return self._bases[max(self._bases)][1] if self._bases else 0

    def append(self, entries: Sequence[Entry]) -> int:
        """See CompactedLog."""
        first = self.end
        if not entries:
            return first
        segment = first, first + len(entries)
        self._files.write(self._segment_path(segment), _packed(entries))
        self._segments.append(segment)
        return segment[1]

    def read(self, start: int, end: int) -> Iterator[Entry]:
        """See CompactedLog; ChangelogDamaged for a changed file."""
        base = max((each for each in self._bases if each <= end), default=0)
        parts: Iterator[list[Entry]] = iter(())
        if start < base:
            folder, start = self._base_folder(base), base
            numbers = range(self._bases[base][0])
            parts = (self._unpacked(f"{folder}/{number:06d}") for number in numbers)
        segments = (
            self._unpacked(self._segment_path(segment))
            for segment in self._segments
            if start <= segment[0] and segment[1] <= end
        )
        return chain.from_iterable(chain(parts, segments))

    def has_tail(self, position: int, age_secs: float) -> bool:
        """See CompactedLog; a base has no deletions."""
        starts = {first for first, _ in self._segments} | {self.end}
        return position >= max(self._bases, default=0) and position in starts

    def cut(self, position: int, value_of: Callable[[bytes], bytes | None]) -> int:
        """See CompactedLog: the files are removed, newest first."""
        for end in sorted((each for each in self._bases if each > position), reverse=True):
            self._files.remove_folder(self._base_folder(end))
            del self._bases[end]
        while self._segments and self._segments[-1][1] > position:
            self._files.remove(self._segment_path(self._segments.pop()))
        if self.end != position:
            raise ChangelogDamaged(
                f"{self._folder}: the changelog is compacted beyond position {position}, which the"
                " checkpoint asks for; start from a newer checkpoint"
            )
        return position

    def compact(self, entries: Callable[[], Iterable[Entry]], end: int) -> None:
        """See CompactedLog."""
        tail = end - max(self._bases, default=0)
        if tail < max(self._base_entries, ENTRIES_MIN):
            return
        folder, number, total = self._base_folder(end), 0, 0
        for number, part in enumerate(_parts(entries()), 1):
            self._files.write(f"{folder}/{number - 1:06d}", _packed(part))
            total += len(part)
        said = json.dumps({"parts": number, "entries": total}).encode()
        self._files.write(f"{folder}/{_COMPLETE}", (said,))
        self._bases[end] = number, total

    def forget(self, position: int) -> None:
        """See CompactedLog."""
        base = max((each for each in self._bases if each <= position), default=0)
        for segment in [each for each in self._segments if each[1] <= base]:
            self._files.remove(self._segment_path(segment))
            self._segments.remove(segment)
        for end in [each for each in self._bases if each < base]:
            self._files.remove_folder(self._base_folder(end))
            del self._bases[end]

    def close(self) -> None:
        """See CompactedLog."""

    def _segment_path(self, segment: tuple[int, int]) -> str:
        return f"{self._folder}/{segment[0]:020d}-{segment[1]:020d}"

    def _base_folder(self, end: int) -> str:
        return f"{self._folder}/base-{end:020d}"

    def _unpacked(self, path: str) -> list[Entry]:
        data = self._files.read(path)
        body = data[_CHECKSUM_BYTES:]
        if zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "big") != data[:_CHECKSUM_BYTES]:
            raise ChangelogDamaged(f"{path}: the changelog's file is truncated or modified")
        return [(key, value) for key, value in msgpack.unpackb(body)]


def _packed(entries: Sequence[Entry]) -> tuple[bytes, bytes]:
    body: bytes = msgpack.packb(entries)
    return zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "big"), body


def _parts(entries: Iterable[Any]) -> Iterator[list[Entry]]:
    """Entries in lists of at most PART_BYTES_MAX, or of one larger entry."""
    part: list[Entry] = []
    size = 0
    for key, value in entries:
        part.append((key, value))
        size += len(key) + len(value or b"")
        if size >= PART_BYTES_MAX:
            yield part
            part, size = [], 0
    if part:
        yield part
