"""HBase's sink with a stand-in for the gateway: rows, keys, and killed commits."""

from typing import Any

import pytest

from heron_connectors.hbase.cells import KEY_BYTES_MAX, cell_bytes, cells_of, merged, row_key
from heron_connectors.hbase.sink import cause_of
from heron_connectors.transactions import TransactionId
from heron_core.errors import ComponentError
from heronpy_compat.connectors.hbase import HBaseSink
from heronpy_compat.testing import ComponentTester, check_two_phase_sink

Stored = dict[tuple[bytes, bytes], dict[int, bytes]]
"""(row, column) -> timestamp -> value."""


class Gateway:
    """Tables of a gateway, and the state of the gateway."""

    def __init__(self) -> None:
        self.stored: Stored = {}
        self.is_up = True
        self.requests: list[int] = []
        """Rows of each."""

    def newest(self) -> dict[bytes, dict[bytes, bytes]]:
        """A reader's view."""
        rows: dict[bytes, dict[bytes, bytes]] = {}
        for (row, column), versions in self.stored.items():
            rows.setdefault(row, {})[column] = versions[max(versions)]
        return rows


GATEWAY = Gateway()


class Table:
    """One table, with the family c."""

    def __init__(self, name: str) -> None:
        self.name = name

    def families(self) -> dict[bytes, Any]:
        if self.name != "numbers":
            raise OSError("TableNotFoundException: " + self.name)
        return {b"c:": {}}

    def batch(self, timestamp: int) -> "Batch":
        return Batch(timestamp)


class Batch:
    """Puts of one request; as in HBase, there is no transaction over rows."""

    def __init__(self, timestamp: int) -> None:
        self.timestamp = timestamp
        self.puts: list[tuple[bytes, dict[bytes, bytes]]] = []

    def put(self, row: bytes, cells: dict[bytes, bytes]) -> None:
        self.puts.append((row, cells))

    def send(self) -> None:
        if not GATEWAY.is_up:
            raise OSError("the gateway is away")
        GATEWAY.requests.append(len(self.puts))
        for row, cells in self.puts:
            for column, value in cells.items():
                GATEWAY.stored.setdefault((row, column), {})[self.timestamp] = value


class Connection:
    """A connection to the gateway."""

    def table(self, name: str) -> Table:
        return Table(name)

    def close(self) -> None:
        """Nothing is open."""


class Sink(HBaseSink):
    """The sink with the stand-in."""

    def connect(self) -> Any:
        return Connection()


CONFIG = {"hbase.table": "numbers", "hbase.family": "c"}
EXACT = {**CONFIG, "topology.reliability.mode": "EFFECTIVELY_ONCE"}


@pytest.fixture(autouse=True)
def empty_gateway() -> None:
    GATEWAY.stored.clear()
    GATEWAY.requests.clear()
    GATEWAY.is_up = True


def made_sink(fields: list[str], **config: Any) -> ComponentTester:
    """The sink over tuples of these fields."""
    settings = {**EXACT, **config}
    return ComponentTester(Sink, inputs={"rows": fields}, config=settings, patch_time=False)


def test_rows_are_exact_whenever_the_sink_is_killed() -> None:
    check_two_phase_sink(
        Sink,
        lambda: (int(row) for row in GATEWAY.newest()),
        fields=("number", "square"),
        row=lambda number: [number, number * number],
        config=CONFIG,
    )
    assert GATEWAY.newest()[b"3"] == {b"c:square": b"9"}


def test_a_commit_that_is_repeated_late_changes_nothing() -> None:
    """The process of the first commit was suspended meanwhile."""
    with made_sink(["word", "count"]) as made:
        first, second = (
            made.component.pre_commit([(b"a", {b"c:count": value})], TransactionId("w", number))
            for number, value in ((1, b"1"), (2, b"2"))
        )
        for number, prepared in ((1, first), (2, second), (1, first)):
            made.component.commit(prepared, TransactionId("w", number))
    assert GATEWAY.newest() == {b"a": {b"c:count": b"2"}}


