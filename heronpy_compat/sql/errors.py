"""Errors in the text of a query: a line that names the clause or the expression."""

from heronpy_compat.streamlet.errors import StreamletError


class SqlError(StreamletError):
    """A query cannot be parsed, names an unknown column, or needs an unsupported clause."""


def shown_sql(node: object) -> str:
    """A part of a query as Spark's SQL, cut to a line of a message."""
    text = node.sql(dialect="spark") if hasattr(node, "sql") else str(node)
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 1]}…"


SHOWN_MAX = 80
"""Characters of a query's part in a message."""
