"""The topologies that run on the hosts: how they are submitted, how far they are, what is wrong."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.exact_results import Numbers, differences_of_diamond
from tests.hosts.laboratory import CONTAINERS
from tests.process import survival
from tests.process.process_support import TOPOLOGIES

EFFECTIVELY_ONCE, ATLEAST_ONCE = "EFFECTIVELY_ONCE", "ATLEAST_ONCE"
TASKS = {"numbers": 3, "others": 1, "left": 1, "right": 1, "counts": 3, "windows": 1, "totals": 1,
         "lines": 2, "results": 2}  # fmt: skip
"""Some of them on each host; four sinks."""
SHAPE = "3,2,3,1"
"""The same of the word count: one spout for each host."""
IDS_PER_SEC = 300
"""Two shared cores have time left for the recoveries."""
BURST = 4
"""Numbers that are due together: a number alone in its messages costs several times as much, and
what has gathered in a partition has to flow off by the same two cores."""
START_SECS = 4.0
"""The first tuple is due so long after the submit begins, which takes about as long."""
FLOWING_CHECKPOINTS = 2
"""The second one that is committed has begun after the first: its barriers have passed all links
since the network is whole."""
FLOWING_BYTES = 40
"""Of the acks of each spout: some ten lines, whose fifty words went to all hosts."""
CHECKPOINT_AT = 3
"""Where its number is in part-lines-00000-00000007-WRITER-0.txt."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much is emitted, and since when."""

    ids: int
    secs: float
    """There are faults so long at most, and ids are emitted until they are over."""
    begin: float
    """CLOCK_MONOTONIC seconds"""

    @classmethod
    def of(cls, ids: int, secs: float) -> "Load":
        """One that begins in a moment. What is not due in its time comes at once when the faults
        are over."""
        return cls(max(ids, int(secs * IDS_PER_SEC)), secs, time.monotonic() + START_SECS)

    @property
    def left_secs(self) -> float:
        """Until the faults have to be over."""
        return self.begin + self.secs - time.monotonic()


class _Hurried:
    """A flow whose spouts emit what is left as fast as they can, once they are told to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hurry(self) -> None:
        """From now on."""
        (self._folder / "hurry").touch()


class ExactFlow(_Hurried):
    """Keyed counts, windows and four file sinks in EFFECTIVELY_ONCE."""

    mode = EFFECTIVELY_ONCE
    file = TOPOLOGIES / "exact_windows.py"
    topology = "ExactDiamond"

    def __init__(self, folder: Path, load: Load) -> None:
        super().__init__(folder)
        self._spouts = {name: TASKS[name] for name in ("numbers", "others")}
        self._count = load.ids // sum(self._spouts.values())
        self._rate = IDS_PER_SEC / sum(self._spouts.values())
        self._begin = load.begin

    @property
    def options(self) -> Sequence[str]:
        """For `heronpy submit`."""
        return (
            "-o", f"exact.folder={self._folder}",
            "-o", f"exact.count={self._count}",
            "-o", f"exact.rate={self._rate}",
            "-o", f"exact.begin={self._begin}",
            "-o", f"exact.burst={BURST}",
        )  # fmt: skip

    def progress(self) -> int:
        """The checkpoints that the sinks of ids have committed."""
        files = (self._folder / "lines").glob("part-*")
        return len({each.name.split("-")[CHECKPOINT_AT] for each in files})

    needed = FLOWING_CHECKPOINTS

    def differences(self) -> list[str]:
        """A line for each result that is not what it is to be."""
        return differences_of_diamond(self._folder, Numbers(self._spouts, self._count))


class ReplayedFlow(_Hurried):
    """A word count in ATLEAST_ONCE whose lines are replayed when they fail."""

    mode = ATLEAST_ONCE
    file = survival.TOPOLOGY
    topology = survival.NAME

    def __init__(self, folder: Path, load: Load) -> None:
        super().__init__(folder)
        self._lines = load.ids // survival.WORDS_PER_LINE
        self._rate = IDS_PER_SEC / survival.WORDS_PER_LINE
        self._begin = load.begin

    @property
    def options(self) -> Sequence[str]:
        """For `heronpy submit`."""
        return (
            "-o", f"surviving.folder={self._folder}",
            "-o", f"surviving.lines={self._lines}",
            "-o", f"surviving.rate={self._rate}",
            "-o", f"surviving.begin={self._begin}",
        )  # fmt: skip

    def progress(self) -> int:
        """What the slowest spout has written about acks, in bytes."""
        sizes = [each.stat().st_size for each in self._folder.glob("acked-*")]
        return min(sizes) if len(sizes) == int(SHAPE.split(",")[0]) else 0

    needed = FLOWING_BYTES

    def differences(self) -> list[str]:
        """What was lost."""
        found = survival.survey(self._folder, self._lines)
        return [
            f"{number} {what}"
            for number, what in (
                (found.unacked, f"of {self._lines} lines are not acked"),
                (found.unseen, "words never arrived"),
            )
            if number
        ]


Flow = ExactFlow | ReplayedFlow
FLOWS: dict[str, type[Flow]] = {EFFECTIVELY_ONCE: ExactFlow, ATLEAST_ONCE: ReplayedFlow}
assert int(SHAPE.split(",")[0]) == CONTAINERS
