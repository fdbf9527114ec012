"""Ten minutes of an unthrottled spout into a sleeping bolt: does any resource grow?

python -m benchmarks.soak --seconds 600 --sleep 0.05

With --sleep 0.0001 the queue passes both marks again and again: pauses come and go.

100-byte tuples without ids, default config, one container. Every second the benchmark reads each
process's PSS (/proc/PID/smaps_rollup) and open file descriptors, and the size of all log files; the
table shows each settled (a tenth of the time, 10 s at least), at its maximum, and at the end.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.engine_run import EngineRun
from benchmarks.machine import machine, machine_lines
from benchmarks.measure import BenchmarkError
from benchmarks.memory import memory_mib
from benchmarks.report import RESULTS, table
from benchmarks.titles import roles
from benchmarks.topologies.flood import SLEEP_KEY

SECONDS = 600.0
SLEEP_SECONDS = 0.05
LEAST_SECONDS = 20.0
EVERY_SECONDS = 1.0
SETTLE_SHARE = 0.1
SETTLE_LEAST_SECONDS = 10.0
KEPT_EVERY = 60
"""Samples in the JSON file: the table summarises all samples."""
KIB = 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """One process at one instant."""

    role: str
    pss_mib: float
    files: int


@dataclass(frozen=True, slots=True)
class Look:
    """All processes at one instant: process id -> usage; seconds since the bolt was up."""

    seconds: float
    processes: Mapping[int, Usage]
    log_kib: float


def look(seconds: float, logs: Path) -> Look:
    """Present usage; a process that ends meanwhile is left out."""
    found = {}
    for pid, role in roles().items():
        try:
            pss_mib, _ = memory_mib(pid)
            found[pid] = Usage(role, pss_mib, len(list(Path(f"/proc/{pid}/fd").iterdir())))
        except OSError:
            continue
    return Look(seconds, found, sum(file.stat().st_size for file in logs.rglob("*.log")) / KIB)


def watch(seconds: float, sleep_seconds: float) -> list[Look]:
    """One run, looked at every second; raises BenchmarkError when a process is lost."""
    with EngineRun("flood", {SLEEP_KEY: sleep_seconds}, until_done=False) as run:
        run.first("ready")
        begun = time.monotonic()
        looks = []
        while (elapsed := time.monotonic() - begun) < seconds:
            looks.append(look(elapsed, run.home))
            time.sleep(EVERY_SECONDS)
        looks.append(look(time.monotonic() - begun, run.home))
    lost = set(settled(looks).processes) - set(looks[-1].processes)
    if lost:
        raise BenchmarkError(f"processes {lost} did not live until the end")
    return looks


def settled(looks: Sequence[Look]) -> Look:
    """The first look after everything has started and filled up."""
    after = max(SETTLE_LEAST_SECONDS, looks[-1].seconds * SETTLE_SHARE)
    return next(each for each in looks if each.seconds >= after)


def rows(looks: Sequence[Look]) -> list[list[str]]:
    """A row per process, then one for the logs: settled, most, end."""
    first, last = settled(looks), looks[-1]
    found = []
    for pid, usage in first.processes.items():
        every = [each.processes[pid] for each in looks if pid in each.processes]
        end = last.processes[pid]
        memory = [usage.pss_mib, max(each.pss_mib for each in every), end.pss_mib]
        files = [usage.files, max(each.files for each in every), end.files]
        found.append([usage.role, *(f"{each:.1f}" for each in memory), *map(str, files)])
    sizes = (first.log_kib, max(each.log_kib for each in looks), last.log_kib)
    return [*found, ["all log files, KiB", *(f"{each:.1f}" for each in sizes), "", "", ""]]


def main() -> None:
    """Read the options, run, write JSON and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--sleep", type=float, default=SLEEP_SECONDS)
    options = parser.parse_args()
    if options.seconds < LEAST_SECONDS:
        parser.error(f"--seconds must be at least {LEAST_SECONDS:g}, or nothing has settled")
    described = machine({})
    try:
        looks = watch(options.seconds, options.sleep)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
    RESULTS.mkdir(exist_ok=True)
    header = ["process", "PSS MiB settled", "most", "end", "files settled", "most", "end"]
    found = rows(looks)
    kept = [asdict(each) for each in looks[::KEPT_EVERY]]
    content = {
        "benchmark": "soak",
        "machine": described,
        "sleep_seconds": options.sleep,
        "header": header,
        "rows": found,
        "looks": kept,
    }
    (RESULTS / "soak.json").write_text(json.dumps(content, indent=1) + "\n")
    print(f"{machine_lines(described)}\n\n{table(header, found)}")


if __name__ == "__main__":
    main()
