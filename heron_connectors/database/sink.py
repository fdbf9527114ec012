"""Tuples into a table of any database that Python has a driver for (DB-API 2.0), each once.

    from heronpy_compat.connectors.database import DatabaseSink

The rows of a checkpoint and its number are written in one transaction of the database, into the
sink's table and into `heronpy_commits`; a number that is there is not written again. Of sqlite and
Postgres the columns are known: a value that its column would change or refuse costs its row.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any

from heron_connectors.database.columns import DatabaseColumn, Dialect
from heron_connectors.database.postgres_columns import Postgres
from heron_connectors.database.refusals import (
    CREATE_REFUSALS,
    Cause,
    DividedTransaction,
    NotedRefusals,
    cause_of,
)
from heron_connectors.database.sqlite_columns import Sqlite, file_of, problem_of_value
from heron_connectors.tables.row_tables import MERGE, REFUSE
from heron_connectors.transactions import TransactionId, number_of_run
from heron_connectors.two_phase import WriteAheadSink
from heron_connectors.writable_folders import check_file
from heron_core.errors import ComponentError, problem_with

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext
    from heron_api.tuple import Tuple

MODULE = "database.module"
"""Config key: the driver's module (sqlite3)."""
CONNECT = "database.connect"
"""Config key: arguments of the driver's `connect`: one value, a list, or a dict of named
arguments."""
TABLE = "database.table"
"""Config key: the table."""
COLUMNS = "database.columns"
"""Config key: its columns, in the order of a tuple's values; by default the fields' names."""
STATEMENT = "database.statement"
"""Config key: a statement of your own instead of an INSERT, with a placeholder for each value."""

SCHEMA_MODE = "database.schema.mode"
"""Config key: what becomes of columns that the table does not have, in sqlite and Postgres:
`refuse` (the sink does not begin) or `merge` (they are added by ALTER TABLE)."""

