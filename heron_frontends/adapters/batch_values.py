"""The values of a tuple for a bolt that takes batches, where its rows are no columns."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Misfit:
    """Rows that are no record batch: it stands where the record batch would, and the bolt is not
    called with it."""

    why: str
    """In one line, with the names of component, stream and field."""
    rows: list[list[Any]]

    @property
    def num_rows(self) -> int:
        """How many they are, as of a record batch."""
        return len(self.rows)
