"""Word count by the engine: 1 spout, 2 splitters, 2 counters, by `heronpy run`."""

from collections import Counter

from benchmarks import engine, workload
from benchmarks.engine_marks import parse, race, variant_config

MAX_SPOUT_PENDING = 20_000
"""Sentences under way, ten words each."""
TOPOLOGIES = {
    engine.AT_MOST_ONCE: "word_count",
    engine.ACKED: "word_count",
    engine.STREAMPARSE: "word_count_streamparse",
}


def main() -> None:
    """Run the topology once, check every count, report."""
    options = parse(__doc__, 1_000_000)
    sentences_wanted = workload.sentence_count(options.count)
    config = variant_config(options.variant, MAX_SPOUT_PENDING)
    topology = TOPOLOGIES[options.variant]
    found = race(topology, sentences_wanted, config, options.variant in engine.TRACKED)
    counts: Counter[str] = Counter()
    for each in found.finished:
        counts.update(each["counts"])
    workload.check_counts(counts, sentences_wanted)
    workload.report(counts.total(), found.first, found.last)


if __name__ == "__main__":
    main()