DIALECTS: Mapping[str, Dialect] = {
    "sqlite3": Sqlite(),
    "psycopg": Postgres(),
    "psycopg2": Postgres(),
}
"""By the driver's module: the databases whose columns are known."""
DEFERRING = frozenset({"psycopg", "psycopg2"})
"""Drivers of databases that check deferred constraints row by row when they are told to."""
CREATE_ATTEMPTS = 2
"""Attempts to create the table: Postgres rejects a concurrent creation by a second instance,
after which the table exists."""
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
    schema_mode = REFUSE
    _connection: Any = None

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; ComponentError if invalid. The connection is opened by the first
        commit."""
        self._module = _driver(self._name, config.get(MODULE, self.module))
        self._arguments = config.get(CONNECT, self.connect_arguments)
        style = self._module.paramstyle
        if style not in _PLACEHOLDERS:
            raise ComponentError(
                f"{self._name}: {self._module.__name__} uses named placeholders ({style}), which "
                f"{type(self).__name__} does not support: write a TwoPhaseSink for the driver"
            )
        self._placeholder = _PLACEHOLDERS[style]
        self._table = config.get(TABLE, self.table) or "its table"
        self._statement = config.get(STATEMENT, self.statement)
        self._names = [] if self._statement else self._column_names(config, context)
        self._fields = self._names or self._common_fields(context)
        self._refusals = NotedRefusals(self._placeholder)
        self._known: dict[str, DatabaseColumn] | None = None
        """The table's columns, as they were seen last, by the names that the database keeps."""
        self._dialect = None if self._statement else DIALECTS.get(self._module.__name__)
        self._open_schema(config, context)
        index = context.get_component_tasks(self._name).index(context.get_task_id())
        writer = f"{context.get_topology_name()}.{self._name}.{index}"
        self._whose = f"run.{sha256(writer.encode()).hexdigest()[:32]}"
        """The name of the row of `heronpy_commits` that says which run has written last."""
        self._run = number_of_run(context.get_incarnation().run)
        self._is_noted = False
        if self._dialect is not None and (problem := self._problem_of_schema()):
            self._disconnect()
            raise ComponentError(f"{self._name}: {problem}")

    def _open_schema(self, config: dict[str, Any], context: "TopologyContext") -> None:
        self._mode = config.get(SCHEMA_MODE, self.schema_mode)
        if self._mode not in (MERGE, REFUSE):
            raise ComponentError(
                f"{self._name}: {SCHEMA_MODE} is {MERGE} or {REFUSE}, not {self._mode}"
            )
        if self._mode == MERGE and self._dialect is None:
            raise ComponentError(
                f"{self._name}: {SCHEMA_MODE} {MERGE} is for sqlite and Postgres, and for tables"
                f" without {STATEMENT}"
            )
        self._declared = self.types_of_inputs(context) if self._dialect is not None else {}

    def _problem_of_schema(self) -> str:
        """Problem of the table's columns; empty if none or unknown: an unreachable database is
        reported at the first write."""
        try:
            self._read_columns()
        except Exception:
            self._connection = None
            return ""
        return self._missing_column()

    def _read_columns(self) -> None:
        """ComponentError if there is no table."""
        assert self._dialect is not None, "columns of an unknown database"
        if self._connection is None:
            self._connection = self._prepared_connection()
        found = self._dialect.columns(self._connection.cursor(), self._table)
        self._connection.commit()
        if not found:
            raise ComponentError(f"the database has no table {self._table}")
        self._known = {each.name: each for each in found}

    def _missing_column(self) -> str:
        if self._mode == MERGE:
            return ""
        missing = next((each for each in self._names if self._column(each) is None), None)
        return f"{self._table} has no column {missing}, and {SCHEMA_MODE} is {REFUSE}" * bool(
            missing
        )

    def _column(self, name: str) -> DatabaseColumn | None:
        assert self._dialect is not None, "columns of an unknown database"
        return (self._known or {}).get(self._dialect.key(name))

    def check_target(self) -> None:
        """ComponentError if the database is a file that may not be written."""
        if self._module is sqlite3 and (path := file_of(self._arguments)):
            check_file(self._name, path, CONNECT)

    def unknown_output(self) -> str:
        """Rows of another run of this topology; whose others are the database does not say."""
        last = self._last_run()
        return "" if last is None else self._of_another_run

    def output_of_another_run(self, run: str) -> str:
        """See `unknown_output`."""
        return "" if self._last_run() in (None, number_of_run(run)) else self._of_another_run

    @property
    def _of_another_run(self) -> str:
        return f"another run has written into {self._table}"

    def _last_run(self) -> int | None:
        """Id of the run that wrote last; None if none or unknown: an unreachable database is
        reported at the first write."""
        try:
            self._connection = self._connection or self._prepared_connection()
            cursor = self._connection.cursor()
            cursor.execute(
                f"SELECT number FROM {COMMITS} WHERE writer = {self._placeholder(0)}", [self._whose]
            )
            last_row = cursor.fetchone()
            self._connection.commit()
        except Exception:
            self._connection = None
            return None
        return None if last_row is None else int(last_row[0])

    def _column_names(self, config: dict[str, Any], context: Any) -> list[str]:
        if config.get(TABLE, self.table) is None:
            raise ComponentError(
                f"{self._name}: no table to write: set its attribute 'table' or {TABLE}"
            )
        return list(config.get(COLUMNS, self.columns) or self.fields_of_inputs(context))

    def _common_fields(self, context: Any) -> list[str]:
        """Fields of the inputs; empty if the inputs differ."""
        with suppress(ComponentError):
            return self.fields_of_inputs(context)
        return []

    def _insert_into(self, columns: Sequence[str]) -> str:
        values = ", ".join(map(self._placeholder, range(len(columns))))
        return f"INSERT INTO {self._table} ({', '.join(columns)}) VALUES ({values})"

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
                if problem := problem_of_value(value):
                    raise ValueError(problem_with(name, value, problem))
        return list(tup.values)

    def pre_commit(self, transaction: list[Any], transaction_id: TransactionId) -> list[Any]:
        """The rows that fit; what does not is told and counted now, as a commit is of all rows or
        of none. ComponentError for an unfit table."""
        if self._dialect is None:
            return transaction
        if self._known is None:
            self._read_columns()
        if problem := self._missing_column():
            raise ComponentError(problem)
        columns = self._columns_for(transaction)
        problems = {
            at: why
            for at, row in enumerate(transaction)
            if (why := self._problem_of_row(columns, row))
        }
        self.leave_out(problems, self._names, {at: list(transaction[at]) for at in problems})
        return [row for at, row in enumerate(transaction) if at not in problems]

    def _columns_for(self, rows: Sequence[Any]) -> list[DatabaseColumn | None]:
        """The column of each name, existing or to be created; None while the type is unknown."""
        assert self._dialect is not None, "columns of an unknown database"
        columns = []
        for at, name in enumerate(self._names):
            column = self._column(name)
            if column is None:
                kind = self._dialect.kind_of(self._declared.get(name), [row[at] for row in rows])
                column = None if kind is None else DatabaseColumn(self._dialect.key(name), kind)
            columns.append(column)
        return columns

    def _problem_of_row(self, columns: Sequence[DatabaseColumn | None], row: Sequence[Any]) -> str:
        assert self._dialect is not None, "columns of an unknown database"
        if len(row) != len(columns):
            return f"a row of {len(row)} values for {len(columns)} columns: {row!r:.60}"
        for name, column, value in zip(self._names, columns, row, strict=True):
            if column is None:
                why = "" if value is None else "the type has no column type: declare another type"
            elif value is None:
                why = "the column is NOT NULL" if column.is_required else ""
            else:
                why = self._dialect.problem(column, value)
            if why:
                return problem_with(name, value, why)
        return ""

    def commit(self, prepared: Sequence[Any], transaction_id: TransactionId) -> None:
        """Write rows and number in one transaction, unless the number exists. Rejected rows are
        left out, reported and counted."""
        if not prepared:
            return
        self.check_target()
        if self._connection is None:
            self._connection = self._prepared_connection()
        try:
            refused = self._write(*self._statement_for(prepared), transaction_id)
        except BaseException:
            # Whatever state it is in: the next try begins with another connection.
            self._disconnect()
            raise
        self._is_noted = True
        self.refuse(refused, self._fields, {at: _values_of(prepared[at]) for at in refused})

    def _write(
        self, statement: str, rows: Sequence[Any], transaction_id: TransactionId
    ) -> dict[int, str]:
        """Write all rows in one statement; after an error, bisect the rows at the positions."""
        cursor, is_at_end = self._connection.cursor(), False
        try:
            if not self._take_number(cursor, transaction_id):
                return self._refused_before(cursor, transaction_id)
            self._note_run(cursor)
            cursor.executemany(statement, rows)
            is_at_end = True
            self._connection.commit()
            return {}
        except Exception as error:
            if not self._is_of_rows(error, is_at_end):
                raise
            self._connection.rollback()
            return self._write_apart(statement, rows, transaction_id, is_at_end)

    def _refused_before(self, cursor: Any, transaction_id: TransactionId) -> dict[int, str]:
        if not self.repeats:
            return {}
        found = self._refusals.read(cursor, transaction_id.writer, transaction_id.number)
        self._connection.rollback()
        return found

    def _write_apart(
        self, statement: str, rows: Sequence[Any], transaction_id: TransactionId, is_at_end: bool
    ) -> dict[int, str]:
        """`is_at_end`: the rows were taken, and refused by the end of the transaction."""
        writer, number = transaction_id.writer, transaction_id.number
        begin = partial(self._begin_apart, transaction_id, is_at_end)
        divided = DividedTransaction(self._connection, self._module, statement, rows, begin)
        refused = divided.write(in_passes=is_at_end)
        if self.repeats:
            self._refusals.note(self._connection.cursor(), writer, number, refused)
        try:
            self._connection.commit()
        except Exception as error:
            if is_at_end or not self._is_of_rows(error, is_at_end=True):
                raise
            self._connection.rollback()
            return self._write_apart(statement, rows, transaction_id, is_at_end=True)
        return refused

    def _is_of_rows(self, error: Exception, is_at_end: bool) -> bool:
        """Whether the driver allows a transaction without its bad rows, and bad rows can be
        found."""
        if is_at_end and self._module.__name__ not in DEFERRING:
            return False
        return cause_of(error, self._module) is not Cause.OTHER

    def _begin_apart(self, transaction_id: TransactionId, is_at_end: bool) -> None:
        cursor = self._connection.cursor()
        if is_at_end:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        if not self._take_number(cursor, transaction_id):
            raise ComponentError(f"another process has written {transaction_id} just now")
        self._is_noted = False
        self._note_run(cursor)

    def _statement_for(self, rows: Sequence[Any]) -> tuple[str, Sequence[Any]]:
        """The writer of rows and the row values; creates missing columns."""
        if self._statement is not None:
            return self._statement, rows
        if self._dialect is None:
            return self._insert_into(self._names), rows
        columns = self._made(rows)
        present = [(at, each) for at, each in enumerate(columns) if each is not None]
        value = self._dialect.value
        arguments = [[value(each, row[at]) for at, each in present] for row in rows]
        return self._insert_into([self._names[at] for at, _ in present]), arguments

    def _made(self, rows: Sequence[Any]) -> list[DatabaseColumn | None]:
        if self._known is None:
            self._read_columns()
        columns = self._columns_for(rows)
        if not self._add(columns):
            return columns
        self._read_columns()
        columns = self._columns_for(rows)
        # The values fit the planned columns; a second instance may have created different columns.
        if problem := next(
            (why for row in rows if (why := self._problem_of_row(columns, row))), ""
        ):
            raise ComponentError(problem)
        return columns

    def _add(self, columns: Sequence[DatabaseColumn | None]) -> bool:
        """Whether columns had to be added; another instance may have done so meanwhile."""
        wanted = [
            (name, column)
            for name, column in zip(self._names, columns, strict=True)
            if column is not None and self._column(name) is None
        ]
        if wanted:
            self._read_columns()
        if problem := self._missing_column():
            raise ComponentError(problem)
        for name, column in wanted:
            if self._column(name) is None:
                self._add_column(name, column.kind)
        return bool(wanted)

    def _add_column(self, name: str, kind: str) -> None:
        try:
            self._connection.cursor().execute(f"ALTER TABLE {self._table} ADD COLUMN {name} {kind}")
            self._connection.commit()
        except self._module.Error:
            self._connection.rollback()
            self._read_columns()
            if self._column(name) is None:
                raise
            # A second instance has added the column concurrently.

    def _prepared_connection(self) -> Any:
        connection = self.connect()
        try:
            self._create_commits(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create_commits(self, connection: Any) -> None:
        for attempt in range(1, CREATE_ATTEMPTS + 1):
            try:
                connection.cursor().execute(_CREATE)
                connection.cursor().execute(CREATE_REFUSALS)
                connection.commit()
                return
            except self._module.Error:
                if attempt == CREATE_ATTEMPTS:
                    raise
                connection.rollback()

    def _take_number(self, cursor: Any, transaction_id: TransactionId) -> bool:
        """Record the number within the transaction; False if the number or a later number
        exists."""
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


def _values_of(row: Any) -> list[Any]:
    """Of a row for a letter; a statement of a user's own may take rows of other forms."""
    return list(row) if isinstance(row, (list, tuple)) else [row]


def _driver(name: str, module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ComponentError(f"{name}: the database's driver cannot be loaded: {error}") from None
