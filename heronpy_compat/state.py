"""States from outside of their topology: live queries, tables, and savepoints made of tables.

    from heronpy_compat.state import StateClient, read_state, write_state

docs/QUERIES.md shows how.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heron_connectors.state_tables import read_state, write_state
    from heron_io.state_queries import StateClient

__all__ = ["StateClient", "read_state", "write_state"]

_HOME = {
    "StateClient": "heron_io.state_queries",
    "read_state": "heron_connectors.state_tables",
    "write_state": "heron_connectors.state_tables",
}


if not TYPE_CHECKING:  # a type checker reports a name that is not exported

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)
