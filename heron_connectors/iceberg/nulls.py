"""A list or a map of structs that is null stays null: pyiceberg makes an empty one of it while it
writes (iceberg-python 3833; it makes arrays again from their offsets, without what is null)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heron_connectors.iceberg.types import PURPOSE
from heron_core.optional_packages import needed

VISITOR = "ArrowProjectionVisitor"


@contextmanager
def nulls_kept() -> Iterator[None]:
    """While pyiceberg writes files in it, in whatever thread; for one writer of a process."""
    module = needed("pyiceberg.io.pyarrow", PURPOSE)
    before = getattr(module, VISITOR)
    setattr(module, VISITOR, _keeping_nulls(before))
    try:
        yield
    finally:
        setattr(module, VISITOR, before)


def _keeping_nulls(visitor: Any) -> Any:
    class KeepingNulls(visitor):  # type: ignore[misc]
        """Projects as its base does, and what was null is null again."""

        def list(self, list_type: Any, list_array: Any, value_array: Any) -> Any:
            return _with_nulls(super().list(list_type, list_array, value_array), list_array)

        def map(self, map_type: Any, map_array: Any, keys: Any, values: Any) -> Any:
            return _with_nulls(super().map(map_type, map_array, keys, values), map_array)

    return KeepingNulls


def _with_nulls(found: Any, before: Any) -> Any:
    if found is None or found.null_count == before.null_count:
        return found
    arrow = needed("pyarrow", PURPOSE)
    compute = needed("pyarrow.compute", PURPOSE)
    return compute.if_else(before.is_valid(), found, arrow.scalar(None, found.type))
