"""Word count on Spark's Structured Streaming: the engine as a query, and Spark's own ways.

python -m benchmarks.spark_word_count --rounds 3 --count 10000000
"""

import argparse
import sys

from benchmarks.machine import machine
from benchmarks.measure import BenchmarkError
from benchmarks.report import markdown, write_json
from benchmarks.rounds import LEAST_ROUNDS, REPOSITORY, Contender, compete

PANDAS = "benchmarks.peers.word_count_spark_pandas"
GROUP_BY = "benchmarks.peers.word_count_spark_groupby"
PROGRAMS = {
    "engine-spark": ("benchmarks.engine_spark",),
    "applyInPandasWithState by word": (PANDAS, "--by=word"),
    "applyInPandasWithState by half": (PANDAS, "--by=half"),
    "the same, split in Python": (PANDAS, "--by=half", "--split=python"),
    "groupBy().count(), split in Python": (GROUP_BY, "--split=python"),
    "groupBy().count(), all in the JVM": (GROUP_BY,),
}

SHARES = {"applyInPandasWithState by word": 2 / 3}
"""The slowest counts 4 of 6 million words; three million of them are everybody's warm-up."""


def contender(name: str, program: tuple[str, ...]) -> Contender:
    """One program; all run with this Python, which has pyspark and pandas."""
    return Contender(
        name,
        lambda count: [sys.executable, "-m", *program, "--count", str(count)],
        share=SHARES.get(name, 1.0),
        is_engine=name.startswith("engine"),
    )


def main() -> None:
    """Let everybody run in turn, write and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--count", type=int, default=6_000_000, help="words, in millions")
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
