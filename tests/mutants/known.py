"""Mutations that no test can notice, or none should: each with its reason."""

KNOWN: dict[tuple[str, str, str, str], str] = {}
"""(path, function, before, after) -> why it lives."""
