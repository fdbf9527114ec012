"""Word count by applyInPandasWithState: Python with state, as Spark offers it.

Grouped by a half of the words, not by word: one call of Python and one value of state for each
half and batch. By word it would be 10,000 calls, and many times slower.
"""

import json
import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import functions as sf

from benchmarks.peers import spark_sentences

HALVES = 2


def main() -> None:
    """Run it once, check every count, report."""
    options = spark_sentences.arguments(__doc__)

    def query(sentences: Any) -> Any:
        words = spark_sentences.words(sentences, options.split)
        halves = words.withColumn("half", sf.pmod(sf.hash("word"), sf.lit(HALVES)))
        return halves.groupBy("half").applyInPandasWithState(
            count, "counts string", "counts binary", "update", "NoTimeout"
        )

    spark_sentences.run(options.count, query, counts_of)


def count(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """The words of one half in one batch."""
    counts: Counter[str] = pickle.loads(state.get[0]) if state.exists else Counter()
    for frame in frames:
        counts.update(frame["word"])
    state.update((pickle.dumps(counts),))
    yield pd.DataFrame({"counts": [json.dumps(counts)]})


def counts_of(rows: Any) -> dict[str, int]:
    """Both halves."""
    return {
        word: number for row in rows.collect() for word, number in json.loads(row["counts"]).items()
    }


if __name__ == "__main__":
    main()
