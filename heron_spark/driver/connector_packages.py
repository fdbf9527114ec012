"""Spark's connectors that are packages of their own, and what to write where one is missing."""

import re

_MISSING = re.compile(
    r"[Ff]ailed to find (?:the )?data source: ([\w.]+)|DATA_SOURCE_NOT_FOUND.*?: ([\w.]+)"
)
_PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",
    "avro": "org.apache.spark:spark-avro_2.13:{spark}",
    "protobuf": "org.apache.spark:spark-protobuf_2.13:{spark}",
    "delta": "io.delta:delta-spark_{minor}_2.13:VERSION",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:VERSION",
}
"""Format -> Maven coordinates; VERSION is a number of the connector's own."""
_OTHERWISE = {"delta": ", or use TableSpout and delta_table, which do not need jars"}
"""Format -> what does without its package: a new Spark has no connector for Delta for months."""


def missing_package(text: str) -> str:
    """The cure in one line, if an error of Spark's says that a format is not there; else empty."""
    match = _MISSING.search(text)
    if match is None:
        return ""
    name = (match[1] or match[2]).rstrip(".").lower()
    template = _PACKAGES.get(name)
    if template is None:
        return f"Spark has no data source {name!r}: name its package in spark.jars.packages"
    import pyspark

    minor = ".".join(pyspark.__version__.split(".")[:2])
    package = template.format(spark=pyspark.__version__, minor=minor)
    remedy = (
        f"Spark's connector for {name} is missing: start the session with "
        f"spark.jars.packages={package}"
    )
    return f"{remedy}{_OTHERWISE.get(name, '')}"
