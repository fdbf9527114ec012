"""What the catalog of a server says of tables, their keys and types."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heron_connectors.postgres.client import answered, meaning, psycopg
from heron_connectors.postgres.keyset import KeyColumn, quoted
from heron_connectors.postgres.values import TypeInfo
from heron_core.errors import ComponentError

_TYPES = """
SELECT oid, typtype::text, CASE WHEN typcategory = 'A' THEN typelem ELSE 0 END, typbasetype,
  typdelim::text
FROM pg_type WHERE oid = ANY(%s)
"""
_TABLE = """
SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(%s)
"""
_KEY = """
SELECT a.attname, format_type(a.atttypid, -1), CASE WHEN a.attcollation = 0 THEN '' ELSE
  (SELECT quote_ident(n.nspname) || '.' || quote_ident(l.collname)
   FROM pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace
   WHERE l.oid = a.attcollation) END
FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k(number, place), pg_attribute a
WHERE i.indrelid = %s AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = k.number
  AND k.place <= i.indnkeyatts
ORDER BY k.place
"""


@dataclass(frozen=True, slots=True)
class TableName:
    """A table, as the catalog has it."""

    oid: int
    schema: str
    table: str

    @property
    def source(self) -> str:
        """As SQL writes it behind FROM."""
        return f"{quoted(self.schema)}.{quoted(self.table)}"

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


def table_called(connection: Any, name: str) -> TableName:
    """The table of a name as SQL writes it; ComponentError if there is none."""
    found = answered(connection, _TABLE, [name])
    if not found:
        raise ComponentError(
            f"{connection.info.dbname} has no table {name} on the search path of the role "
            f"{connection.info.user}: name the table with its schema, and quote a name with "
            "capitals"
        )
    return TableName(*found[0])


def primary_key(connection: Any, table: TableName) -> tuple[KeyColumn, ...]:
    """That of a table; empty if it has none."""
    return tuple(KeyColumn(*each) for each in answered(connection, _KEY, [table.oid]))


def columns_of(connection: Any, source: str) -> dict[str, int]:
    """Names of the columns of what stands behind FROM, with the oids of their types."""
    try:
        cursor = connection.execute(f"SELECT * FROM {source} AS heronpy_rows LIMIT 0")
    except psycopg().Error as error:
        raise meaning(error) from None
    return {each.name: each.type_code for each in cursor.description}


def type_names(connection: Any, oids: Sequence[int]) -> list[str]:
    """As SQL writes types."""
    statement = "SELECT format_type(oid, -1) FROM unnest(%s::oid[]) WITH ORDINALITY t(oid, at)"
    return [name for (name,) in answered(connection, f"{statement} ORDER BY at", [list(oids)])]


def type_infos(connection: Any, oids: set[int]) -> list[TypeInfo]:
    """What is known of types."""
    return [TypeInfo(*each) for each in answered(connection, _TYPES, [list(oids)])]
