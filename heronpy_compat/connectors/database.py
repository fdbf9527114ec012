"""Tuples into a table of any database that Python has a driver for (DB-API 2.0), each once.

    from heronpy_compat.connectors.database import DatabaseSink

The rows of a checkpoint and its number are written in one transaction of the database, into the
sink's table and into `heronpy_commits`; a number that is there is not written again.
"""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import date
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any

from heron_core.errors import ComponentError
from heronpy_compat.connectors.transactions import TransactionId, number_of_run
from heronpy_compat.connectors.two_phase import WriteAheadSink

if TYPE_CHECKING:
    from heronpy_compat.api.topology_context import TopologyContext
    from heronpy_compat.api.tuple import Tuple

MODULE = "database.module"
"""Config key: the driver's module (sqlite3)."""
CONNECT = "database.connect"
"""Config key: the arguments of its `connect`: one value, a list, or a dict of named ones."""
TABLE = "database.table"
"""Config key: the table."""
COLUMNS = "database.columns"
"""Config key: its columns, in the order of a tuple's values; by default the fields' names."""
STATEMENT = "database.statement"
"""Config key: a statement of your own instead of an INSERT, with a placeholder for each value."""

SQLITE_LEAST = -(1 << 63)
COMMITS = "heronpy_commits"
_CREATE = f"CREATE TABLE IF NOT EXISTS {COMMITS} (writer VARCHAR(64) PRIMARY KEY, number BIGINT)"

_PLACEHOLDERS: dict[str, Callable[[int], str]] = {
    "qmark": lambda at: "?",
    "format": lambda at: "%s",
    "pyformat": lambda at: "%s",
    "numeric": lambda at: f":{at + 1}",
}
"""By the driver's `paramstyle`; all take the values in order. (pyformat's drivers take %s, too.)"""


