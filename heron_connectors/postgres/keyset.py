"""Rows in key order from any key on: statements of a resumable reader. Pure.

The position of a reader is the key of its newest row, in the text form of Postgres. Reading
resumes at the key, inclusively: the known row is skipped, and a second row with an equal key is
detected. A key that is not unique is therefore reported, and never loses a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Statement = tuple[str, list[str | int]]
"""Text with placeholders, and the values for these."""
Key = tuple[str, ...]
"""The texts of a key's values."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column by which rows are ordered."""

    name: str
    type_name: str
    """As Postgres' format_type writes the type."""
    collation: str = ""
    """As SQL writes the collation of a text; empty for the type's own."""


@dataclass(frozen=True, slots=True)
class KeysetShare:
    """The share of one instance: rows whose key hashes to the instance's remainder.

    Key ranges would be faster, but each instance would have to compute equal ranges: in a
    growing table, instances that start at different times would leave gaps between the ranges.
    """

    index: int = 0
    instances: int = 1


@dataclass(frozen=True, slots=True)
class Selection:
    """What is read."""

    source: str
    """The FROM clause."""
    columns: tuple[str, ...]
    keys: tuple[KeyColumn, ...]
    has_nulls: bool = False
    """Whether a key may be null: then such rows are looked for, to be told of."""
    condition: str = ""
    """Filter: rows with a true result."""
    is_unique: bool = False
    """Whether the server guarantees unique keys: reading then resumes after the key."""


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def names_of(columns: Sequence[str]) -> str:
    """Names as a list of SQL."""
    return ", ".join(map(quoted, columns))


def literal(text: str) -> str:
    """Part of a statement that has placeholders elsewhere."""
    return text.replace("%", "%%")


def rows_from(selection: Selection, after: Key | None, share: KeysetShare) -> Statement:
    """The columns and behind them the key of each row from a key on, in the order of the key."""
    keys = [each.name for each in selection.keys]
    conditions: list[str] = []
    values: list[str | int] = []
    if selection.condition:
        conditions.append(literal(f"({selection.condition})"))
    if after is not None:
        conditions.append(_from(selection))
        values += after
    if share.instances > 1:
        conditions.append(_of_share(keys))
        values += [*[share.instances] * 3, share.index]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    columns = literal(names_of([*selection.columns, *keys]))
    order = literal(names_of(keys))
    source = f"{literal(selection.source)} AS heronpy_rows"
    return f"SELECT {columns} FROM {source}{where} ORDER BY {order}", values


def _from(selection: Selection) -> str:
    keys = literal(names_of([each.name for each in selection.keys]))
    values = ", ".join(f"%s::{literal(each.type_name)}" for each in selection.keys)
    # A null is on neither side of a value: IS NOT FALSE finds it, without an index.
    null = " IS NOT FALSE" if selection.has_nulls else ""
    return f"(({keys}) {'>' if selection.is_unique else '>='} ({values})){null}"


def _of_share(keys: Sequence[str]) -> str:
    """The remainder of a hash, which may be negative, is made a number from 0 on."""
    texts = ", ".join(f"{literal(quoted(each))}::text" for each in keys)
    number = f"hashtextextended(concat_ws(',', {texts}) COLLATE \"C\", 0)"
    return f"mod(mod({number}, %s::bigint) + %s::bigint, %s::bigint) = %s::bigint"


def is_up_to(keys: Sequence[KeyColumn], found: Key, until: Key) -> Statement:
    """Whether a key stands at or before another one, in the order of the table."""
    return f"SELECT ({_typed(keys)}) <= ({_typed(keys)})", [*found, *until]


def _typed(keys: Sequence[KeyColumn]) -> str:
    return ", ".join(
        f"%s::{literal(each.type_name)}"
        + (f" COLLATE {literal(each.collation)}" if each.collation else "")
        for each in keys
    )
