"""Postgres: a spout that reads changes of its tables (pip install heronpy-topologies[postgres]).

from heronpy_compat.connectors.postgres import PostgresChangesSpout

What writes into Postgres is `DatabaseSink` (heronpy_compat.connectors.database).
"""

from heronpy_compat.connectors.postgres_changes_spout import PostgresChangesSpout

__all__ = ["PostgresChangesSpout"]
