"""The same containers as tasks of Spark and as processes of the local scheduler: word count.

python -m benchmarks.spark_scheduler --rounds 3

Two containers on a local cluster of two workers: the processes are equal, and only their starter
differs. The first tuple is counted from the start of the command. For comparison: the time of a
bare SparkSession at the same master until its first job is done.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter

from benchmarks import figures, workload
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.measure import BenchmarkError
from benchmarks.reports import COUNT_KEY
from heron_engine.scheduler.backends.spark.masters import parse_master
from heron_engine.scheduler.backends.spark.session import environment_of

WORDS = 10_000_000
MASTER = "local-cluster[2,1,600]"
CONTAINERS = ("-w", "2")
ON_SPARK = ("--scheduler", "spark", "--master", MASTER)
LOCAL, SPARK, RATIO = "local scheduler", "spark", "ratio"
FIRST_LOCAL, FIRST_SPARK, BARE = "first tuple, local", "first tuple, spark", "bare session"

BARE_SESSION = f"""
from pyspark.sql import SparkSession
builder = SparkSession.builder.master({MASTER!r}).config("spark.executor.memory", "512m")
session = builder.config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.parallelize(range(2), 2).map(lambda each: each).collect()
print("ready", flush=True)
session.stop()
"""
COLUMNS = [
    Column(LOCAL, "two containers by the local scheduler", "words/s", ",.0f"),
    Column(SPARK, f"the same by Spark at {MASTER}", "words/s", ",.0f"),
    Column(RATIO, "time by Spark / time by the local scheduler", "", ".2f", 1.25),
    Column(FIRST_LOCAL, "from the command to the first tuple, local scheduler", "s", ".1f"),
    Column(FIRST_SPARK, "the same by Spark", "s", ".1f"),
    Column(BARE, "a bare SparkSession there until its first job is done", "s", ".1f"),
]


def word_count(words: tuple[str, ...]) -> tuple[float, float]:
    """(words a second, seconds to the first tuple) of one run; BenchmarkError for a wrong count."""
    sentences = workload.sentence_count(WORDS)
    counts: Counter[str] = Counter()
    first = last = 0.0
    with EngineRun("word_count", {COUNT_KEY: sentences}, words=words) as run:
        for report in run.reports():
            if report["kind"] == "first":
                first = report["at"]
            elif report["kind"] == "finished":
                last = max(last, report["at"])
                counts.update(report["counts"])
        workload.check_counts(counts, sentences)
        return counts.total() / (last - first), first - run.started_at


def bare_session() -> float:
    """Seconds from the start of Python until Spark has run a job."""
    with tempfile.TemporaryDirectory(prefix="heronpy-benchmark-") as folder:
        # As for the topology: Spark's workers write below its home otherwise.
        environment = environment_of(folder, parse_master(MASTER, 2), None, "127.0.0.1")
        began = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-c", BARE_SESSION],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
        ) as process:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                raise BenchmarkError(f"no session at {MASTER}")
            return time.monotonic() - began


def one_round() -> figures.Round:
    """All three in turn."""
    local, first_local = word_count(CONTAINERS)
    spark, first_spark = word_count((*CONTAINERS, *ON_SPARK))
    return {
        LOCAL: local,
        SPARK: spark,
        RATIO: local / spark,
        FIRST_LOCAL: first_local,
        FIRST_SPARK: first_spark,
        BARE: bare_session(),
    }


if __name__ == "__main__":
    figures.run("spark_scheduler", __doc__, COLUMNS, one_round)
