"""Word count on Storm in Java, in its local mode: one JVM, no serialisation between its threads.

Its first million sentences are warm-up: its speed no longer grows after some eight seconds.
"""

import argparse
import json
import subprocess
import sys
from typing import Any

from benchmarks import workload
from benchmarks.storm_jvm import NoStorm, java_command

WARM_UP_SENTENCES = 1_000_000
PENDING = 20_000
"""As the engine has it in this benchmark."""


def main() -> None:
    """Run the topology once, check every count, report."""
    parser = workload.count_parser(__doc__, 5_000_000)
    parser.add_argument("--acked", action="store_true", help="every tuple anchored and acked")
    options = parser.parse_args()
    sentences_wanted = workload.sentence_count(options.count)
    try:
        with java_command("WordCount") as command:
            counts, at = run([*command, *words(options, sentences_wanted)])
    except NoStorm as error:
        sys.exit(str(error))
    workload.check_counts(counts, WARM_UP_SENTENCES + sentences_wanted)
    workload.report(options.count, at["first"], at["last"])


def words(options: argparse.Namespace, sentences_wanted: int) -> list[str]:
    """The program's arguments."""
    tracked = str(options.acked).lower()
    return [str(WARM_UP_SENTENCES), str(sentences_wanted), tracked, str(PENDING)]


def run(command: list[str]) -> tuple[dict[str, int], dict[str, float]]:
    """Its counts and its marks, which are printed as they come."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin as pool:
        pool.writelines(f"{sentence}\n" for sentence in workload.sentences())
    counts: dict[str, int] = {}
    at: dict[str, float] = {}
    for line in process.stdout:
        record: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
        if "mark" in record:
            at[record["mark"]] = workload.mark(record["mark"], record["at"])
        counts = record.get("counts", counts)
    process.wait()
    return counts, at


if __name__ == "__main__":
    main()