def test_the_last_tuple_of_a_row_stays_and_requests_have_a_limit() -> None:
    with made_sink(["word", "count"], **{"hbase.batch.rows": 2}) as made:
        rows = [(b"a", {b"c:x": b"1"}), (b"b", {b"c:x": b"2"}), (b"c", {b"c:x": b"3"})]
        prepared = made.component.pre_commit([*rows, (b"a", {b"c:x": b"9"})], TransactionId("w", 1))
        made.component.commit(prepared, TransactionId("w", 1))
    assert GATEWAY.requests == [2, 1]
    assert GATEWAY.newest()[b"a"] == {b"c:x": b"9"}


def test_a_gateway_that_is_away_is_named_and_asked_again() -> None:
    with made_sink(["word", "count"]) as made:
        prepared = made.component.pre_commit([(b"a", {b"c:x": b"1"})], TransactionId("w", 1))
        GATEWAY.is_up = False
        with pytest.raises(ComponentError, match=r"HBase's table numbers at 127.0.0.1:9090: the"):
            made.component.commit(prepared, TransactionId("w", 1))
        GATEWAY.is_up = True
        made.component.commit(prepared, TransactionId("w", 1))
    assert GATEWAY.newest() == {b"a": {b"c:x": b"1"}}


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"hbase.table": "absent"}, "table absent at 127.0.0.1:9090: TableNotFoundException"),
        ({"hbase.family": "d"}, "no column family 'd', but c: alter 'numbers', 'd'"),
        ({"hbase.batch.rows": 0}, "hbase.batch.rows is 1 or more"),
    ],
)
def test_a_target_that_cannot_be_written_is_told_at_the_start(
    config: dict[str, Any], text: str
) -> None:
    with pytest.raises(ComponentError, match=text), made_sink(["word", "count"], **config):
        """No sink begins."""


def test_a_missing_setting_is_named() -> None:
    config = {"hbase.table": "numbers"}
    with (
        pytest.raises(ComponentError, match=r"hbase\.family is missing"),
        ComponentTester(Sink, inputs={"rows": ["word"]}, config=config),
    ):
        """No sink begins."""


def test_values_are_bytes_and_keys_are_those_of_one_tuple() -> None:
    assert [cell_bytes(each) for each in ("ä", b"\xff", 7, [1, None])] == [
        b"\xc3\xa4", b"\xff", b"7", b"[1, null]",
    ]  # fmt: skip
    values = {"firm": "a", "minute": 7, "mean": None, "n": 2}
    assert row_key(values, ["firm", "minute"], ":") == b"a:7"
    assert cells_of({"mean": None, "n": 2}, "c", b"a") == {b"c:n": b"2"}
    assert merged([(b"a", {b"x": b"1"}), (b"a", {b"y": b"2"})]) == {b"a": {b"x": b"1", b"y": b"2"}}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"firm": "a:b", "minute": 7}, "the key's separator is ':'"),
        ({"firm": None, "minute": 7}, "a row's key needs a value"),
        ({"firm": "x" * KEY_BYTES_MAX, "minute": 7}, "bytes, not of 1 to 32767"),
    ],
)
def test_a_key_that_hbase_would_refuse_or_mix_up_costs_its_tuple(
    values: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        row_key(values, ["firm", "minute"], ":")


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ({"x": b"1" * 11_000_000}, "a cell of 11000000 bytes"),
        ({"x": None}, "without a value besides its key"),
        ({"x": float("nan")}, "no JSON"),
    ],
)
def test_a_cell_that_hbase_would_refuse_costs_its_tuple(cells: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        cells_of(cells, "c", b"key")


def test_an_error_is_told_without_javas_stack() -> None:
    class IOErrorOfThrift(Exception):
        message = b"org.apache.NoSuchColumnFamilyException: no c\n\tat org.apache.X"

    assert cause_of(IOErrorOfThrift()) == "org.apache.NoSuchColumnFamilyException: no c"
    assert cause_of(TimeoutError()) == "TimeoutError"
