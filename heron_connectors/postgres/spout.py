"""Rows of a table of Postgres, or of a query, as tuples: each once, in the order of their key."""

import time
from collections import deque
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_connectors.emitted_rows import EmitsRows
from heron_connectors.postgres.catalog import (
    columns_of,
    primary_key,
    table_called,
    type_infos,
    type_names,
)
from heron_connectors.postgres.client import CONNECT, NEEDED_PACKAGE, connected
from heron_connectors.postgres.keyset import Key, KeyColumn, KeysetShare, Selection
from heron_connectors.postgres.patience import SpoutPatience
from heron_connectors.postgres.rows import RowReader, TableRow
from heron_connectors.postgres.values import Types, Unrepresentable
from heron_core import config as keys
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

TABLE = "postgres.table"
"""Config key: a table or a view, as SQL writes its name."""
QUERY = "postgres.query"
"""Config key: a SELECT instead of a table."""
KEY = "postgres.key"
"""Config key: the columns that tell the rows apart, and by which they are ordered; by default the
primary key of the table."""
PENDING = "postgres.pending"
"""Config key: with so many tuples that are not acked nothing more is read (10000)."""
PENDING_DEFAULT = 10_000
STATE_KEY = "heronpy.postgres_spout"
"""Under it the state has the position."""


