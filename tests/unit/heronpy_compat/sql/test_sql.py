"""SQL over streamlets: rows of queries, against Python's own; and clauses that are refused."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from heron_api.topology import TopologyBuilder
from heronpy_compat.sql import SqlStream, sql
from heronpy_compat.sql.errors import SqlError
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.testing import TopologyTester
from tests.unit.heronpy_compat.sql.sql_support import APART, queried, rows_of, running
from tests.unit.heronpy_compat.streamlet.streamlet_support import nothing

CLICKS: list[dict[str, Any]] = [
    {"ad": "abc"[number % 3], "at": 1000 * (number - number % 4), "price": number, "gift": None}
    for number in range(60)
]
SALES: list[dict[str, Any]] = [
    {"ad": "abc"[number % 3], "at": 3500 * number, "amount": number} for number in range(15)
]
ADS: list[dict[str, Any]] = [
    {"ad": "a", "name": "Apples"},
    {"ad": "b", "name": "Bees"},
    {"ad": None, "name": "None"},
]
EXACT = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}


def at(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3", 7), ("7 / 2", 3.5), ("-7 DIV 2", -3), ("-7 % 3", -1), ("7.5 % 2", 1.5),
        ("gift + 1", None), ("gift = gift", None), ("gift IS NULL", True),
        ("gift IS NOT NULL", False), ("NOT (gift > 1)", None), ("FALSE AND gift > 1", False),
        ("gift > 1 AND FALSE", False), ("gift > 1 OR TRUE", True), ("gift > 1 OR FALSE", None),
        ("TRUE AND gift > 1", None), ("TRUE OR gift > 1", True), ("price IN (0, 1)", True),
        ("price IN (1, 2)", False), ("price IN (1, gift)", None), ("gift IN (1)", None),
        ("price BETWEEN 0 AND 1", True), ("price NOT BETWEEN 0 AND 1", False),
        ("price BETWEEN 0 AND gift", None), ("ad LIKE 'a%'", True), ("ad LIKE '_b'", False),
        ("gift LIKE 'a'", None), ("'a.c' LIKE 'a_c'", True), ("'abc' LIKE 'a.c'", False),
        ("CASE WHEN price > 1 THEN 'x' WHEN price = 0 THEN 'y' ELSE 'z' END", "y"),
        ("CASE price WHEN 1 THEN 'x' END", None), ("IF(price = 0, 'x', 'y')", "x"),
        ("IF(gift > 0, 'x', 'y')", "y"), ("COALESCE(gift, ad)", "a"), ("NVL(gift, 'z')", "z"),
        ("CONCAT(ad, '-', 1)", "a-1"), ("CONCAT(ad, gift)", None), ("ad || TRUE", "atrue"),
        ("ROUND(2.345, 2)", 2.35), ("ROUND(2.5)", 3.0), ("SUBSTR('abcd', 2, 2)", "bc"),
        ("SUBSTR('abcd', -3)", "bcd"), ("SUBSTR(gift, 1)", None), ("UPPER(ad)", "A"),
        ("LOWER('A')", "a"), ("LENGTH('abc')", 3), ("TRIM(' a ')", "a"), ("ABS(-2)", 2),
        ("FLOOR(1.5)", 1), ("CEIL(1.5)", 2), ("CAST('12' AS INT)", 12), ("CAST(1 AS STRING)", "1"),
        ("CAST(1 AS DOUBLE)", 1.0), ("price <> 0", False), ("price <= 0", True),
        ("(price >= 1)", False), ("price < 1", True), ("1.5e2", 150.0), ("NULL", None),
    ],
)  # fmt: skip
def test_an_expression_has_the_value_that_sql_gives_it(expression: str, expected: Any) -> None:
    """Of the first row: NULL is carried through calculations, and AND and OR know three values."""
    (row,) = queried(f"SELECT {expression} AS value FROM clicks", {"clicks": CLICKS[:1]})
    assert row == {"value": expected}
    assert type(row["value"]) is type(expected)


@pytest.mark.parametrize(
    ("connective", "table"),
    [
        ("AND", {"TRUE TRUE": True, "TRUE FALSE": False, "TRUE NULL": None,
                 "FALSE TRUE": False, "FALSE FALSE": False, "FALSE NULL": False,
                 "NULL TRUE": None, "NULL FALSE": False, "NULL NULL": None}),
        ("OR", {"TRUE TRUE": True, "TRUE FALSE": True, "TRUE NULL": True,
                "FALSE TRUE": True, "FALSE FALSE": False, "FALSE NULL": None,
                "NULL TRUE": True, "NULL FALSE": None, "NULL NULL": None}),
    ],
)  # fmt: skip
def test_a_connective_has_the_truth_table_of_three_values(
    connective: str, table: dict[str, bool | None]
) -> None:
    columns = [
        f"{left} {connective} {right} AS {left}_{right}" for left, right in map(str.split, table)
    ]
    (row,) = queried(f"SELECT {', '.join(columns)} FROM clicks", {"clicks": CLICKS[:1]})
    assert list(row.values()) == list(table.values())


def test_a_decided_connective_does_not_evaluate_its_right_side() -> None:
    found = queried(
        "SELECT price FROM clicks WHERE price = 0 OR 60 / price > 30", {"clicks": CLICKS[:3]}
    )
    assert found == [{"price": 0}, {"price": 1}]


def test_rows_are_filtered_and_columns_chosen() -> None:
    found = queried(
        "SELECT ad, price * 2 AS twice FROM clicks c WHERE c.price > 50 AND ad <> 'a'",
        {"clicks": CLICKS},
    )
    assert found == [
        {"ad": each["ad"], "twice": each["price"] * 2}
        for each in CLICKS
        if each["price"] > 50 and each["ad"] != "a"
    ]
    assert queried("SELECT * FROM clicks WHERE price = 7", {"clicks": CLICKS}) == [CLICKS[7]]
    # NULL is not TRUE.
    assert queried("SELECT ad FROM clicks WHERE gift = 1", {"clicks": CLICKS}) == []


def test_windows_of_each_key_have_their_aggregates() -> None:
    found = queried(
        """SELECT ad, window.start AS since, window.end AS until, count(*) AS n, sum(price) AS paid,
        avg(price) AS mean, min(price) AS least, max(price) + 1 AS most, count(gift) AS gifts,
        count(DISTINCT at) AS times, sum(gift) AS nothing
        FROM clicks GROUP BY ad, window(at, '20 seconds')""",
        {"clicks": CLICKS},
    )
    expected = []
    for ad in "abc":
        for start in (0, 20_000, 40_000):
            rows = [each for each in CLICKS
                    if each["ad"] == ad and start <= each["at"] < start + 20_000]  # fmt: skip
            prices = [each["price"] for each in rows]
            expected.append(
                {
                    "ad": ad, "since": at(start), "until": at(start + 20_000), "n": len(rows),
                    "paid": sum(prices), "mean": sum(prices) / len(prices), "least": min(prices),
                    "most": max(prices) + 1, "gifts": 0, "times": len({r["at"] for r in rows}),
                    "nothing": None,
                }
            )  # fmt: skip
    assert sorted(found, key=lambda row: (row["ad"], row["since"])) == expected


@pytest.mark.parametrize(
    "time",
    [1000, datetime(1970, 1, 1, 0, 0, 1), at(1000), "1970-01-01T01:00:01+01:00"],
)
def test_a_time_is_a_timestamp_a_text_or_milliseconds(time: Any) -> None:
    """UTC without a zone."""
    text = "SELECT window.start AS since FROM clicks GROUP BY window(at, '1 second')"
    assert queried(text, {"clicks": [{"at": time}]}) == [{"since": at(1000)}]


def test_windows_slide_and_groups_are_chosen_by_having() -> None:
    found = queried(
        """SELECT window.start AS since, count(*) AS n FROM clicks
        GROUP BY window(at, '8 seconds', '4 seconds') HAVING n > 4 AND max(price) < 40""",
        {"clicks": CLICKS},
    )
    expected = {at(start): 8 for start in range(0, 33_000, 4000)}
    assert {row["since"]: row["n"] for row in found} == expected


def test_sessions_end_behind_a_gap() -> None:
    found = queried(
        """SELECT session_window.start AS since, session_window.end AS until, count(*) AS n
        FROM clicks WHERE price < 8 OR price >= 40 GROUP BY session_window(at, '10 seconds')""",
        {"clicks": CLICKS},
    )
    assert [tuple(row.values()) for row in found] == [
        (at(0), at(14_000), 8),
        (at(40_000), at(66_000), 20),
    ]


def test_two_streams_are_joined_by_an_interval() -> None:
    """In either direction of BETWEEN, with a further condition and a window behind the join."""
    pairs = Counter(
        (click["ad"], click["price"], sale["amount"])
        for click in CLICKS
        for sale in SALES
        if click["ad"] == sale["ad"]
        and click["at"] - 2000 <= sale["at"] <= click["at"] + 3000
        and click["price"] > sale["amount"]
    )
    assert len(pairs) > 10
    for between in (
        "s.at BETWEEN c.at - INTERVAL 2 SECONDS AND c.at + INTERVAL 3 SECONDS",
        "c.at BETWEEN s.at - INTERVAL 3 SECONDS AND s.at + INTERVAL 2 SECONDS",
    ):
        on = f"FROM clicks c JOIN sales s ON c.ad = s.ad AND {between} AND c.price > s.amount"
        streams = {"clicks": CLICKS, "sales": SALES}
        found = queried(f"SELECT c.ad, c.price AS price, s.amount {on}", streams)
        assert Counter(tuple(row.values()) for row in found) == pairs
        (row,) = queried(f"SELECT count(*) AS n {on} GROUP BY window(c.at, '1 hour')", streams)
        assert row["n"] == pairs.total()


def test_a_stream_is_joined_with_a_table() -> None:
    clicks = [*CLICKS[:6], {"ad": None, "at": 0, "price": 100, "gift": None}]
    names = {"a": "Apples", "b": "Bees"}
    inner = queried("SELECT c.price, a.name FROM clicks c JOIN ads a ON a.ad = c.ad",
                    {"clicks": clicks}, {"ads": ADS})  # fmt: skip
    assert inner == [
        {"price": each["price"], "name": names[each["ad"]]}
        for each in clicks
        if each["ad"] in names
    ]
    left = queried(
        "SELECT c.price, a.name FROM clicks c LEFT JOIN ads a ON a.ad = c.ad AND c.price > 1",
        {"clicks": clicks}, {"ads": ADS},
    )  # fmt: skip
    assert left == [
        {"price": each["price"], "name": names.get(each["ad"]) if each["price"] > 1 else None}
        for each in clicks
    ]


def test_a_streamlet_of_tuples_is_queried_by_its_method() -> None:
    builder, topology = Builder(), TopologyBuilder("Query")
    topology.set_config(APART)
    pairs = builder.from_collection([("a", 1), ("b", 2), ("c", 3)])
    rows = pairs.sql("SELECT key, value FROM input WHERE value > 1", columns=["key", "value"])
    rows.set_name("rows").consume(nothing)
    builder.build(topology)
    with TopologyTester(topology) as tester:
        tester.run_spouts()
        assert rows_of(tester) == [{"key": "b", "value": 2}, {"key": "c", "value": 3}]


@pytest.mark.parametrize("seed", [1, 2])
def test_windows_are_exact_whatever_crashes(seed: int) -> None:
    text = """SELECT ad, window.start AS since, count(*) AS n, avg(price) AS mean,
    count(DISTINCT price) AS prices FROM clicks GROUP BY ad, window(at, '10 seconds')"""
    expected = queried(text, {"clicks": CLICKS})
    streams = {"clicks": CLICKS}
    with running(text, streams, config=EXACT, order="random", seed=seed) as tester:
        for _ in range(4):
            tester.run_spouts(9)
            tester.checkpoint()
            tester.run_spouts(4)
            tester.crash("eventwindow-1")
        tester.run_spouts()
        tester.finish()
        found = {tuple(row.items()) for row in rows_of(tester)}
    assert found == {tuple(row.items()) for row in expected}


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ({"ad": "a"}, "an element has no column price"),
        (("a", 1), "an element is a dict, or a tuple of the declared columns"),
        ({"ad": "a", "price": "x"}, "unsupported operand"),
    ],
)
def test_a_row_that_does_not_fit_fails_and_is_named(element: Any, message: str) -> None:
    with running("SELECT price - 1 AS less FROM clicks", {"clicks": [element]}) as tester:
        tester.run_spouts()
        problems = [*tester.errors("map-1"), *tester.errors("rows")]
        assert message in str(problems[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ad FROM clicks ORDER BY ad", "ORDER BY is not supported"),
        ("SELECT ad FROM clicks LIMIT 3", "LIMIT is not supported"),
        ("SELECT DISTINCT ad FROM clicks", "SELECT DISTINCT is not supported"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH is not supported"),
        ("SELECT ad FROM clicks UNION ALL SELECT ad FROM sales", "UNION is not supported"),
        ("INSERT INTO a SELECT ad FROM clicks", "INSERT is not supported"),
        ("SELECT ad FROM (SELECT ad FROM clicks) x", "a query within a query is not supported"),
        ("SELECT ad FROM clicks WHERE ad IN (SELECT ad FROM sales)", "a query within a query"),
        ("SELECT row_number() OVER (ORDER BY ad) AS n FROM clicks", "OVER is not supported"),
        ("SELECT 1", "FROM is missing"),
        ("SELECT ad FROM", "the query cannot be parsed"),
        ("SELECT ad FROM clicks; SELECT ad FROM clicks", "the text has 2 statements"),
        ("SELECT ad, * FROM clicks", r"\* beside other columns"),
        ("SELECT ad, price AS ad FROM clicks", "two columns of the result are called ad"),
        ("SELECT foo(ad) AS x FROM clicks", r"the expression FOO\(ad\) is not supported"),
        ("SELECT ad FROM clics", "did you mean 'clicks'"),
        ("SELECT x.ad FROM clicks", "nothing is called x"),
        ("SELECT price FROM clicks WHERE ad IS DISTINCT FROM 'a'", "is not supported"),
        ("SELECT ad LIKE ad AS x FROM clicks", "the pattern of LIKE must be a text"),
        ("SELECT CAST(ad AS DATE) AS x FROM clicks", "CAST to DATE is not supported"),
        ("SELECT count(*) AS n FROM clicks", "has no end in a stream"),
        ("SELECT ad FROM clicks WHERE count(*) > 1", "is not supported here"),
        ("SELECT ad, count(*) AS n FROM clicks GROUP BY ad", "needs one window"),
        ("SELECT ad FROM clicks HAVING ad = 'a'", "HAVING needs GROUP BY window"),
        ("SELECT price FROM clicks GROUP BY ad, window(at, '1 hour')", "neither in GROUP BY"),
        ("SELECT * FROM clicks GROUP BY window(at, '1 hour')", r"SELECT \* is not supported with"),
        ("SELECT count(*) AS n FROM clicks GROUP BY window(at, '1 year')", "is not a duration"),
        ("SELECT count(*) AS n FROM clicks GROUP BY window(at)", "window takes a time and"),
        ("SELECT sum(DISTINCT price) AS n FROM clicks GROUP BY window(at, '1 hour')", "COUNT"),
        ("SELECT ad FROM clicks GROUP BY ROLLUP (ad)", "GROUP BY ROLLUP is not supported"),
        ("SELECT c.ad FROM clicks c JOIN sales s ON c.ad = s.ad", "two streams need an interval"),
        ("SELECT c.ad FROM clicks c RIGHT JOIN ads a ON c.ad = a.ad", "RIGHT JOIN is not"),
        ("SELECT c.ad FROM clicks c CROSS JOIN ads a", "CROSS JOIN is not supported"),
        ("SELECT c.ad FROM clicks c JOIN ads a ON c.price > 1", "needs a column equal"),
        ("SELECT * FROM clicks c JOIN ads a ON c.ad = a.ad", r"SELECT \* is not supported with"),
        ("SELECT ad FROM clicks c JOIN ads a ON c.price = a.ad", None),
        ("SELECT c.ad FROM clicks c JOIN ads c ON c.ad = c.ad", "two sources are called c"),
        ("SELECT price FROM clicks c JOIN ads a ON c.ad = a.ad", "c.price or a.price"),
        ("SELECT a.nam FROM clicks c JOIN ads a ON c.ad = a.ad", "did you mean 'name'"),
        (
            """SELECT c.ad FROM clicks c LEFT JOIN sales s ON c.ad = s.ad AND s.at BETWEEN c.at AND
            c.at + INTERVAL 5 SECONDS""",
            "LEFT JOIN sales is not supported",
        ),
        (
            """SELECT c.ad FROM clicks c JOIN sales s ON c.ad = s.ad AND s.at BETWEEN c.at AND
            c.price + INTERVAL 5 SECONDS""",
            "is not an interval",
        ),
    ],
)
def test_what_is_not_supported_names_its_clause(text: str, message: str | None) -> None:
    builder = Builder()
    streams = {
        name: SqlStream(builder.from_collection(rows))
        for name, rows in (("clicks", CLICKS), ("sales", SALES))
    }
    if message is None:  # an unqualified column that one source alone declares
        sql(text, streams, {"ads": ADS})
        return
    with pytest.raises(SqlError, match=message) as caught:
        sql(text, streams, {"ads": ADS})
    assert "\n" not in str(caught.value)


def test_a_table_has_rows_that_are_dicts() -> None:
    clicks = SqlStream(Builder().from_collection(CLICKS))
    with pytest.raises(SqlError, match="the table ads is not made of rows that are dicts"):
        sql("SELECT ad FROM clicks", {"clicks": clicks}, {"ads": [7]})
