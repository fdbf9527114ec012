"""Word counts in a PySpark program: bolts between a streaming DataFrame and a sink of Spark's.

    python examples/spark_session/word_counts.py LINES_FOLDER COUNTS_FOLDER CHECKPOINT_FOLDER

Kill it and start it again: the counts go on, and each row is in the Parquet files once.
"""

import sys
from collections import Counter

from pyspark.sql import SparkSession

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.spark import dataframe_of, spout_of


class Split(Bolt):
    outputs = {"word": "string"}

    def process(self, tup):
        for word in tup["value"].split():
            self.emit([word])


class Count(Bolt):
    outputs = {"word": "string", "count": "bigint"}

    def initialize(self, config, context):
        self.counts = Counter()

    def process(self, tup):
        word = tup["word"]
        self.counts[word] += 1
        self.emit([word, self.counts[word]])


def word_counts(spark, folder):
    files = spark.readStream.option("maxFilesPerTrigger", 1).text(folder)

    class WordCounts(Topology):
        lines = spout_of(files).spec()
        split = Split.spec(inputs=[lines], par=2)
        count = Count.spec(inputs={split: Grouping.fields("word")}, par=2)

    return dataframe_of(WordCounts, spark, "count")


if __name__ == "__main__":
    lines, counts, checkpoint = sys.argv[1:]
    rows = word_counts(SparkSession.builder.getOrCreate(), lines)
    query = rows.writeStream.option("checkpointLocation", checkpoint).start(counts)
    query.awaitTermination()
