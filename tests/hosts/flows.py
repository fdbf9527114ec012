"""The topologies on the hosts: their submission, progress and errors."""

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
"""Of the word count: a spout for each host."""
IDS_PER_SEC = 300
"""Two shared cores have time left for the recoveries."""
BURST = 4
"""Numbers that are due together: a number alone in its messages costs several times as much, and
the backlog of a partition has to flow off on two cores."""
START_SECS = 4.0
"""The first tuple is due so long after the submit begins, which takes about as long."""
FLOWING_CHECKPOINTS = 2
"""The second committed checkpoint has started after the first: its barriers have passed all links
of the whole network."""
FLOWING_BYTES = 40
"""Of the acks of each spout: some ten lines, whose fifty words went to all hosts."""
CHECKPOINT_AT = 3
"""Where its number is in part-lines-00000-00000007-WRITER-0.txt."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much is emitted, and since when."""

    ids: int
    secs: float
    """Limit of the time with faults; ids are emitted until their end."""
    begin: float
    """CLOCK_MONOTONIC seconds"""

    @classmethod
    def of(cls, ids: int, secs: float) -> "Load":
        """A flow with a start in a moment. Late numbers come at once after the faults."""
        return cls(max(ids, int(secs * IDS_PER_SEC)), secs, time.monotonic() + START_SECS)

    @property
    def left_secs(self) -> float:
        """Until the faults have to be over."""
        return self.begin + self.secs - time.monotonic()


class _Hurried:
    """A flow whose spouts emit the rest at full speed, on request."""

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
        """A line for each wrong result."""
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
        """Bytes written about acks by the slowest spout."""
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
