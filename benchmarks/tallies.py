"""Counters of a topology's tasks in shared memory: the measuring process reads, without requests.

A file of 64-bit integers, COLUMNS for each task. Only the standard library is used, because
measured processes import the module. One count costs a tuple about 0.1 microseconds.
"""

import math
import mmap
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path

TALLIES_KEY = "benchmark.tallies"
"""Config key: path of the file."""
BUCKETS_PER_DOUBLING = 12
"""A bucket of the histogram of latencies is 6 % wide."""
BUCKETS = 320
"""Of microseconds: up to 107 s, longer than any run."""
CELL_BYTES = 8


class Tally(IntEnum):
    """Counts of a task, followed by its histogram of latencies."""

    ACKED = 0
    FAILED = 1
    EXECUTED = 2
    LATENCIES = 3


COLUMNS = Tally.LATENCIES + BUCKETS


def create(path: Path, tasks: int) -> None:
    """A file for tasks 1 to `tasks`, all zero."""
    with path.open("wb") as file:
        file.truncate(tasks * COLUMNS * CELL_BYTES)


def cells(path: str) -> "memoryview[int]":
    """The whole file, shared by all processes that map the file."""
    with open(path, "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("q")


def cells_of(path: str, task: int) -> "memoryview[int]":
    """One task's part of the file."""
    return cells(path)[(task - 1) * COLUMNS : task * COLUMNS]


def bucket_of(seconds: float) -> int:
    """Where a latency is counted."""
    return min(BUCKETS - 1, int(BUCKETS_PER_DOUBLING * math.log2(1 + seconds * 1e6)))


def quantile_ms(histogram: Sequence[int], share: float) -> float:
    """The latency that `share` of all do not exceed, in milliseconds; NaN without any."""
    left = math.ceil(sum(histogram) * share)
    if left == 0:
        return math.nan
    for bucket, count in enumerate(histogram):
        left -= count
        if left <= 0:
            return float((2 ** ((bucket + 1) / BUCKETS_PER_DOUBLING) - 1) / 1e3)
    raise AssertionError("more samples than counted")


def total(all_cells: Sequence[int], tasks: Iterable[int]) -> list[int]:
    """The sum of these tasks' columns."""
    parts = [all_cells[(task - 1) * COLUMNS : task * COLUMNS] for task in tasks]
    return [sum(column) for column in zip(*parts, strict=True)]
