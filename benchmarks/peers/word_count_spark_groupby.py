"""Word count by Spark's own engine: groupBy and count in the JVM, the split there or in Python."""

from typing import Any

from benchmarks.peers import spark_sentences


def main() -> None:
    """Run it once, check every count, report."""
    options = spark_sentences.parser(__doc__).parse_args()

    def query(sentences: Any) -> Any:
        return spark_sentences.words(sentences, options.split).groupBy("word").count()

    spark_sentences.run(options.count, query, counts_of)


def counts_of(rows: Any) -> dict[str, int]:
    """A batch of a million words has every word."""
    return {row["word"]: row["count"] for row in rows.collect()}


if __name__ == "__main__":
    main()
