"""One run of the word count by the engine as a query of Spark.

python -m benchmarks.engine_spark --count 10000000
"""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import workload
from benchmarks.spark_batches import BATCH_SENTENCES, MASTER, Clock
from heron_spark.options import SparkOptions
from heron_spark.run import run_on_spark
from heronpy_compat.loading.load import load_topology

TOPOLOGY = Path(__file__).parent / "topologies" / "spark_word_count.py"
REPOSITORY = str(Path(__file__).resolve().parent.parent)


def main() -> None:
    """Run it once, check every count, report."""
    parser = workload.count_parser(__doc__, 10_000_000)
    wanted = workload.sentence_count(parser.parse_args().count)
    clock, counts = Clock(wanted), Counter[str]()

    def report(progress: Any) -> None:
        for fact in progress.facts:
            for line in fact["printed"]:
                counts.update(json.loads(line.partition(" | ")[2]))
        clock.batch_done(sum(fact["emitted"] for fact in progress.facts if fact["spout"]))

    spec = load_topology(str(TOPOLOGY)).with_config({"benchmark.count": wanted})
    spec = replace(spec, search_paths=(REPOSITORY, *spec.search_paths))
    # As large as the others' batches from the start, so that all have the same warm-up.
    options = SparkOptions(master=MASTER, max_batch=BATCH_SENTENCES, batch_secs=60.0)
    run_on_spark(spec, options, report)
    workload.check_counts(counts, wanted)
    clock.report()


if __name__ == "__main__":
    main()
