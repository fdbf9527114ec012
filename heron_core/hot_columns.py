"""The hot path of columns: rows of a batch by slot of a fields grouping.

One source in two forms, as hot_path.py explains. hot_columns.h has the C functions that replace the
Python functions under `if not cython.compiled`. The slot of a key is the slot of
heron_core.algorithms.hashing. Compiled code hashes each row in Arrow's memory, which costs less
than a search for distinct keys with hashing in Python.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cython
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

CRC_BYTES = 4

if not cython.compiled:
    from array import array
    from zlib import crc32

    from heron_core.algorithms.hashing import HASH_BITS, spread

    def fold_texts(
        crcs: Any, letter: int, data: Any, offsets: Any, start: int, framed: bool
    ) -> None:
        """Extend the rows' checksums by texts or bytes; ValueError for a buffer shorter than its
        rows.
        """
        texts, ends = memoryview(data or b""), memoryview(offsets or b"").cast("i")
        if len(ends) < start + len(crcs) // CRC_BYTES + 1:
            raise ValueError("offsets of a column are shorter than its rows")
        for row in range(len(crcs) // CRC_BYTES):
            begin, end = ends[start + row], ends[start + row + 1]
            if not 0 <= begin <= end <= len(texts):
                raise ValueError("data of a column are shorter than its rows")
            _put_key(crcs, row, bytes((letter,)) + texts[begin:end], framed)

    def fold_numbers(crcs: Any, data: Any, start: int, framed: bool) -> None:
        """The same for whole numbers of 64 bits."""
        numbers = memoryview(data or b"").cast("q")
        if len(numbers) < start + len(crcs) // CRC_BYTES:
            raise ValueError("numbers of a column are shorter than its rows")
        for row in range(len(crcs) // CRC_BYTES):
            _put_key(crcs, row, b"n%d" % numbers[start + row], framed)

    def are_ascii(data: Any, offsets: Any, start: int, rows: int) -> bool:
        """What `are_plain_texts` returns."""
        texts, every = memoryview(data or b""), memoryview(offsets or b"").cast("i")
        ends = every[start : start + rows + 1].tolist()
        if start < 0 or rows < 0 or len(ends) != rows + 1 or ends != sorted(ends):
            return False
        begin, end = ends[0], ends[-1]
        return begin >= 0 and end <= len(texts) and bytes(texts[begin:end]).isascii()

    def _put_key(crcs: Any, row: int, key: bytes, framed: bool) -> None:
        words = memoryview(crcs).cast("I")
        head = len(key).to_bytes(4, "big") if framed else b""
        words[row] = crc32(head + key, words[row] ^ 0xFFFFFFFF) ^ 0xFFFFFFFF

    def ordered_by_slot(crcs: Any, slots: int) -> tuple[bytes, list[int]]:
        """The rows in the order of their slots, as uint32 in bytes, and how many each slot has."""
        words = memoryview(crcs).cast("I")
        slot_of_rows = [spread(crc ^ 0xFFFFFFFF) * slots >> HASH_BITS for crc in words]
        order = sorted(range(len(words)), key=slot_of_rows.__getitem__)
        return array("I", order).tobytes(), [slot_of_rows.count(slot) for slot in range(slots)]


def are_plain_texts(data: Any, offsets: Any, start: int, rows: int) -> bool:
    """Whether a column of texts in Arrow's form (ColumnKeys.add_texts) is in order, and ASCII."""
    return are_ascii(data, offsets, start, rows)


class ColumnKeys:
    """The keys of a batch's rows: told column by column, then divided over slots."""

    def __init__(self, rows: int, are_several: bool) -> None:
        """`are_several`: a key has the values of several columns."""
        self._crcs = bytearray(b"\xff" * (CRC_BYTES * rows))
        self._framed = are_several

    def add_texts(self, letter: int, data: Any, offsets: Any, start: int) -> None:
        """A column of texts (b"s") or bytes (b"b") in Arrow's form: `offsets`, int32 from `start`
        on, point into `data`. ValueError for a buffer shorter than its rows.
        """
        fold_texts(self._crcs, letter, data, offsets, start, self._framed)

    def add_numbers(self, data: Any, start: int) -> None:
        """A column of int64, from `start` on. ValueError if `data` is too short."""
        fold_numbers(self._crcs, data, start, self._framed)

    def divided(self, slots: int) -> tuple[bytes, list[int]]:
        """The rows in the order of their slots (uint32 in bytes, stable within a slot), and the
        number of rows per slot. Ends the use of the object.
        """
        order_and_counts: tuple[bytes, list[int]] = ordered_by_slot(self._crcs, slots)
        return order_and_counts