class PostgresSpout(EmitsRows[Key], Spout, StatefulComponent):
    """Emits the rows of a table or a query, in the order of the key, and finishes.

        class Orders(PostgresSpout):
            outputs = ["id", "total"]

        orders = Orders.spec(
            par=2, config={"postgres.connect": "host=db dbname=shop", "postgres.table": "orders"}
        )

    `outputs` are columns. The id of a tuple is the key, as texts that Postgres writes. Instances
    share the rows by a hash of the key. Each session reads one snapshot. With checkpoints the
    spout goes on at the key where it was, in a new snapshot; with ATMOST_ONCE it begins again.
    """

    needed_package = NEEDED_PACKAGE

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read settings and state; ComponentError if invalid. The connection is opened by the
        first tuple, because an unreachable server may return."""
        self._name = name = context.get_component_id()
        if not config.get(CONNECT):
            raise ComponentError(f"{name}: its config needs {CONNECT}")
        self._how = config[CONNECT]
        self._table, self._query = config.get(TABLE), config.get(QUERY)
        given = config.get(KEY) or []
        self._key_names = [given] if isinstance(given, str) else [str(each) for each in given]
        self._check_source()
        self._columns = tuple(context.get_this_output_fields())
        if not self._columns:
            raise ComponentError(
                f"{name}: its outputs name the columns to read: declare at least one"
            )
        self._application = f"heronpy {context.get_topology_name()}.{name}"
        tasks = context.get_component_tasks(name)
        self._share = KeysetShare(tasks.index(context.get_task_id()), len(tasks))
        self._pending_max = int(config.get(PENDING, PENDING_DEFAULT))
        mode = keys.reliability(keys.with_defaults(config))
        self._is_tracked = mode == keys.ATLEAST_ONCE
        self._is_saved = mode != keys.ATMOST_ONCE
        self._has_emitted_none(config)
        self._patience = SpoutPatience(name, self.delegate, self.logger, self._disconnect)
        self._types = Types()
        self._reader: RowReader | None = None
        self._rows: deque[TableRow] = deque()
        self._oids: list[int] = []
        """Of the types of the columns, and behind them of the key's."""
        self._after: Key | None = None
        """The key of the newest row that was emitted."""
        self._is_at_end = False
        self._newest: tuple[Any, ...] | None = None
        """The key of the newest row that was read, as values."""
        self._is_resumed = False
        """Whether the next row may be that of the newest key."""
        self._restore(self._state.get(STATE_KEY))

    def _check_source(self) -> None:
        if bool(self._table) == bool(self._query):
            raise ComponentError(f"{self._name}: its config needs one of {TABLE} or {QUERY}")
        if self._query and not self._key_names:
            raise ComponentError(
                f"{self._name}: {QUERY} needs {KEY}: the columns of the query that identify a row"
            )

    # --- state ----------------------------------------------------------------------------------

    @property
    def _source(self) -> dict[str, Any]:
        return {
            "table": self._table,
            "query": self._query,
            "key": self._key_names,
            "share": [self._share.index, self._share.instances],
        }

    def _restore(self, saved: Any) -> None:
        if saved is None or not self._is_saved:
            return
        for what, is_now in self._source.items():
            if saved[what] != is_now:
                raise ComponentError(
                    f"{self._name}: its state belongs to the {what} {saved[what]}, but now it is "
                    f"{is_now}: start without its state (--fresh)"
                )
        self._after = None if saved["after"] is None else tuple(saved["after"])
        self._is_at_end = saved["is_at_end"]

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position."""
        after = None if self._after is None else list(self._after)
        position = {"after": after, "is_at_end": self._is_at_end}
        self._state.put(STATE_KEY, {**self._source, **position})

    def __getstate__(self) -> dict[str, Any]:
        """The position, for an engine that saves attributes; a restored spout reconnects."""
        return {"_after": self._after, "_is_at_end": self._is_at_end}

    # --- rows -----------------------------------------------------------------------------------

    def next_tuple(self) -> None:
        """Emit what failed, or else the next row."""
        if self._emit_failed() or len(self._pending) >= self._pending_max:
            return
        now = time.monotonic()
        if not self._rows and not self._is_at_end and now >= self._patience.not_before:
            self._patience.ask(now, self._read)
        if self._rows:
            self._emit(self._rows.popleft())
        elif self._is_at_end and not self._failed:
            self.finish()

    def _emit(self, row: TableRow) -> None:
        self._after = row.key
        values, problems = self._parsed(row)
        if problems:
            source, key = self._table or "the query", ", ".join(row.key)
            why = f"a row is left out: {source}, key {key}: {'; '.join(problems)}"
            self._leave_out(row.key, values, why)
        elif self._is_tracked:
            self.emit(values, tup_id=row.key)
            self._pending[row.key] = values
        else:
            self.emit(values)

    def _parsed(self, row: TableRow) -> tuple[list[Any], list[str]]:
        values: list[Any] = list(row.texts)
        problems = []
        for at, (name, text) in enumerate(zip(self._columns, row.texts, strict=True)):
            try:
                values[at] = None if text is None else self._types.value(self._oids[at], text)
            except Unrepresentable as error:
                problems.append(f"{name}: {error}")
        return values, problems

    # --- the server -----------------------------------------------------------------------------

    def _read(self) -> None:
        """Fill the buffer, unless all is read."""
        if self._reader is None:
            self._open()
        assert self._reader is not None, "opened without a reader"
        rows = self._reader.read()
        if not rows:
            self._is_at_end = True
            self._disconnect()
            return
        for row in rows:
            self._add(row)

    def _add(self, row: TableRow) -> None:
        """A row, except the row at which the session started; ComponentError for two successive
        rows with equal keys."""
        key = self._key_of(row.key)
        if key != self._newest:
            self._rows.append(row)
        elif self._is_resumed:
            self.logger.debug("%s was emitted before", row.key)
        else:
            raise ComponentError(
                f"two rows of {self._table or 'the query'} have the key {', '.join(row.key)}: "
                f"name columns that identify a row in {KEY}"
            )
        self._newest, self._is_resumed = key, False

    def _key_of(self, key: Key) -> tuple[Any, ...]:
        """Normalise values that Postgres treats as equal, such as 1.0 and 1.00."""
        oids = self._oids[len(self._columns) :]
        return tuple(self._value_or_text(oid, text) for oid, text in zip(oids, key, strict=True))

    def _value_or_text(self, oid: int, text: str) -> Any:
        try:
            return self._types.value(oid, text)
        except Unrepresentable:
            return text

    def _open(self) -> None:
        connection = connected(self._how, self._application)
        reader = RowReader(connection)
        try:
            reader.begin()
            selection = self._selection(connection)
            self._types.complete(set(self._oids), partial(type_infos, connection))
            reader.open(selection, self._after, self._share)
        except BaseException:
            reader.close()
            raise
        self._reader = reader
        self._is_resumed = self._after is not None
        self._newest = None if self._after is None else self._key_of(self._after)
        self.logger.info("reads %s from %s", selection.source, self._after or "its beginning")

    def _selection(self, connection: Any) -> Selection:
        """The table to read, from the current catalog; ComponentError if missing."""
        key: tuple[KeyColumn, ...] = ()
        if self._query:
            source = f"({self._query.rstrip().rstrip(';')}\n)"
        else:
            table = table_called(connection, str(self._table))
            source, key = table.source, primary_key(connection, table)
        oids = columns_of(connection, source)
        self._check_columns(oids)
        if self._key_names:
            names = type_names(connection, [oids[each] for each in self._key_names])
            key = tuple(map(KeyColumn, self._key_names, names))
        if not key:
            raise ComponentError(
                f"{self._table} has no primary key: name the columns that identify a row ({KEY})"
            )
        self._oids = [oids[each] for each in (*self._columns, *(column.name for column in key))]
        return Selection(source, self._columns, key, has_nulls=bool(self._key_names))

    def _check_columns(self, oids: Collection[str]) -> None:
        for each in (*self._columns, *self._key_names):
            if each not in oids:
                raise ComponentError(
                    f"{self._table or 'the query'} has no column {each}, but {', '.join(oids)}:"
                    f" outputs and {KEY} name its columns"
                )

    def _disconnect(self) -> None:
        """What was read and not emitted is read again."""
        reader, self._reader = self._reader, None
        self._rows.clear()
        if reader is not None:
            reader.close()

    def close(self) -> None:
        """Disconnect."""
        self._disconnect()
