"""Postgres: a spout that reads changes of its tables (pip install heronpy-topologies[postgres]).

from heronpy_compat.connectors.postgres import PostgresChangesSpout

What writes into Postgres is `DatabaseSink` (heron_connectors.database.sink).
"""

from heron_connectors.postgres.changes_spout import PostgresChangesSpout

__all__ = ["PostgresChangesSpout"]
