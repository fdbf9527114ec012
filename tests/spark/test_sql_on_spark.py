"""The text of a query gives equal rows on streamlets and in Spark SQL."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from heron_api.topology import TopologyBuilder
from heron_spark.driver.tables import settings
from heronpy_compat.sql import SqlStream, sql
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.testing import TopologyTester

BEGIN = datetime(2023, 3, 1, 12, tzinfo=UTC)
LAG_MS = 60_000
CLICK = "ad string, at timestamp, price bigint, part double"
SALE = "ad string, at timestamp, amount bigint"
AD = "ad string, name string"
ADS = [{"ad": "a", "name": "Apples"}, {"ad": "b", "name": "Bees"}, {"ad": "b", "name": "Bats"}]
INTERVAL = "c.ad = s.ad AND s.at BETWEEN c.at - INTERVAL 3 SECONDS AND c.at + INTERVAL 1 MINUTE"
QUERIES = (
    "SELECT * FROM clicks",
    "SELECT ad, price * 2 - 1 AS value, part / 2 AS half FROM clicks WHERE price > 3 OR part < 1",
    "SELECT upper(ad) AS u, ad || '-' || price AS text, length(ad) AS n FROM clicks",
    "SELECT CASE WHEN price > 5 THEN 'many' WHEN price > 2 THEN 'some' END AS kind FROM clicks",
    "SELECT price % 3 AS rest, -price % 3 AS negative, -price DIV 2 AS whole FROM clicks",
    "SELECT coalesce(ad, 'none') AS ad, price IN (1, 2) AS few, ad LIKE 'a%' AS is_a FROM clicks",
    "SELECT round(part, 1) AS part, cast(price AS string) AS price, abs(-price) AS a FROM clicks",
    "SELECT ad FROM clicks WHERE NOT (price > 3 AND part > 1) AND price BETWEEN 1 AND 8",
    """SELECT ad, window.start AS since, window.end AS until, count(*) AS n, count(price) AS p,
    sum(price) AS paid, avg(price) AS mean, min(part) AS least, max(part) AS most,
    count(DISTINCT price) AS prices FROM clicks GROUP BY ad, window(at, '20 seconds')""",
    """SELECT window.start AS since, count(*) AS n FROM clicks WHERE price > 1
    GROUP BY window(at, '1 minute', '15 seconds') HAVING count(*) > 3""",
    """SELECT session_window.start AS since, session_window.end AS until, ad, sum(price) AS paid
    FROM clicks GROUP BY ad, session_window(at, '7 seconds')""",
    "SELECT c.price, a.name FROM clicks c JOIN ads a ON c.ad = a.ad",
    "SELECT c.price, a.name FROM clicks c LEFT JOIN ads a ON c.ad = a.ad AND c.price > 4",
    f"SELECT c.ad, c.price, s.amount FROM clicks c JOIN sales s ON {INTERVAL} AND c.price > 2",
    f"""SELECT a.name, window.start AS since, count(*) AS n FROM clicks c JOIN sales s ON {INTERVAL}
    LEFT JOIN ads a ON a.ad = c.ad WHERE s.amount > 1 GROUP BY a.name, window(c.at, '2 minutes')""",
)


def clicks_and_sales(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """In disorder, within LAG_MS; a tenth of the values is NULL."""
    rng = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    def at(number: int) -> datetime:
        return BEGIN + timedelta(seconds=2 * number - rng.randint(0, 20))

    clicks = [
        {"ad": maybe(rng.choice("abc")), "at": at(number), "price": maybe(rng.randint(0, 9)),
         "part": maybe(rng.randint(0, 12) / 4)}
        for number in range(120)
    ]  # fmt: skip
    sales = [
        {"ad": maybe(rng.choice("abc")), "at": at(number * 5), "amount": rng.randint(0, 5)}
        for number in range(24)
    ]
    return clicks, sales


def on_streamlets(queries: Any, clicks: Any, sales: Any) -> list[Counter[Any]]:
    """All queries in one topology."""
    builder, topology = Builder(), TopologyBuilder("Queries")
    topology.set_config({"topology.streamlet.fusion": False})
    for number, text in enumerate(queries):
        streams = {
            name: SqlStream(builder.from_collection(rows), tuple(rows[0]), LAG_MS)
            for name, rows in (("clicks", clicks), ("sales", sales))
            if name in text
        }
        sql(text, streams, {"ads": ADS}).set_name(f"rows-{number}").log()
    builder.build(topology)
    with TopologyTester(topology) as tester:
        tester.run_spouts()
        tester.finish()
        found = [tester.values(f"rows-{number}", "output") for number in range(len(queries))]
    return [Counter(tuple(row.values()) for (row,) in rows) for rows in found]


def in_spark(spark: Any, queries: Any, clicks: Any, sales: Any) -> list[Counter[Any]]:
    for name, rows, schema in (("clicks", clicks, CLICK), ("sales", sales, SALE), ("ads", ADS, AD)):
        values = [tuple(row.values()) for row in rows]
        spark.createDataFrame(values, schema).coalesce(1).createOrReplaceTempView(name)
    with settings(spark, {"spark.sql.shuffle.partitions": "1"}):
        found = [spark.sql(text).collect() for text in queries]
    return [Counter(tuple(map(_in_utc, row)) for row in rows) for rows in found]


def _in_utc(value: Any) -> Any:
    """Spark gives timestamps in the zone of the process."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def test_each_query_has_the_rows_of_spark_sql(spark: Any) -> None:
    clicks, sales = clicks_and_sales(seed=1)
    found = on_streamlets(QUERIES, clicks, sales)
    expected = in_spark(spark, QUERIES, clicks, sales)
    assert all(expected)
    for text, rows, of_spark in zip(QUERIES, found, expected, strict=True):
        assert rows == of_spark, text
