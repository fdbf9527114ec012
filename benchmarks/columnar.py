"""Columns against tuples: the word count beside its peers, and sums by window and key.

python -m benchmarks.columnar words --rounds 3 --count 20000000
python -m benchmarks.columnar windows --rounds 3 --count 1000000

`words` counts 10-word sentences from 10,000 words, split and counted by two each, as word_count.py
does; `windows` sums events by second and key, and compares with a KeyedWindowBolt.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

from benchmarks import engine
from benchmarks.driver import PEER_PYTHON, Peer, listed, names
from benchmarks.engine_columnar import WINDOWS, WINDOWS_BY_TUPLES, WORDS, WORDS_ACKED
from benchmarks.machine import machine, packages_of
from benchmarks.measure import BenchmarkError
from benchmarks.report import markdown, write_json
from benchmarks.rounds import LEAST_ROUNDS, REPOSITORY, Contender, compete

# Each runs for about five seconds at the default count, so the slower ones move less.
PEERS = (
    Peer("bytewax", "word_count_bytewax", share=0.1),
    Peer("bytewax-batch-10000", "word_count_bytewax", ("--batch", "10000"), share=0.2),
    Peer("pathway", "word_count_pathway", share=0.1),
    Peer("polars", "word_count_polars"),
    Peer("storm", "word_count_storm", share=0.5),
    Peer("storm-acked", "word_count_storm", ("--acked",), share=0.25, tracked=True),
)
COUNTS = {"words": 20_000_000, "windows": 1_000_000}
TUPLES_SHARE = 0.2
WINDOWS_SHARE = 20.0
"""By columns so many times as many events as by tuples, so that both runs last seconds."""


def main() -> None:
    """Read the command line, run all contenders in turn, write and print the results."""
    options = parse()
    count = options.count or COUNTS[options.workload]
    contenders = windows() if options.workload == "windows" else words(options)
    is_words = options.workload == "words"
    try:
        packages = packages_of(options.peer_python) if is_words and options.peers else {}
        described = machine(packages)
        name = f"columnar_{options.workload}"
        results = compete(name, contenders, options.rounds, count, described)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
    print(f"wrote {write_json(results).relative_to(REPOSITORY)}", file=sys.stderr)
    print(markdown(results, "words" if is_words else "events"))


def parse() -> argparse.Namespace:
    """The options; a wrong option ends the program with a message."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = [each.name for each in PEERS]
    parser.add_argument("workload", choices=list(COUNTS))
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--count", type=int, default=0, help="words, or events by tuples")
    parser.add_argument("--peers", type=names(known), default=known, help=listed(known))
    parser.add_argument("--peer-python", type=Path, default=PEER_PYTHON)
    options = parser.parse_args()
    if options.rounds < LEAST_ROUNDS or options.count < 0:
        parser.error(f"--rounds must be at least {LEAST_ROUNDS}, --count positive")
    return options


def words(options: argparse.Namespace) -> list[Contender]:
    """The word count by columns, with its contenders, including the word count by tuples."""
    by_tuples = Contender(
        f"engine-{engine.AT_MOST_ONCE}",
        partial(engine.engine_command, "word_count", engine.AT_MOST_ONCE),
        share=TUPLES_SHARE,
    )
    peers = [
        Contender(each.name, partial(each.command, options.peer_python), each.share, each.tracked)
        for each in PEERS
        if each.name in options.peers
    ]
    return [columnar(WORDS), columnar(WORDS_ACKED), by_tuples, *peers]


def windows() -> list[Contender]:
    """The sums by columns and by tuples."""
    command = partial(engine.engine_command, "columnar", WINDOWS_BY_TUPLES)
    return [columnar(WINDOWS, WINDOWS_SHARE), Contender(WINDOWS_BY_TUPLES, command)]


def columnar(variant: str, share: float = 1.0) -> Contender:
    """One of ours."""
    return Contender(
        name=f"columnar-{variant}",
        command=partial(engine.engine_command, "columnar", variant),
        share=share,
        tracked=variant == WORDS_ACKED,
        is_engine=True,
    )


if __name__ == "__main__":
    main()
