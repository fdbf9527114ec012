"""Tuples into a table of HBase, by its Thrift gateway: each once, by row keys and timestamps.

    from heronpy_compat.connectors.hbase import HBaseSink

HBase has no transactions over rows, and the sink needs none: a repeated put with equal key, column
and timestamp changes nothing. A transaction gets its timestamp in `pre_commit`, so the timestamp is
in the checkpoint with the rows. A repeated commit of an earlier checkpoint writes below the cells
of the later one, invisible to readers.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from heron_connectors.hbase.cells import Cells, Row, cells_of, merged, row_key
from heron_connectors.transactions import TransactionId
from heron_connectors.two_phase import WriteAheadSink
from heron_core.errors import ComponentError
from heron_core.optional_packages import needed

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext
    from heron_api.tuple import Tuple

HOST = "hbase.thrift.host"
"""Config key: the machine of the Thrift gateway (127.0.0.1)."""
PORT = "hbase.thrift.port"
"""Config key: its port (9090)."""
CONNECT = "hbase.connect"
"""Config key: further arguments of happybase.Connection: transport, protocol, table_prefix, …"""
TABLE = "hbase.table"
"""Config key: the table, which exists."""
FAMILY = "hbase.family"
"""Config key: the column family of all cells."""
KEY_FIELDS = "hbase.key.fields"
"""Config key: the fields of the row's key, a name or a list; by default the first field."""
SEPARATOR = "hbase.key.separator"
"""Config key: between several fields of a key (:)."""
BATCH_ROWS = "hbase.batch.rows"
"""Config key: rows of one request to the gateway (1000)."""

NEEDED_PACKAGE = ("happybase", "HBase")
TIMEOUT_MS = 30_000
"""Limit of a request to the gateway: a moving region takes seconds. The next try of the commit
repeats an unanswered request."""


class HBaseSink(WriteAheadSink):
    """Writes a row for each tuple: a cell for each field besides those of the key.

    sink = HBaseSink.spec(
        inputs={counts: Grouping.fields("word")},
        config={"hbase.table": "counts", "hbase.family": "c"},
    )

    Group the input by the fields of the key: puts of two instances into one row have no order. A
    subclass may define `row_of`, with the result (key, {b"family:qualifier": value}), and
    `connect`.
    """

    host = "127.0.0.1"
    port = 9090
    table: str | None = None
    family: str | None = None
    key_fields: Sequence[str] = ()
    separator = ":"
    batch_rows = 1000
    needed_package = NEEDED_PACKAGE
    _connection: Any = None

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if invalid."""
        self._host = str(config.get(HOST, self.host))
        self._port = int(config.get(PORT, self.port))
        self._arguments = dict(config.get(CONNECT, {}))
        self._table = str(self._setting(config, TABLE, self.table))
        self._family = str(self._setting(config, FAMILY, self.family))
        self._separator = str(config.get(SEPARATOR, self.separator))
        self._batch_rows = int(config.get(BATCH_ROWS, self.batch_rows))
        if self._batch_rows < 1 or not self._separator:
            raise ComponentError(
                f"{self._name}: {BATCH_ROWS} is 1 or more, and {SEPARATOR} is not empty"
            )
        named = config.get(KEY_FIELDS, self.key_fields)
        self._key_fields = [named] if isinstance(named, str) else list(named)
        self._timestamp_ms = 0
        """Of the newest transaction."""

    def _setting(self, config: Mapping[str, Any], key: str, default: str | None) -> str:
        value = config.get(key, default)
        if value is None:
            raise ComponentError(f"{self._name}: {key} is missing: what does the sink write to?")
        return str(value)

    def check_target(self) -> None:
        """ComponentError if the gateway does not answer, or lacks the table or its family."""
        try:
            families = self._connected().table(self._table).families()
        except Exception as error:
            self._disconnect()
            raise ComponentError(f"{self._name}: {self._where}: {cause_of(error)}") from None
        known = {name.decode().rstrip(":") for name in families}
        if self._family not in known:
            raise ComponentError(
                f"{self._name}: table {self._table} has no column family {self._family!r}, but"
                f" {', '.join(sorted(known))}: alter '{self._table}', '{self._family}'"
            )

    @property
    def _where(self) -> str:
        return f"HBase's table {self._table} at {self._host}:{self._port}"

    def connect(self) -> Any:
        """A connection to the gateway, as happybase's."""
        return needed(*NEEDED_PACKAGE).Connection(
            self._host, self._port, timeout=TIMEOUT_MS, **self._arguments
        )

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = self.connect()
        return self._connection

    def _disconnect(self) -> None:
        """Close the connection: its next answer may be that of an earlier request."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def row_of(self, tup: "Tuple") -> Row:
        """Key and cells. ValueError for a tuple outside of HBase's limits."""
        values = dict(zip(tup.fields, tup.values, strict=True))
        fields = self._key_fields or list(values)[:1]
        if missing := [name for name in fields if name not in values]:
            raise ValueError(f"the tuple has no field {missing[0]!r} of the key")
        key = row_key(values, fields, self._separator)
        others = {name: value for name, value in values.items() if name not in fields}
        return key, cells_of(others, self._family, key)

    def pre_commit(self, transaction: list[Any], transaction_id: TransactionId) -> list[Any]:
        """[timestamp, rows]; both are durable with the checkpoint."""
        self._timestamp_ms = max(self._timestamp_ms + 1, time.time_ns() // 1_000_000)
        return [self._timestamp_ms, [[key, cells] for key, cells in transaction]]

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Put all rows with the transaction's timestamp. ComponentError if HBase refuses."""
        timestamp_ms, rows = prepared
        self._timestamp_ms = max(self._timestamp_ms, timestamp_ms)
        try:
            self._put(merged(rows), timestamp_ms)
        except ComponentError:
            raise
        except Exception as error:
            self._disconnect()
            raise ComponentError(f"{self._where}: {cause_of(error)}") from None

    def _put(self, rows: Mapping[bytes, Cells], timestamp_ms: int) -> None:
        waiting = iter(rows.items())
        while some := list(islice(waiting, self._batch_rows)):
            self._put_batch(some, timestamp_ms)

    def _put_batch(self, rows: Iterable[tuple[bytes, Cells]], timestamp_ms: int) -> None:
        batch = self._connected().table(self._table).batch(timestamp=timestamp_ms)
        for key, cells in rows:
            batch.put(key, cells)
        batch.send()

    def close(self) -> None:
        """Commit as far as permitted, and disconnect."""
        try:
            super().close()
        finally:
            self._disconnect()


def cause_of(error: Exception) -> str:
    """Message of the gateway, without Java's stack."""
    said = getattr(error, "message", None)
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said or error)
    lines = text.strip().splitlines()
    return lines[0][:500] if lines else type(error).__name__
