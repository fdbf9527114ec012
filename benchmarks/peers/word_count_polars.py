"""Word count by polars in one process: split, explode and group_by of each batch; no exchange.

The practical limit of a columnar word count: the same batches of sentences as the engine's
columnar topology, the same expressions, but no process boundary, no network and no tracking.
"""

import polars as pl

from benchmarks import workload

BATCH_SENTENCES = 10_000
"""As benchmarks/engine_columnar.py."""
MERGED_PARTS = 50
"""Counts of batches that are added up at once."""


def main() -> None:
    """Count once, check every count, report."""
    parser = workload.count_parser(__doc__, 20_000_000)
    parser.add_argument("--batch", type=int, default=BATCH_SENTENCES, help="sentences per batch")
    options = parser.parse_args()
    sentences_wanted = workload.sentence_count(options.count)
    pool = workload.sentences()
    rows = pl.DataFrame({"sentence": pool * (1 + -(-options.batch // len(pool)))})
    first = workload.mark("first")
    counts = Counts()
    for start in range(0, sentences_wanted, options.batch):
        size = min(options.batch, sentences_wanted - start)
        counts.add(rows.slice(start % len(pool), size))
    found = dict(counts.merged().iter_rows())
    last = workload.mark("last")
    workload.check_counts(found, sentences_wanted)
    workload.report(options.count, first, last)


class Counts:
    """Counts of words: merged from time to time, as polars is fastest."""

    def __init__(self) -> None:
        self.parts: list[pl.DataFrame] = []

    def add(self, sentences: pl.DataFrame) -> None:
        """The words of one batch."""
        words = sentences.select(pl.col("sentence").str.split(" ").explode().alias("word"))
        self.parts.append(words.group_by("word").len("count"))
        if len(self.parts) == MERGED_PARTS:
            self.parts = [self.merged()]

    def merged(self) -> pl.DataFrame:
        """The count of each word so far."""
        return pl.concat(self.parts).group_by("word").agg(pl.col("count").sum())


if __name__ == "__main__":
    main()
