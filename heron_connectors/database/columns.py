"""Columns of a database's table: what a database is asked of them, and which values they hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class DatabaseColumn:
    """One column."""

    name: str
    """Without quotes; as the database keeps it."""
    kind: str
    """Its type, as the database writes it."""
    is_required: bool = False
    """Whether it takes no NULL and has no default."""
    is_strict: bool = False
    """sqlite: whether the table converts nothing."""


class Dialect(Protocol):
    """What is special about one database."""

    def columns(self, cursor: Any, table: str) -> list[DatabaseColumn]:
        """Those of a table; none if there is no table."""

    def key(self, name: str) -> str:
        """The name that the database keeps for one in a statement."""

    def problem(self, column: DatabaseColumn, value: Any) -> str:
        """Why a column would change or refuse a value, which is not None; empty if it would not."""

    def value(self, column: DatabaseColumn, value: Any) -> Any:
        """What the driver is given for a value that fits."""

    def kind_of(self, declared: str | None, values: Sequence[Any]) -> str | None:
        """The type of a new column of a declared type, or else for these values; None if it is not
        known yet."""


def is_half_a_character(text: str) -> bool:
    """Whether a text has a lone surrogate, which is not a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


HALF_A_CHARACTER = "half a character (a lone surrogate) is not text"
