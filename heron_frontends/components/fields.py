"""A list of field names as an object (Storm: org.apache.storm.tuple.Fields)."""

from collections.abc import Iterable


class Fields(tuple[str, ...]):
    """`Fields("word", "count")`, or one list of names."""

    __slots__ = ()

    def __new__(cls, *names: str | Iterable[str]) -> "Fields":
        """Field names, one by one or in lists."""
        found: list[str] = []
        for each in names:
            found.extend([each] if isinstance(each, str) else each)
        return super().__new__(cls, found)
