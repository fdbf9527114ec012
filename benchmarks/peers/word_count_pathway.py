"""Word count on pathway: a Python connector, Python split, Rust flatten and count, two processes.

Started by `pathway spawn`. Pathway reads a Python connector in its first process only and sends all
changes there; the first process checks and reports. Without acks.
"""

import argparse
import os
import socket
import subprocess
import sys
from itertools import chain, islice, repeat
from typing import Any

from benchmarks import workload

PROCESSES = 2
# Input of an interval is computed as a step. The default of 1500 is a little slower.
AUTOCOMMIT_MS = 500
# Limit of sentences read and not yet counted. Without a limit (the default) pathway reads its whole
# source into memory, gigabytes, and spends its time on page faults.
BACKLOG_SENTENCES = 50_000
# Set by `pathway spawn` in each of its processes.
PROCESS_ID = "PATHWAY_PROCESS_ID"


def main() -> None:
    """Start the processes, or run as a started process."""
    parser = workload.count_parser(__doc__, 2_000_000)
    parser.add_argument("--autocommit-ms", type=int, default=AUTOCOMMIT_MS)
    parser.add_argument("--backlog", type=int, default=BACKLOG_SENTENCES, help="0: unbounded")
    options = parser.parse_args()
    if PROCESS_ID in os.environ:
        run_process(options)
    else:
        sys.exit(subprocess.call([*spawn_command(), *sys.argv[1:]]))


def spawn_command() -> list[str]:
    """Command that starts the module in two processes."""
    pathway = os.path.join(os.path.dirname(sys.executable), "pathway")
    spawn = [pathway, "spawn", "--processes", str(PROCESSES), "--threads", "1"]
    ports = ["--first-port", str(free_first_port())]
    return [*spawn, *ports, sys.executable, "-m", "benchmarks.peers.word_count_pathway"]


def free_first_port() -> int:
    """A port free a moment ago, with free successors."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            try:
                socket.create_server(("127.0.0.1", port + 1)).close()
                return port
            except OSError:
                continue


def run_process(options: argparse.Namespace) -> None:
    """Build the graph, run it, and check and report where the changes arrive."""
    import pathway as pw

    sentences_wanted = workload.sentence_count(options.count)

    class Sentences(pw.io.python.ConnectorSubject):
        """Emits the pool of sentences round and round."""

        deletions_enabled = False

        def run(self) -> None:
            pool = chain.from_iterable(repeat(workload.sentences()))
            instants["first"] = workload.mark("first")
            for sentence in islice(pool, sentences_wanted):
                self.next(sentence=sentence)

    class SentenceSchema(pw.Schema):
        sentence: str

    @pw.udf
    def split(sentence: str) -> list[str]:
        return sentence.split()

    instants: dict[str, float] = {}
    counts: dict[str, int] = {}

    def on_change(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            counts[row["word"]] = row["count"]

    def on_end() -> None:
        instants["last"] = workload.mark("last")

    sentences = pw.io.python.read(
        Sentences(),
        schema=SentenceSchema,
        autocommit_duration_ms=options.autocommit_ms,
        max_backlog_size=options.backlog or None,
    )
    words = sentences.select(word=split(pw.this.sentence)).flatten(pw.this.word)
    counted = words.groupby(pw.this.word).reduce(pw.this.word, count=pw.reducers.count())
    pw.io.subscribe(counted, on_change, on_end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    if os.environ[PROCESS_ID] == "0":
        workload.check_counts(counts, sentences_wanted)
        workload.report(sum(counts.values()), instants["first"], instants["last"])


if __name__ == "__main__":
    main()
