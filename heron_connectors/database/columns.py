"""Columns of a database table: catalog queries, and the values a column accepts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class DatabaseColumn:
    """A column of a table."""

    name: str
    """Without quotes; as the database keeps it."""
    kind: str
    """The type, as written by the database."""
    is_required: bool = False
    """Whether it takes no NULL and has no default."""
    is_strict: bool = False
    """sqlite: whether the table converts nothing."""


class Dialect(Protocol):
    """Differences between databases."""

    def columns(self, cursor: Any, table: str) -> list[DatabaseColumn]:
        """The columns of a table; empty without a table."""

    def key(self, name: str) -> str:
        """The stored form of a name in a statement."""

    def problem(self, column: DatabaseColumn, value: Any) -> str:
        """Reason why a column would change or reject a non-None value; empty for an accepted
        value."""

    def value(self, column: DatabaseColumn, value: Any) -> Any:
        """Driver value of an accepted value."""

    def kind_of(self, declared: str | None, values: Sequence[Any]) -> str | None:
        """Type of a new column, from the declared type or else the values; None if still
        unknown."""


def is_half_a_character(text: str) -> bool:
    """Whether a text has a lone surrogate, which is not a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


HALF_A_CHARACTER = "half a character (a lone surrogate) is not text"
