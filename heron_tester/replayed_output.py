"""Emitted tuples by stream and packed values: recorded, and in a replay."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import msgpack

from heron_core.errors import ProtocolError
from heron_core.wire.batch import COLUMNS, decode_batch, roots_of, split_fanout, targets_of
from heron_core.wire.batch import packed_rows as rows_of_body
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_core.wire.values import unpacker

Row = tuple[int, bytes]
"""Index of the stream, packed values."""
_BATCHES = (FrameKind.DATA, FrameKind.FANOUT)
ARRAY_OF_ONE = b"\x91"
"""Header of a body with one tuple."""


@dataclass(slots=True)
class SentRows:
    """Tuples in sent messages; each copy for another task counts."""

    rows: Counter[Row] = field(default_factory=Counter)
    columns: int = 0
    """Number of messages of columns, which are not compared."""
    positions: dict[int, int] = field(default_factory=dict)
    """root -> position in order"""
    roots: list[int] = field(default_factory=list)
    """In order: roots of a spout are ascending numbers."""

    def add(self, messages: Iterable[Frames]) -> None:
        """Add sent messages."""
        for frames in messages:
            head = header_of(frames)
            if head.kind not in _BATCHES:
                continue
            for root in sorted(roots_of(head, frames) - self.positions.keys()):
                self.positions[root] = len(self.roots)
                self.roots.append(root)
            if head.flags & COLUMNS:
                self.columns += 1
                continue
            self.rows.update(_rows(frames))


def _rows(frames: Frames) -> Iterator[Row]:
    head = header_of(frames)
    if head.kind == FrameKind.FANOUT:
        for _, one in split_fanout(head, frames, targets_of(frames)):
            yield from _rows(one)
        return
    batch = decode_batch(head, frames)
    streams: Iterable[int] = repeat(head.stream) if batch.streams is None else batch.streams
    yield from zip(streams, rows_of_body(batch.body), strict=False)


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """Emitted tuples: recorded, and in the replay."""

    recorded: int
    again: int
    """Recorded tuples also emitted by the replay."""
    missing: int
    """Recorded tuples not emitted by the replay."""
    further: int
    """Tuples emitted only by the replay, for instance from a buffer at the end of the records."""
    first_missing: str = ""
    columns: int = 0
    """Number of messages of columns, which are not compared."""

    @staticmethod
    def between(recorded: SentRows, replayed: SentRows) -> "OutputDifference":
        """Compare the recorded tuples with the tuples of the replay."""
        missing = recorded.rows - replayed.rows
        further = replayed.rows - recorded.rows
        total = recorded.rows.total()
        first = next(iter(missing), None)
        return OutputDifference(
            total, total - missing.total(), missing.total(), further.total(),
            "" if first is None else _text(first), recorded.columns,
        )  # fmt: skip


def _text(row: Row) -> str:
    try:
        values: Any = unpacker(pickles=False)(ARRAY_OF_ONE + row[1])[0]
    except (
        ProtocolError,
        ValueError,
        msgpack.UnpackException,
    ):  # packed by the topology's serializer
        values = row[1]
    return repr(values)[:200]
