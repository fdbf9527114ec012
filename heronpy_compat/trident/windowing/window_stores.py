"""Where windows keep their tuples (org.apache.storm.trident.windowing.WindowsStore)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heron_api.java_names import CalledByEngine
from heronpy_compat.trident.execution.numbered_records import NumberedRecords


class WindowsStore(CalledByEngine):
    """Storage of values by text keys, e.g. a database. Writes are durable when a method returns;
    values are lists that tuples can carry.

    Example:

        class Table(WindowsStore):
            def __init__(self):
                self.rows = {}

            def get(self, key):
                return self.rows.get(key)

            def put(self, key, value):
                self.rows[key] = value

            def remove(self, key):
                self.rows.pop(key, None)
    """

    def get(self, key: str) -> Any:
        """The value of a key, or None."""
        raise NotImplementedError(f"{type(self).__name__} must define get(self, key)")

    def get_many(self, keys: Sequence[str]) -> list[Any]:
        """The value of each key (Storm: `get` of a list)."""
        return [self.get(key) for key in keys]

    def put(self, key: str, value: Any) -> None:
        """Set a value."""
        raise NotImplementedError(f"{type(self).__name__} must define put(self, key, value)")

    def put_all(self, entries: Mapping[str, Any]) -> None:
        """Set values, the last value after all others."""
        for key, value in entries.items():
            self.put(key, value)

    def remove(self, key: str) -> None:
        """Remove a key, if present."""
        raise NotImplementedError(f"{type(self).__name__} must define remove(self, key)")

    def remove_all(self, keys: Iterable[str]) -> None:
        """Remove keys."""
        for key in keys:
            self.remove(key)

    def shutdown(self) -> None:
        """The process ends gracefully."""


class WindowsStoreFactory(CalledByEngine):
    """Creates the store of one partition of one window.

    Example:

        class Tables(WindowsStoreFactory):
            def create(self, conf):
                return Table(conf["windows.url"])
    """

    def create(self, conf: dict[str, Any]) -> WindowsStore:
        """Called once in each process."""
        raise NotImplementedError(f"{type(self).__name__} must define create(self, conf)")


class InMemoryWindowsStore(WindowsStore):
    """In-memory store that records changes per batch and so survives its process; Storm's is lost
    with its worker.

    Example:

        store = InMemoryWindowsStore()
        store.put("count", [1])
        assert store.get("count") == [1]
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._changed: dict[str, None] = {}
        self._records: NumberedRecords | None = None
        self._entries_since_whole = 0

    def keep(self, records: NumberedRecords) -> None:
        """Restore the recorded values, and record later writes."""
        self._records = records
        for number in records.numbers:
            is_whole, entries, removed = records.get(number)
            if is_whole:
                self._values.clear()
                self._entries_since_whole = 0
            self._values.update(entries)
            for key in removed:
                self._values.pop(key, None)
            self._entries_since_whole += len(entries) + len(removed)

    def get(self, key: str) -> Any:
        """See WindowsStore."""
        return self._values.get(key)

    def put(self, key: str, value: Any) -> None:
        """See WindowsStore; durable with the next `record`."""
        self._values[key] = value
        self._changed[key] = None

    def remove(self, key: str) -> None:
        """See WindowsStore; durable with the next `record`."""
        if self._values.pop(key, None) is not None:
            self._changed[key] = None

    def get_all_keys(self) -> list[str]:
        """All keys."""
        return list(self._values)

    def record(self, txid: int) -> None:
        """Record a batch's changes. A record of all values replaces the earlier records, and is
        written when changes since the last full record equal the values in number."""
        if self._records is None or not self._changed:
            return
        is_repeated = self._records.has(txid)
        since = self._entries_since_whole + len(self._changed)
        is_whole = is_repeated or since >= len(self._values)
        entries = (
            self._values
            if is_whole
            else {key: self._values[key] for key in self._changed if key in self._values}
        )
        removed = [] if is_whole else [key for key in self._changed if key not in self._values]
        self._records.put(txid, [is_whole, dict(entries), removed])
        self._changed.clear()
        self._entries_since_whole = 0 if is_whole else since
        if is_whole:
            self._records.remove_below(txid)


class InMemoryWindowsStoreFactory(WindowsStoreFactory):
    """Makes stores in memory.

    Example:

        stores = InMemoryWindowsStoreFactory()
        windows = stream.tumbling_window(100, stores, ["word"], Count(), ["count"])
    """

    def create(self, conf: dict[str, Any]) -> WindowsStore:
        """See WindowsStoreFactory."""
        return InMemoryWindowsStore()
