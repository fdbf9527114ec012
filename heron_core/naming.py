"""Names in a line for people: the first of many, and the component of an instance. Pure."""

from collections.abc import Iterable, Sized

NAMED_MAX = 5
"""Names in a line: more than that, nobody reads."""


def first_of(names: Iterable[str], most: int = NAMED_MAX) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")


def others(found: Sized) -> str:
    """What stands behind the first of several: how many more there are."""
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""


def component_of(instance: str) -> str:
    """The component of component[index]; empty for what is not the name of an instance."""
    return instance.rpartition("[")[0]
