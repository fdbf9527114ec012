"""Connections to Postgres with psycopg 3, and what its errors mean: the server is away and comes
back, or something is wrong that stays wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from heron_connectors.postgres.values import SETTINGS
from heron_core.errors import ComponentError
from heron_core.optional_packages import needed

CONNECT = "postgres.connect"
"""Config key: how to connect, as text (`host=db dbname=shop user=reader`, or a URL) or as a dict of
psycopg's arguments."""
NEEDED_PACKAGE = ("psycopg", "reading Postgres")
"""The client's module, and its purpose."""
DEFAULTS = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""A server whose host is gone says nothing: so it is noticed within half a minute."""
SESSION = {
    **SETTINGS,
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
"""A page of a large transaction takes its time, and waits while the topology is slow."""
VERSION_MIN = 130000
"""Postgres 13: pg_current_snapshot."""
_AWAY_CLASSES = ("08", "57P", "53300", "58", "40")
"""SQLSTATEs of a broken connection, of a server that stops, starts or has no free connection, of
a system error, of a transaction rolled back by the server (on a standby: after removal by the
primary)."""
_BUSY = ("55006", "55P03")
"""SQLSTATEs of an object that is in use, and of a lock that was waited for in vain."""


class Away(Exception):
    """The server does not answer; the text says what is known."""


class Busy(Exception):
    """An object is in use by another session, named in the text with the remedy."""


def psycopg() -> Any:
    """The package; ComponentError if it is missing."""
    return needed(*NEEDED_PACKAGE)


def connected(how: Any, application: str) -> Any:
    """An autocommit connection with `SESSION`; Away, or ComponentError for invalid arguments and
    a rejected connection."""
    driver = psycopg()
    needed("psycopg.conninfo", NEEDED_PACKAGE[1])
    try:
        named = how if isinstance(how, Mapping) else driver.conninfo.conninfo_to_dict(str(how))
        arguments = {**DEFAULTS, "application_name": application[:63], **named}
        connection = driver.connect(**arguments, autocommit=True)
        for name, value in SESSION.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
    except driver.Error as error:
        raise meaning(error) from None
    if connection.info.server_version < VERSION_MIN:
        version = connection.info.server_version // 10000
        connection.close()
        raise ComponentError(f"Postgres {version} is too old: 13 or newer is needed")
    return connection


def meaning(error: Any) -> Exception:
    """Of an error of psycopg: Away, Busy or ComponentError, in one line."""
    state = error.sqlstate
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, psycopg().ProgrammingError) and state is None:
        return ComponentError(f"{CONNECT}: {text}")
    if state is None:
        # libpq's own errors: no socket, unknown host, closed connection.
        refused = "authentication failed" in text or "does not exist" in text
        remedy = f"{CONNECT} gives user, password and database"
        return (
            ComponentError(f"Postgres: {text} ({remedy})") if refused else Away(f"Postgres: {text}")
        )
    if state.startswith(_AWAY_CLASSES):
        return Away(f"Postgres: {text}")
    if state in _BUSY:
        return Busy(text)
    return ComponentError(f"Postgres: {text}")


def answered(connection: Any, statement: str, values: Sequence[Any] = ()) -> list[Any]:
    """The rows of a statement's answer; Away, Busy or ComponentError."""
    try:
        found: list[Any] = connection.execute(statement, values).fetchall()
    except psycopg().Error as error:
        raise meaning(error) from None
    return found
