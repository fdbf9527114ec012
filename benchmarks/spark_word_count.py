"""Word count on Spark's Structured Streaming: the engine as a query, and Spark's own ways.

python -m benchmarks.spark_word_count --rounds 3 --count 10000000
"""

import argparse
import sys

from benchmarks.machine import machine
from benchmarks.measure import BenchmarkError
from benchmarks.report import markdown, write_json
from benchmarks.rounds import LEAST_ROUNDS, REPOSITORY, Contender, compete

PROGRAMS = {
    "engine-spark": ("benchmarks.engine_spark",),
    "pandas-state, split in Python": (
        "benchmarks.peers.word_count_spark_pandas",
        "--split=python",
    ),
    "pandas-state, split in the JVM": ("benchmarks.peers.word_count_spark_pandas",),
    "groupBy, split in Python": ("benchmarks.peers.word_count_spark_groupby", "--split=python"),
    "groupBy, split in the JVM": ("benchmarks.peers.word_count_spark_groupby",),
}


def contender(name: str, program: tuple[str, ...]) -> Contender:
    """One program; all run with this Python, which has pyspark and pandas."""
    return Contender(
        name,
        lambda count: [sys.executable, "-m", *program, "--count", str(count)],
        is_engine=name.startswith("engine"),
    )


def main() -> None:
    """Let everybody run in turn, write and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--count", type=int, default=10_000_000, help="words, in millions")
    options = parser.parse_args()
    contenders = [contender(name, program) for name, program in PROGRAMS.items()]
    try:
        results = compete(
            "spark_word_count", contenders, options.rounds, options.count, machine({})
        )
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
    print(f"wrote {write_json(results).relative_to(REPOSITORY)}", file=sys.stderr)
    print(markdown(results, "words"))


if __name__ == "__main__":
    main()
