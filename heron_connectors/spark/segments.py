"""Rows in numbered segments of a folder shared by two engines: one appends, the second reads
from any position, repeatedly if needed.

    FOLDER/WRITER/00000007.json         segment 7: its fields, its parts, its transaction
    FOLDER/WRITER/RANDOM.rows           a part: rows, complete before a segment names the part
    FOLDER/WRITER/.RANDOM.rows.tmp      being written

A writer is an instance of a sink, or a query of Spark. Segments are numbered 0, 1, 2, …; a
segment appears atomically by a link, which fails if the number exists. Retries therefore append
once: Spark is identified by the number of a batch, a topology by the id of a transaction.
"""

import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from heron_core.wire.values import packer, unpack
from heron_io.atomic_files import remove, sync_folder, write_synced

PART_BYTES = 8
"""Of chance in a part's name."""
ROWS_PER_BLOCK = 1000
"""Rows are packed and read so many at a time."""
REMEMBERED = 1000
"""So many segments back a transaction is looked for, and segments without rows are kept: a sink
repeats a commit of its newest checkpoints only."""
ORPHAN_SECS = 3600.0
"""Age at which an unreferenced file is known to belong to a dead writer."""
_SEGMENT = re.compile(r"(\d{8,})\.json")


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """A file of rows."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Segment:
    """What was added at once."""

    number: int
    fields: tuple[str, ...]
    parts: tuple[SegmentPart, ...]
    transaction: str = ""
    run: str = ""
    """Transaction of the writing topology; empty for a query of Spark's."""


class MissingSegment(Exception):
    """A segment to be read is missing; the text is one line."""


def writers_of(folder: str) -> list[str]:
    """The writers of a folder."""
    try:
        found = os.scandir(folder)
    except FileNotFoundError:
        return []
    with found:
        return sorted(each.name for each in found if each.is_dir() and each.name[0] != ".")


def unwritable(rows: Sequence[Any]) -> dict[int, str]:
    """Why a segment cannot have some of these rows, by their positions."""
    pack, problems = packer(), {}
    try:
        pack(list(rows))
    except (TypeError, ValueError, OverflowError):
        for at, row in enumerate(rows):
            try:
                packer()(row)
            except UnicodeEncodeError:
                problems[at] = f"{row!r:.200}: half a character (a lone surrogate) is not text"
            except (TypeError, ValueError, OverflowError) as error:
                problems[at] = f"{row!r:.200}: {error}"
    return problems


class SegmentLog:
    """The segments of one writer."""

    def __init__(self, folder: str, writer: str) -> None:
        self.folder = os.path.join(folder, writer)
        self.writer = writer
        self._seen: dict[str, int] = {}
        """Transaction -> segment, up to the last segment read."""
        self._last_seen = -1

    def numbers(self) -> list[int]:
        """Numbers of all existing segments, in order."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return sorted(int(found[1]) for name in names if (found := _SEGMENT.fullmatch(name)))

    def has(self, number: int) -> bool:
        """Whether a segment exists."""
        return os.path.exists(self._file(number))

    def segment(self, number: int) -> Segment:
        """Read a segment's description; MissingSegment if absent."""
        try:
            with open(self._file(number), encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            raise MissingSegment(f"segment {number} is missing in {self.folder}") from None
        parts = tuple(SegmentPart(*each) for each in found["parts"])
        fields, transaction = tuple(found["fields"]), found["transaction"]
        return Segment(number, fields, parts, transaction, found.get("run", ""))

    def rows(self, part: SegmentPart) -> Iterator[list[Any]]:
        """The rows of a part, in order; MissingSegment if another reader has removed it."""
        path = self._path(part.name)
        try:
            with open(path, "rb") as file:
                for block in msgpack.Unpacker(file, max_buffer_size=0):
                    yield from unpack(block)
        except FileNotFoundError:
            raise MissingSegment(
                f"{path} is missing: another reader has removed the file"
            ) from None

    # --- for the writer ---------------------------------------------------------------------------

    def write_part(self, rows: Iterable[Sequence[Any]]) -> SegmentPart:
        """A file of rows that no segment has yet."""
        os.makedirs(self.folder, exist_ok=True)
        name, count = f"{secrets.token_hex(PART_BYTES)}.rows", 0
        pack = packer()

        def blocks() -> Iterator[bytes]:
            nonlocal count
            waiting: list[list[Any]] = []
            for row in rows:
                waiting.append(list(row))
                if len(waiting) >= ROWS_PER_BLOCK:
                    yield msgpack.packb(pack(waiting))
                    count += len(waiting)
                    waiting.clear()
            yield msgpack.packb(pack(waiting))
            count += len(waiting)

        beside = self._path(f".{name}.tmp")
        write_synced(beside, blocks())
        os.rename(beside, self._path(name))
        return SegmentPart(name, count)

    def add(self, segment: Segment) -> bool:
        """Publish a segment; False, without effect, if the number exists."""
        os.makedirs(self.folder, exist_ok=True)
        beside = self._path(f".{secrets.token_hex(PART_BYTES)}.json.tmp")
        described = {
            "fields": segment.fields,
            "parts": [[each.name, each.rows] for each in segment.parts],
            "transaction": segment.transaction,
            "run": segment.run,
        }
        write_synced(beside, [json.dumps(described).encode()])
        try:
            os.link(beside, self._file(segment.number))
        except FileExistsError:
            return False
        finally:
            remove(beside)
        sync_folder(self.folder)
        return True

    def append(
        self,
        fields: Sequence[str],
        rows: Sequence[Sequence[Any]],
        transaction: str,
        run: str = "",
    ) -> int:
        """Add rows as the next segment, unless the transaction is there; returns its number."""
        self._read_new()
        if transaction in self._seen:
            return self._seen[transaction]
        number = self._last_seen + 1
        part = self.write_part(rows)
        if self.add(Segment(number, tuple(fields), (part,), transaction, run)):
            return number
        self.discard([part])  # a process that was taken for dead has been faster
        return self.append(fields, rows, transaction, run)

    def _read_new(self) -> None:
        """Learn what has been added since."""
        new = [each for each in self.numbers()[-REMEMBERED:] if each > self._last_seen]
        for number in new:
            self._seen[self.segment(number).transaction] = self._last_seen = number
        for known in list(self._seen)[:-REMEMBERED]:
            del self._seen[known]

    def discard(self, parts: Iterable[SegmentPart]) -> None:
        """Remove parts that no segment references, now or later."""
        for each in parts:
            remove(self._path(each.name))

    def remove_orphans(self, now: float) -> None:
        """Remove files of killed writers; a live writer may be at work."""
        named = {part.name for each in self.numbers() for part in self.segment(each).parts}
        for name in os.listdir(self.folder) if os.path.isdir(self.folder) else ():
            if name in named or _SEGMENT.fullmatch(name):
                continue
            path = self._path(name)
            try:
                is_old = now - os.stat(path).st_mtime > ORPHAN_SECS
            except FileNotFoundError:
                continue
            if is_old:
                remove(path)

    # --- for a single reader ----------------------------------------------------------------------

    def remove_until(self, number: int) -> None:
        """Remove the rows of the segment and of earlier segments. Descriptions are kept for a
        while, for writers that repeat a transaction."""
        numbers = self.numbers()
        for each in numbers:
            if each > number:
                break
            self.discard(self.segment(each).parts)
            if each < numbers[-1] - REMEMBERED:
                remove(self._file(each))

    def _file(self, number: int) -> str:
        return self._path(f"{number:08d}.json")

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)
