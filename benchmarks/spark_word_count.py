"""Word count on Spark's Structured Streaming: the engine as a query, and Spark's own ways.

python -m benchmarks.spark_word_count --rounds 3 --count 10000000
python -m benchmarks.spark_word_count --programs columns,count-python
"""

import argparse
import sys
from dataclasses import dataclass

from benchmarks.driver import listed, names
from benchmarks.machine import machine
from benchmarks.measure import BenchmarkError
from benchmarks.report import markdown, write_json
from benchmarks.rounds import LEAST_ROUNDS, REPOSITORY, Contender, compete

PANDAS = "benchmarks.peers.word_count_spark_pandas"
GROUP_BY = "benchmarks.peers.word_count_spark_groupby"
ENGINE = "benchmarks.engine_spark"


@dataclass(frozen=True, slots=True)
class Program:
    """A module with its options, and its share of the word count."""

    name: str
    words: tuple[str, ...]
    share: float = 1.0


PROGRAMS = {
    "tuples": Program("engine-spark", (ENGINE,)),
    "columns": Program("engine-spark by columns", (ENGINE, "--columns")),
    # The slowest counts 4 of 6 million words; three million words warm up every contender.
    "pandas-word": Program("applyInPandasWithState by word", (PANDAS, "--by=word"), 2 / 3),
    "pandas-half": Program("applyInPandasWithState by half", (PANDAS, "--by=half")),
    "pandas-python": Program("the same, split in Python", (PANDAS, "--by=half", "--split=python")),
    "count-python": Program("groupBy().count(), split in Python", (GROUP_BY, "--split=python")),
    "count-jvm": Program("groupBy().count(), all in the JVM", (GROUP_BY,)),
}


def contender(program: Program) -> Contender:
    """One program; all use the running Python, with pyspark and pandas."""
    return Contender(
        program.name,
        lambda count: [sys.executable, "-m", *program.words, "--count", str(count)],
        share=program.share,
        is_engine=program.name.startswith("engine"),
    )


def main() -> None:
    """Run all contenders in turn, write and print the results."""
    options = parse()
    contenders = [contender(PROGRAMS[each]) for each in options.programs]
    try:
        results = compete(
            "spark_word_count", contenders, options.rounds, options.count, machine({})
        )
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
    print(f"wrote {write_json(results).relative_to(REPOSITORY)}", file=sys.stderr)
    print(markdown(results, "words"))


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = list(PROGRAMS)
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--count", type=int, default=6_000_000, help="words, in millions")
    parser.add_argument("--programs", type=names(known), default=known, help=listed(known))
    return parser.parse_args()


if __name__ == "__main__":
    main()
