"""SQL over streamlets: `streamlet.sql(…)`, `sql(…)` of several sources, `heronpy sql FILE`.

The language is a part of Spark SQL's, so a query gives equal rows there. docs/SQL.md lists the
clauses.
"""

from heronpy_compat.sql.planning import SqlStream as SqlStream
from heronpy_compat.sql.planning import sql as sql

__all__ = ["SqlStream", "sql"]
