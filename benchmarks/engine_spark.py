"""One run of the word count by the engine as a query of Spark, tuple by tuple or by columns.

python -m benchmarks.engine_spark --count 10000000 --columns
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import workload
from benchmarks.spark_batches import BATCH_SENTENCES, MASTER, Clock
from heron_core.records import replace
from heron_frontends.loading.load import load_topology
from heron_spark.driver.run import run_on_spark
from heron_spark.options import SparkOptions

TOPOLOGIES = Path(__file__).parent / "topologies"
BY_TUPLES, BY_COLUMNS = "spark_word_count.py", "spark_columnar_words.py"
REPOSITORY = str(Path(__file__).resolve().parent.parent)


def main() -> None:
    """Run it once, check every count, report."""
    parser = workload.count_parser(__doc__, 10_000_000)
    parser.add_argument("--columns", action="store_true", help="by Arrow's record batches")
    options = parser.parse_args()
    wanted = workload.sentence_count(options.count)
    file = TOPOLOGIES / (BY_COLUMNS if options.columns else BY_TUPLES)
    clock, counts = Clock(wanted), Counter[str]()

    def report(progress: Any) -> None:
        for result in progress.results:
            for line in result["printed"]:
                counts.update(json.loads(line.partition(" | ")[2]))
        clock.batch_done(sum(result["emitted"] for result in progress.results if result["spout"]))

    spec = load_topology(str(file)).with_config({"benchmark.count": wanted})
    spec = replace(spec, search_paths=(REPOSITORY, *spec.search_paths))
    # As large as the others' batches from the start, so that all have the same warm-up.
    how = SparkOptions(master=MASTER, max_batch=BATCH_SENTENCES, batch_secs=60.0)
    run_on_spark(spec, how, report)
    workload.check_counts(counts, wanted)
    clock.report()


if __name__ == "__main__":
    main()
