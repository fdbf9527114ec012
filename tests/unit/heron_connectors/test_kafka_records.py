"""What users hand to KafkaSink is written right, or its tuple fails with a line that names it."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from heron_connectors.kafka import sink as kafka_sink
from heron_connectors.kafka.records import bytes_of, client_limit, headers_of, size_of
from heronpy_compat.connectors.kafka import KafkaSink
from heronpy_compat.testing import ComponentTester
from tests.connectors.fake_kafka import FakeBroker, client_in_memory

LIMIT = 1_000_000 - 36
"""What librdkafka takes by default for key and value."""
EXACT = "EFFECTIVELY_ONCE"
MODES = ("ATLEAST_ONCE", EXACT)


@contextmanager
def sink(mode: str, **more: Any) -> Iterator[tuple[ComponentTester, FakeBroker]]:
    """A sink of tuples (key, headers, value) into a broker in memory."""
    config = {
        "kafka.bootstrap.servers": "fake:9092",
        "kafka.topic": "rows",
        "kafka.key.position": 0,
        "kafka.headers.position": 1,
        "topology.reliability.mode": mode,
        **more,
    }
    fields = ["id", "about", "row"]
    with client_in_memory():
        broker = FakeBroker.installed()
        with ComponentTester(KafkaSink, inputs={"rows": fields}, config=config) as tester:
            yield tester, broker


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None), (b"\xff", b"\xff"), ("\u00e9", "\u00e9".encode()), ("", b""), (1, b"1"),
        (True, b"true"), (Decimal("1.10"), b'"1.10"'),
        (datetime(2026, 1, 2), b'"2026-01-02 00:00:00"'),
        ({"a": [None, {"b": Decimal(2)}]}, b'{"a": [null, {"b": "2"}]}'),
    ],
)  # fmt: skip
def test_values_are_written_as_what_they_are(value: Any, expected: bytes | None) -> None:
    assert bytes_of(value) == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "nan has no JSON"), ([1, math.inf], r"\[1, inf\] has no JSON"),
        ({"a": {1, 2}}, "a set is not a value of JSON"), ({"a": "\ud800"}, "half a character"),
        ("\ud800", "half a character"),
        ({1: 2, "1": 3}, "two keys have the same text"), (object(), "has no JSON"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", MODES)
def test_a_value_that_has_no_bytes_names_its_field(value: Any, reason: str, mode: str) -> None:
    with sink(mode) as (tester, _):
        for row in ([value, None, "x"], ["k", None, value]):
            field = "id" if row[0] is value else "row"
            with pytest.raises(ValueError, match=f"^{field}=.*{reason}"):
                tester.process(row)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []), ({}, []), ({"a": "\u00e9", "b": None}, [("a", "\u00e9".encode()), ("b", None)]),
        ([("a", b"1"), ["a", b"2"]], [("a", b"1"), ("a", b"2")]),
    ],
)  # fmt: skip
def test_headers_are_a_dict_or_pairs(value: Any, expected: list[Any]) -> None:
    assert headers_of(value, "about=") == expected


@pytest.mark.parametrize(
    "value", ["text", 7, ["a"], [("a", 1)], {1: "a"}, {"\ud800": "a"}, {"a": "\ud800"}, {"a\0": ""}]
)
def test_what_are_no_headers_names_its_field(value: Any) -> None:
    with (
        sink("ATLEAST_ONCE") as (tester, _),
        pytest.raises(ValueError, match=r"^about=.*(head|half)"),
    ):
        tester.process(["k", value, "x"])


@pytest.mark.parametrize("mode", MODES)
def test_a_record_that_is_too_large_names_its_field_and_the_cure(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is in a transaction, which it would keep from being committed for ever."""
    asked: list[str] = []

    def told(_: Any, topic: str) -> int:
        asked.append(topic)
        return 50_097

    monkeypatch.setattr(kafka_sink, "message_bytes_max", told)
    with sink(mode) as (tester, broker):
        with pytest.raises(ValueError, match=r"^row: .*999,965 .*message\.max\.bytes \(raise it"):
            tester.process([None, None, "x" * (LIMIT + 1)])
        with pytest.raises(
            ValueError, match=r"^row: .*50,001 .*50,000 of the topic rows \(raise it"
        ):
            tester.process(["k", None, "x" * 50_000])
        tester.process(["k", {"a": "b"}, "x" * 49_000])
    assert asked == ["rows"]
    assert not broker.records or mode != EXACT


@pytest.mark.parametrize("mode", MODES)
def test_a_topic_of_small_records_refuses_a_row_and_not_its_batch(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where records are committed one by one, brokers refuse it alone."""
    monkeypatch.setattr(kafka_sink, "message_bytes_max", lambda *_: 2_097)
    with sink(mode) as (tester, _):
        tester.process(["k", None, "x" * 1_900])
        if mode == EXACT:
            with pytest.raises(ValueError, match=r"^row: .*2,002 .*2,000 of the topic rows"):
                tester.process([None, None, "x" * 2_002])


def test_a_topic_whose_limit_is_not_told_and_compressed_records_have_the_clients_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_sink, "message_bytes_max", lambda *_: None)
    with sink("ATLEAST_ONCE") as (tester, _):
        tester.process([None, None, "x" * LIMIT])
    monkeypatch.setattr(kafka_sink, "message_bytes_max", lambda *_: 1000)
    settings = {"compression.type": "lz4", "message.max.bytes": 5_000_036}
    with sink("ATLEAST_ONCE", **{"kafka.producer": settings}) as (tester, _):
        tester.process([None, None, "x" * 5_000_000])
        with pytest.raises(ValueError, match=r"^row: .* more than the 5,000,000 of message"):
            tester.process([None, None, "x" * 5_000_001])


def test_a_position_that_a_tuple_does_not_have_is_named() -> None:
    with (
        sink("ATLEAST_ONCE", **{"kafka.key.position": 3}) as (tester, _),
        pytest.raises(
            ValueError, match=r"^kafka\.key\.position is 3, and a tuple has id, about, row"
        ),
    ):
        tester.process(["k", None, "x"])


def test_the_size_has_the_headers() -> None:
    assert size_of([b"key", b"value"]) == 8
    assert size_of([None, None, [("name", b"12"), ("n", None)]]) == 4 + 2 + 1 + 2 * 10
    assert client_limit({}).size_bytes == LIMIT
