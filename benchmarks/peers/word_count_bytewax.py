"""Word count on bytewax: one source, redistribute, flat_map, count_final, two processes.

As its documentation writes a word count. Nothing is acked and no recovery is configured.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from benchmarks import workload
from benchmarks.peers.bytewax_cluster import Sink, Source, run_cluster

BATCH_SENTENCES = 1000


def main() -> None:
    """Run the cluster once, check every count, report."""
    parser = workload.count_parser(__doc__, 1_000_000)
    parser.add_argument("--batch", type=int, default=BATCH_SENTENCES, help="sentences per batch")
    options = parser.parse_args()
    sentences_wanted = workload.sentence_count(options.count)
    first, last, outcomes = run_cluster(partial(build, sentences_wanted, options.batch))
    merged: Counter[str] = Counter()
    for counts in outcomes:
        merged.update(counts)
    workload.check_counts(merged, sentences_wanted)
    workload.report(merged.total(), first, last)


def build(sentences_wanted: int, batch_sentences: int, results: Any) -> Dataflow:
    """The dataflow, built alike in both processes."""
    flow = Dataflow("word_count")
    source = Source(records(sentences_wanted), batch_sentences, results)
    sentences = op.redistribute("shuffle", op.input("source", flow, source))
    words = op.flat_map("split", sentences, str.split)
    counts = op.count_final("count", words, lambda word: word)
    op.output("sink", counts, Sink(counting_sink, results))
    return flow


def records(sentences_wanted: int) -> Iterator[str]:
    """The pool of sentences round and round, as many as wanted."""
    return islice(chain.from_iterable(repeat(workload.sentences())), sentences_wanted)


def counting_sink() -> tuple[Any, dict[str, int]]:
    """What to call with a batch of (word, count), and where the counts gather."""
    counts: dict[str, int] = {}
    return counts.update, counts


if __name__ == "__main__":
    main()
