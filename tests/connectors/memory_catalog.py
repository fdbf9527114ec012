"""A catalog of Iceberg in memory, whose tables are files: pyiceberg's without its database, two
thirds of a trial. A catalog with a database is in tests/unit (test_iceberg)."""

from collections import defaultdict
from typing import Any

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table

_tables: dict[str, dict[Any, str]] = defaultdict(dict)
"""Warehouse -> table -> newest metadata: kept through kills."""
_namespaces: dict[str, set[Any]] = defaultdict(set)


class MemoryCatalog(SqlCatalog):
    """The catalog of a warehouse, shared by all users in this process."""

    def __init__(self, name: str, **properties: str) -> None:
        MetastoreCatalog.__init__(self, name, **properties)
        self._tables = _tables[properties["warehouse"]]
        self._namespaces = _namespaces[properties["warehouse"]]

    def load_table(self, identifier: Any) -> Table:
        named = Catalog.identifier_to_tuple(identifier)
        location = self._tables.get(named)
        if location is None:
            raise NoSuchTableError(f"Table does not exist: {named}")
        io = self._load_file_io({}, location)
        metadata = FromInputFile.table_metadata(io.new_input(location))
        return Table(named, metadata, location, io, self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """As in a database: the pointer to the newest metadata changes from the one read, or the
        commit fails."""
        named = table.name()
        before = self.load_table(named) if named in self._tables else None
        staged = self._update_and_stage_table(before, named, requirements, updates)
        if before is not None and staged.metadata == before.metadata:
            return _answer(before)
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        if self._tables.get(named) != (before.metadata_location if before is not None else None):
            error = TableAlreadyExistsError if before is None else CommitFailedException
            raise error(f"{named} was changed by another writer")
        self._tables[named] = staged.metadata_location
        return _answer(staged)

    def table_exists(self, identifier: Any) -> bool:
        return Catalog.identifier_to_tuple(identifier) in self._tables

    def namespace_exists(self, namespace: Any) -> bool:
        return Catalog.identifier_to_tuple(namespace) in self._namespaces

    def create_namespace(self, namespace: Any, properties: Any = None) -> None:
        if self.namespace_exists(namespace):
            raise NamespaceAlreadyExistsError(str(namespace))
        self._namespaces.add(Catalog.identifier_to_tuple(namespace))

    def load_namespace_properties(self, namespace: Any) -> Any:
        if not self.namespace_exists(namespace):
            raise NoSuchNamespaceError(str(namespace))
        return {}

    def close(self) -> None:
        """It holds nothing."""


def _answer(table: Any) -> CommitTableResponse:
    named = {"metadata": table.metadata, "metadata-location": table.metadata_location}
    return CommitTableResponse(**named)
