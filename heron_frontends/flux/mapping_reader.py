"""Reads mappings with known keys; an entry that does not fit is an error with its line."""

from collections.abc import Collection, Iterator
from typing import Any

from heron_core.validation import choices
from heron_frontends.flux.documents import FilePosition, Located

_KINDS = {dict: "a mapping", list: "a list", str: "a text", type(None): "nothing"}


class MappingReader:
    """Entries of one mapping; `label` names the mapping in errors, as in "bolt 'split'"."""

    def __init__(self, located: Located, label: str, known: Collection[str]) -> None:
        """TopologyError for another type than a mapping, or an unknown key."""
        if not isinstance(located.value, dict):
            raise located.position.wrong(f"{label} must be a mapping, not {shown_value(located)}")
        for key, located_value in located.value.items():
            if key not in known:
                hint = choices("keys", str(key), known)
                raise located_value.position.wrong(
                    f"{label} has the key {key!r}, which is not known; {hint}"
                )
        self.label = label
        self.position: FilePosition = located.position
        self._found: dict[str, Located] = located.value

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str) -> Located | None:
        """The entry, or None if missing or empty."""
        found = self._found.get(key)
        return None if found is None or found.value is None else found

    def position_of(self, key: str) -> FilePosition:
        """Where the entry stands, or the mapping if it is missing."""
        found = self._found.get(key)
        return self.position if found is None else found.position

    def text(self, key: str) -> str | None:
        """A word or a number as text."""
        found = self.get(key)
        if found is None:
            return None
        if isinstance(found.value, (dict, list, bool)) or not str(found.value).strip():
            raise self._wrong(key, "a text", found)
        return str(found.value)

    def needed_text(self, key: str) -> str:
        """As `text`; TopologyError if it is missing."""
        found = self.text(key)
        if found is None:
            raise self.position.wrong(f"{self.label} has no {key}")
        return found

    def flag(self, key: str) -> bool:
        """True or false; false if it is missing."""
        found = self.get(key)
        if found is None:
            return False
        if not isinstance(found.value, bool):
            raise self._wrong(key, "true or false", found)
        return found.value

    def whole_number(self, key: str, least: int) -> int | None:
        """A whole number of at least `least`."""
        number = self.number(key, least)
        if number is not None and number != int(number):
            raise self._wrong(key, f"a whole number of at least {least}", self._found[key])
        return None if number is None else int(number)

    def number(self, key: str, least: float = 0) -> float | None:
        """A number of at least `least`; digits in quotes are accepted."""
        located = self.get(key)
        if located is None:
            return None
        try:
            number = float("nan" if isinstance(located.value, bool) else located.value)
        except (TypeError, ValueError):
            number = float("nan")
        if not least <= number < float("inf"):
            raise self._wrong(key, f"a number of at least {least}", located)
        return number

    def mapping(self, key: str) -> dict[str, Located]:
        """A mapping with texts as keys; empty if it is missing."""
        located = self.get(key)
        if located is None:
            return {}
        if not isinstance(located.value, dict):
            raise self._wrong(key, "a mapping", located)
        for name, located_value in located.value.items():
            if not isinstance(name, str):
                raise located_value.position.wrong(
                    f"{self.label}: keys of {key} must be texts, not {name!r}"
                )
        return dict(located.value)

    def items(self, key: str) -> list[Located]:
        """A list; empty if it is missing."""
        found = self.get(key)
        if found is None:
            return []
        if not isinstance(found.value, list):
            raise self._wrong(key, "a list", found)
        return list(found.value)

    def texts(self, key: str) -> Iterator[str]:
        """A list of texts."""
        for each in self.items(key):
            if isinstance(each.value, (dict, list, bool, type(None))):
                raise each.position.wrong(
                    f"{self.label}: {key} must be a list of texts, but has {shown_value(each)}"
                )
            yield str(each.value)

    def _wrong(self, key: str, wanted: str, found: Located) -> Exception:
        return found.position.wrong(
            f"{self.label}: {key} must be {wanted}, not {shown_value(found)}"
        )


def shown_value(found: Located) -> str:
    """A value for an error message: scalars by value, mappings and lists by kind."""
    value: Any = found.value
    return _KINDS[type(value)] if isinstance(value, (dict, list)) or value is None else repr(value)
