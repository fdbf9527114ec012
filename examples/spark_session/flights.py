"""Delays by carrier and hour of the day in a PySpark program, of a table or of a stream of files.

    python examples/spark_session/flights.py DEPARTURES.parquet

`examples/flights/prepare.py` writes the table of 2013. The bolt takes any DataFrame: one from
`spark.read` comes to an end, one from `spark.readStream` does not.
"""

import sys
from collections import Counter

from pyspark.sql import SparkSession
from pyspark.sql.functions import max_by, struct

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.spark import dataframe_of, spout_of

COLUMNS = ["carrier", "sched_dep_time", "dep_delay"]
SUMS = ["flights", "late", "delay_minutes"]


class Delays(Bolt):
    """Running sums of each carrier in each hour: a row for each flight that left."""

    outputs = {
        "carrier": "string",
        "hour": "bigint",
        "flights": "bigint",
        "late": "bigint",
        "delay_minutes": "bigint",
    }

    def initialize(self, config, context):
        self.flights, self.late, self.minutes = Counter(), Counter(), Counter()

    def process(self, tup):
        carrier, scheduled, minutes = tup.values
        if minutes is None:
            return  # it was cancelled
        # 1 745 is a quarter to six in the evening.
        key = carrier, scheduled // 100
        self.flights[key] += 1
        self.late[key] += minutes > 0
        self.minutes[key] += minutes
        self.emit([*key, self.flights[key], self.late[key], self.minutes[key]])


def delays(spark, departures):
    """Running sums of a DataFrame; the result is a stream if the input is."""

    class Flights(Topology):
        rows = spout_of(departures, COLUMNS).spec(par=2)
        delays = Delays.spec(inputs={rows: Grouping.fields("carrier")}, par=2)

    return dataframe_of(Flights, spark, "delays")


def newest(rows):
    """The last row of each carrier and hour, with the final sums."""
    last = max_by(struct(*SUMS), "flights").alias("last")
    return rows.groupBy("carrier", "hour").agg(last).select("carrier", "hour", "last.*")


if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    newest(delays(spark, spark.read.parquet(sys.argv[1]))).orderBy("carrier", "hour").show(20)
