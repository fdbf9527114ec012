"""Postgres: spouts that read its tables, once, or their changes (pip install
heronpy-topologies[postgres]).

    from heronpy_compat.connectors.postgres import PostgresChangesSpout, PostgresSpout

What writes into Postgres is `DatabaseSink` (heron_connectors.database.sink).
"""

from heron_connectors.postgres.changes_spout import PostgresChangesSpout
from heron_connectors.postgres.spout import PostgresSpout

__all__ = ["PostgresChangesSpout", "PostgresSpout"]