class DatabaseSink(WriteAheadSink):
    """Writes a row for each tuple.

    sink = DatabaseSink.spec(
        inputs=[counts],
        config={"database.connect": "counts.db", "database.table": "counts"},
    )

    The table exists. A subclass may define `connect`, and `row_of` for other values.
    """

    module = "sqlite3"
    connect_arguments: Any = None
    table: str | None = None
    columns: Sequence[str] | None = None
    statement: str | None = None

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if they are wrong. It connects for its first commit."""
        self._module = _driver(self._name, config.get(MODULE, self.module))
        self._arguments = config.get(CONNECT, self.connect_arguments)
        style = self._module.paramstyle
        if style not in _PLACEHOLDERS:
            raise ComponentError(
                f"{self._name}: {self._module.__name__} names its placeholders ({style}), which"
                f" {type(self).__name__} does not: write a TwoPhaseSink for it"
            )
        self._placeholder = _PLACEHOLDERS[style]
        self._table = config.get(TABLE, self.table) or "its table"
        self._statement = config.get(STATEMENT, self.statement) or self._insert(config, context)
        self._connection: Any = None
        index = context.get_component_tasks(self._name).index(context.get_task_id())
        writer = f"{context.get_topology_name()}.{self._name}.{index}"
        self._whose = f"run.{sha256(writer.encode()).hexdigest()[:32]}"
        """The name of the row of `heronpy_commits` that says which run has written last."""
        self._run = number_of_run(context.get_incarnation().run)
        self._is_noted = False

    def unknown_output(self) -> str:
        """Rows of another run of this topology; whose others are the database does not say."""
        last = self._last_run()
        return "" if last is None else self._of_another_run

    def output_of_another_run(self, run: str) -> str:
        """See `unknown_output`."""
        return "" if self._last_run() in (None, number_of_run(run)) else self._of_another_run

    @property
    def _of_another_run(self) -> str:
        return f"another run of it has written into {self._table}"

    def _last_run(self) -> int | None:
        """The number of the run that has written last; None if there is none, or it is not known:
        a database that is away is told of when it is to be written."""
        try:
            self._connection = self._prepared_connection()
            cursor = self._connection.cursor()
            cursor.execute(
                f"SELECT number FROM {COMMITS} WHERE writer = {self._placeholder(0)}", [self._whose]
            )
            found = cursor.fetchone()
            self._connection.commit()
        except Exception:
            self._connection = None
            return None
        return None if found is None else int(found[0])

    def _insert(self, config: dict[str, Any], context: Any) -> str:
        table = config.get(TABLE, self.table)
        if table is None:
            raise ComponentError(
                f"{self._name}: no table to write: set its attribute 'table' or {TABLE}"
            )
        columns = config.get(COLUMNS, self.columns) or self.fields_of_inputs(context)
        return self._insert_into(table, columns)

    def _insert_into(self, table: str, columns: Sequence[str]) -> str:
        values = ", ".join(map(self._placeholder, range(len(columns))))
        return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"

    def connect(self) -> Any:
        """A connection that does not commit by itself."""
        arguments = self._arguments
        if isinstance(arguments, dict):
            return self._module.connect(**arguments)
        if isinstance(arguments, (list, tuple)):
            return self._module.connect(*arguments)
        return self._module.connect() if arguments is None else self._module.connect(arguments)

    def row_of(self, tup: "Tuple") -> Any:
        """The values of a row, in the order of the columns; ValueError for one that the database
        would change or refuse, as a commit is of all rows or of none."""
        if self._module is sqlite3:
            for name, value in zip(tup.fields, tup.values, strict=True):
                if problem := _problem_of_sqlite(value):
                    raise ValueError(f"{name}={value!r:.60}: {problem}")
        return list(tup.values)

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Write the rows and the number in one transaction, unless the number is there."""
        if not prepared:
            return
        if self._connection is None:
            self._connection = self._prepared_connection()
        connection = self._connection
        try:
            cursor = connection.cursor()
            if self._take_number(cursor, transaction_id):
                self._note_run(cursor)
                cursor.executemany(self._statement, prepared)
            connection.commit()
            self._is_noted = True
        except BaseException:
            # Whatever state it is in: the next try begins with another connection.
            self._disconnect()
            raise

    def _prepared_connection(self) -> Any:
        connection = self.connect()
        try:
            connection.cursor().execute(_CREATE)
            connection.commit()
        except BaseException:
            connection.close()
            raise
        return connection

    def _take_number(self, cursor: Any, transaction_id: TransactionId) -> bool:
        """Note the number, within the transaction; False if it or a later one is there already."""
        at = self._placeholder
        writer, number = transaction_id.writer, transaction_id.number
        # The write comes first: it waits for another one's transaction to end.
        cursor.execute(
            f"UPDATE {COMMITS} SET number = {at(0)} WHERE writer = {at(1)} AND number < {at(2)}",
            [number, writer, number],
        )
        if cursor.rowcount == 1:
            return True
        cursor.execute(f"SELECT number FROM {COMMITS} WHERE writer = {at(0)}", [writer])
        if cursor.fetchone() is not None:
            return False
        cursor.execute(
            f"INSERT INTO {COMMITS} (writer, number) VALUES ({at(0)}, {at(1)})", [writer, number]
        )
        return True

    def _note_run(self, cursor: Any) -> None:
        if self._is_noted:
            return
        at = self._placeholder
        cursor.execute(f"DELETE FROM {COMMITS} WHERE writer = {at(0)}", [self._whose])
        cursor.execute(
            f"INSERT INTO {COMMITS} (writer, number) VALUES ({at(0)}, {at(1)})",
            [self._whose, self._run],
        )

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        try:
            connection.rollback()
        finally:
            connection.close()

    def close(self) -> None:
        """Disconnect."""
        super().close()
        if self._connection is not None:
            self._disconnect()


def _problem_of_sqlite(value: Any) -> str:
    """Why it cannot be stored as it is; empty if it can."""
    if value != value:
        return "it is NaN, of which sqlite makes NULL"
    if value is None or isinstance(value, (float, bytes, date)):
        return ""
    if isinstance(value, int):
        fits = SQLITE_LEAST <= value <= -SQLITE_LEAST - 1
        return "" if fits else "sqlite has whole numbers of 64 bits"
    if not isinstance(value, str):
        return f"sqlite has no type for a {type(value).__name__}: row_of(tup) of a subclass decides"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "half a character (a lone surrogate) is not text"
    return ""


def _driver(name: str, module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ComponentError(f"{name}: the database's driver cannot be loaded: {error}") from None
