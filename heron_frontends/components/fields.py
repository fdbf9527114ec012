"""A list of field names as an object (Storm: org.apache.storm.tuple.Fields)."""

from collections.abc import Iterable


class Fields(tuple[str, ...]):
    """`Fields("word", "count")`, or one list of names."""

    __slots__ = ()

    def __new__(cls, *names: str | Iterable[str]) -> "Fields":
        """Field names, one by one or in lists."""
        all_names: list[str] = []
        for name in names:
            all_names.extend([name] if isinstance(name, str) else name)
        return super().__new__(cls, all_names)
