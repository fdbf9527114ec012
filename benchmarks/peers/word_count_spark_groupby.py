"""Word count by Spark's own engine: explode, groupBy, count, all in the JVM but the source."""

from typing import Any

from pyspark.sql import functions as sf

from benchmarks import workload
from benchmarks.peers import spark_sentences


def main() -> None:
    """Run it once, check every count, report."""
    parser = workload.count_parser(__doc__, 10_000_000)
    wanted = workload.sentence_count(parser.parse_args().count)
    spark_sentences.run(wanted, query, counts_of)


def query(sentences: Any) -> Any:
    """As its documentation writes a word count."""
    return (
        sentences.select(sf.explode(sf.split("sentence", " ")).alias("word"))
        .groupBy("word")
        .count()
    )


def counts_of(rows: Any) -> dict[str, int]:
    """A batch of a million words has every word."""
    return {row["word"]: row["count"] for row in rows.collect()}


if __name__ == "__main__":
    main()
