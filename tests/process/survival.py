"""Outcome of the lines of topologies/surviving.py, by the records of its tasks."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

TOPOLOGY = Path(__file__).parent / "topologies" / "surviving.py"
NAME = "Surviving"
WORDS_PER_LINE = 5
START_SECS = 1.0
"""The first line is due so long after the command was started."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A line failed and emitted again."""

    at: float
    """CLOCK_MONOTONIC seconds."""
    age_secs: float
    """Since it was emitted last."""


@dataclass(frozen=True, slots=True)
class Survey:
    """`lines` lines compared with the records."""

    lines: int
    unacked: int
    unseen: int
    """Words that never reached the last bolt."""
    duplicates: int
    """Words seen twice."""
    failures: tuple[Failure, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing was lost."""
        return not self.unacked and not self.unseen


def settings(folder: Path, lines: int, rate: float, **more: float) -> tuple[list[str], float]:
    """The command line's options of a run, and when its first line is due (CLOCK_MONOTONIC)."""
    begin = time.monotonic() + START_SECS
    config = {"folder": folder, "lines": lines, "rate": rate, "begin": begin, **more}
    words = [("-o", f"surviving.{key.replace('_', '.')}={value}") for key, value in config.items()]
    return [word for pair in words for word in pair], begin


def acked(folder: Path) -> int:
    """How many lines were acked so far."""
    return sum(1 for _ in records(folder, "acked"))


def survey(folder: Path, lines: int) -> Survey:
    """What is in the records now."""
    done = set(map(int, records(folder, "acked")))
    seen = Counter(records(folder, "seen"))
    wanted = {f"{line}.{at}" for line in range(lines) for at in range(WORDS_PER_LINE)}
    failures = (each.split(":") for each in records(folder, "failed"))
    return Survey(
        lines,
        unacked=len(set(range(lines)) - done),
        unseen=len(wanted - set(seen)),
        duplicates=seen.total() - len(seen),
        failures=tuple(Failure(float(at), float(age)) for at, age in failures),
    )


def gaps(folder: Path, spouts: int, lines: int) -> list[int]:
    """Lines begun until the file `enough` came that were never acked, or whose words were not all
    seen."""
    stopped = set(map(int, records(folder, "stopped")))
    done, seen = set(map(int, records(folder, "acked"))), set(records(folder, "seen"))
    begun = [
        line
        for first in range(spouts)
        for line in takewhile(lambda each: each not in stopped, range(first, lines, spouts))
    ]
    return [
        line
        for line in begun
        if line not in done or any(f"{line}.{at}" not in seen for at in range(WORDS_PER_LINE))
    ]


def records(folder: Path, kind: str) -> Iterator[str]:
    """All records of one kind: acked, failed or seen."""
    for each in folder.glob(f"{kind}-*"):
        yield from each.read_text("ascii").split()
