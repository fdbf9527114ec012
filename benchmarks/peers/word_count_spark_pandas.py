"""Word count by applyInPandasWithState: Python with state, as Spark offers it.

`--by word` follows Spark's documentation: a call of Python and a value of state for each word of a
batch. `--by half` is faster: a call for each half of the words, which counts a batch at once and
keeps a pickled dict.
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
    parser = spark_sentences.parser(__doc__)
    parser.add_argument("--by", choices=["half", "word"], default="half")
    options = parser.parse_args()
    run = by_word if options.by == "word" else by_half

    def query(sentences: Any) -> Any:
        return run(spark_sentences.words(sentences, options.split))

    spark_sentences.run(options.count, query, counts_of)


def by_half(words: Any) -> Any:
    """Rows of JSON, a row for each half."""
    halves = words.withColumn("half", sf.pmod(sf.hash("word"), sf.lit(HALVES)))
    return halves.groupBy("half").applyInPandasWithState(
        count_half, "counts string", "counts binary", "update", "NoTimeout"
    )


def by_word(words: Any) -> Any:
    """The rows, grouped by word."""
    return words.groupBy("word").applyInPandasWithState(
        count_word, "counts string", "count long", "update", "NoTimeout"
    )


def count_word(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """Count a word of a batch."""
    counted = (state.get[0] if state.exists else 0) + sum(map(len, frames))
    state.update((counted,))
    yield pd.DataFrame({"counts": [json.dumps({key[0]: counted})]})


def count_half(key: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """Count the words of a half in a batch."""
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
