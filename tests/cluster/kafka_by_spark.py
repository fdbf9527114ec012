"""A PySpark program: a topic by Spark's own connector, a topology in its session, a Delta table.

python kafka_by_spark.py ADDRESS TOPIC FOLDER
"""

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from heron_api.state.keyed_state import value_state
from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.spark import dataframe_of, delta_table, spout_of

address, topic, folder = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address)
reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
records = reader.option("maxOffsetsPerTrigger", 30).load()


class Parity(Bolt):
    outputs = {"parity": "bigint", "number": "bigint"}

    def process(self, tup: Any) -> None:
        number = int(tup["text"])
        self.emit([number % 2, number])


class Sums(Bolt):
    outputs = {"parity": "bigint", "number": "bigint", "seen": "bigint"}
    seen = value_state(default=0)

    def process(self, tup: Any) -> None:
        self.seen.put(self.seen.get() + 1)
        self.emit([tup["parity"], tup["number"], self.seen.get()])


class Numbers(Topology):
    texts = spout_of(records.selectExpr("CAST(value AS STRING) AS text")).spec()
    parity = Parity.spec(inputs=[texts], par=2)
    sums = Sums.spec(inputs={parity: Grouping.fields("parity")}, par=2)


writer = dataframe_of(Numbers, spark, "sums").writeStream
writer = writer.foreachBatch(delta_table(Path(folder, "table")))
writer.option("checkpointLocation", str(Path(folder, "checkpoint"))).start().awaitTermination()
