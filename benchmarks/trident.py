"""Trident's word count: words a second through a state in memory, beside Storm's Trident.

python -m benchmarks.trident --rounds 3
python -m benchmarks.trident --rounds 3 --storm    # and Storm's, in one JVM

Batches of SENTENCES sentences of ten words, three under way, committed in turn; the clock runs from
the commit of batch FIRST to the commit of batch LAST. Here a commit is on disk before the next
commit starts; Storm's state is lost with its process, and Storm runs in one JVM.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.machine import machine, machine_lines
from benchmarks.measure import BenchmarkError
from benchmarks.rounds import LEAST_ROUNDS
from benchmarks.storm_jvm import NoStorm, java_command

SENTENCES = (50, 500)
"""Sentences in a batch: small batches show the cost of a batch, large ones the cost of a row."""
FIRST, LAST = 10, 50
WORDS_IN_SENTENCE = 10
STORM_SECONDS_MAX = 240.0


def columns(system: str) -> list[Column]:
    """The rate for each size of batches."""
    return [
        Column(
            f"{system} {size}",
            f"{system}, batches of {size} sentences",
            "1,000 words/s",
            ".1f",
        )
        for size in SENTENCES
    ]


def rate(size: int, secs: float) -> float:
    """Thousands of words a second."""
    return (LAST - FIRST) * size * WORDS_IN_SENTENCE / secs / 1000


def heronpy_round() -> figures.Round:
    """Each size on a topology of its own."""
    found = {}
    for size in SENTENCES:
        config = {"benchmark.batch": size, "benchmark.first": FIRST, "benchmark.last": LAST}
        with EngineRun("trident", config, until_done=False) as run:
            first, last = (each["at"] for each in run.first("committed", 2))
        found[f"heronpy {size}"] = rate(size, last - first)
    return found


def storm_round(command: Sequence[str]) -> figures.Round:
    """The same of peers/storm/Trident.java."""
    found = {}
    for size in SENTENCES:
        with TemporaryDirectory(prefix="heronpy-storm-") as folder:
            errors = Path(folder, "stderr.txt")
            with errors.open("wb") as stderr:
                finished = subprocess.run(
                    [*command, str(size), str(FIRST), str(LAST)],
                    cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False,
                    timeout=STORM_SECONDS_MAX,
                )  # fmt: skip
            told = [line for line in finished.stdout.splitlines() if line.startswith("{")]
            if not told:
                text = errors.read_text("utf-8", "replace")[-2000:]
                raise BenchmarkError(f"Storm told nothing\n{finished.stdout[-500:]}\n{text}")
        found[f"Storm {size}"] = rate(size, json.loads(told[0])["elapsed"])
    return found


def measure(rounds: int, storm: Sequence[str] | None) -> None:
    """Rounds in turn, the JSON and the table."""
    described = machine({})
    all_columns = columns("heronpy") + (columns("Storm") if storm else [])
    values = []
    for number in range(rounds):
        one = {**heronpy_round(), **(storm_round(storm) if storm else {})}
        values.append(figures.tell(number, rounds, one))
    found = [figures.figure_of(column, values) for column in all_columns]
    figures.write("trident", described, found)
    print(f"{machine_lines(described)}\n\n{figures.figures_table(all_columns, found)}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--storm", action="store_true", help="Storm's Trident besides")
    options = parser.parse_args()
    try:
        if not options.storm:
            measure(options.rounds, None)
            return
        with java_command("Trident") as command:
            measure(options.rounds, command)
    except (BenchmarkError, NoStorm) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
