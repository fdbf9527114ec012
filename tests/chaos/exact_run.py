"""One chaos run in EFFECTIVELY_ONCE: counts, windows and files, compared with exact results."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.chaos.chaos_run import QUIET_END_SECS, Ending, Wishes, kill_until_over
from tests.chaos.exact_results import Numbers, differences_of_diamond, differences_of_fan_in
from tests.chaos.new_versions import Source
from tests.chaos.sources import DIAMOND_SOURCE, FAN_IN_SOURCE
from tests.process.process_support import GONE_SECS, TOPOLOGIES, Place, Running, until

TOPOLOGY = TOPOLOGIES / "exact_windows.py"
INSTANCES = (12, 20, 40, 60)


@dataclass(frozen=True, slots=True)
class Shape:
    """One of the topologies of that file."""

    name: str
    components: tuple[str, ...]
    tasks: tuple[tuple[int, ...], ...]
    """Of each component, for each of INSTANCES."""
    differences: Callable[[Path, Numbers], list[str]]
    scalable: tuple[str, ...]
    """Components with a variable number of instances: keyed state or stateless."""
    source: Source


DIAMOND = Shape(
    "ExactDiamond",
    ("numbers", "others", "left", "right", "counts", "windows", "totals", "lines", "results"),
    (
        (2, 1, 1, 1, 2, 2, 1, 1, 1),
        (3, 1, 2, 2, 3, 3, 2, 2, 2),
        (4, 4, 6, 6, 6, 6, 4, 2, 2),
        (6, 5, 9, 9, 9, 9, 7, 3, 3),
    ),
    differences_of_diamond,
    ("left", "right", "counts", "windows", "totals"),
    DIAMOND_SOURCE,
)
FAN_IN = Shape(
    "ExactFanIn",
    ("numbers", "others", "gather", "running", "windows", "steps", "results"),
    (
        (2, 1, 2, 2, 2, 2, 1),
        (3, 2, 4, 4, 3, 2, 2),
        (5, 4, 10, 8, 7, 3, 3),
        (8, 6, 15, 12, 10, 5, 4),
    ),
    differences_of_fan_in,
    ("gather", "running", "windows"),
    FAN_IN_SOURCE,
)
SHAPES = (DIAMOND, FAN_IN)
"""The seed chooses."""
SPOUTS = ("numbers", "others")
NUMBERS_PER_SEC = 300
"""Of all spouts: two shared cores have time left for the recoveries."""
PAIR_SHARE = 0.25
START_SECS = 1.0


@dataclass(slots=True, kw_only=True)
class ExactReport(Ending):
    """Result of a run."""

    instances: int
    wrong: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether the run ended by itself with exact results."""
        return self.code == 0 and not self.wrong and self.kept_processes

    def __str__(self) -> str:
        killed = sum(each.stopped_secs is None for each in self.faults)
        end = f"exit code {self.code}" if self.code is not None else "DID NOT END"
        return (
            f"seed {self.wishes.seed}, {shape_of(self.wishes).name}, {self.instances} instances"
            f"{', ZooKeeper' if self.wishes.zookeeper else ''}: "
            f"{'ok' if self.good else 'FAILED'}; killed {killed}, stopped "
            f"{len(self.faults) - killed}{self.updates}; {len(self.wrong)} differences; {end} "
            f"{self.ended_secs:.1f} s after the killing"
        )

    def history(self) -> str:
        """All events and every difference, each on a line."""
        return "\n".join([str(self), *self.wrong[:20], *self.story()])


def run_exact(wishes: Wishes, instances: int) -> ExactReport:
    """One run; a failed run's folder is kept and named."""
    folder = Path(tempfile.mkdtemp(prefix="heron-chaos-"))
    place = Place(folder)
    report = ExactReport(wishes=wishes, instances=instances)
    try:
        _run(place, report)
        if report.good:
            place.nothing_is_left(GONE_SECS)
    finally:
        place.close()
        if report.good:
            shutil.rmtree(folder)
        else:
            print(f"logs and results of seed {wishes.seed}: {folder}")
    return report


def _run(place: Place, report: ExactReport) -> None:
    wishes, shape = report.wishes, shape_of(report.wishes)
    tasks = dict(zip(shape.components, shape.tasks[INSTANCES.index(report.instances)], strict=True))
    spouts = {name: tasks[name] for name in SPOUTS}
    rate = NUMBERS_PER_SEC / sum(spouts.values())
    count = int((wishes.seconds - QUIET_END_SECS) * rate)
    begin = time.monotonic() + START_SECS
    place.environment["EXACT_TASKS"] = json.dumps(tasks)
    config = {"folder": place.path, "count": count, "rate": rate, "begin": begin}
    options = ["-n", shape.name]
    options += [word for key, value in config.items() for word in ("-o", f"exact.{key}={value}")]
    options += wishes.run_options
    running = place.start("run", TOPOLOGY, "--containers", wishes.containers, *options)
    until(lambda: _are_up(running, report.instances), "all instances are there")
    scalable = {name: tasks[name] for name in shape.scalable}
    updates = wishes.updates(place, running, shape.name, scalable, shape.source)
    kill_until_over(running, begin, report, updates)
    report.wrong = shape.differences(place.path, Numbers(spouts, count))


def shape_of(wishes: Wishes) -> Shape:
    """Which topology a run has."""
    return SHAPES[wishes.seed % len(SHAPES)]


def _are_up(running: Running, instances: int) -> bool:
    """Faults are chosen from a complete set of processes."""
    found = 0
    for each in running.processes():
        with suppress(psutil.Error):
            found += " task " in " ".join(each.cmdline())
    return found == instances
