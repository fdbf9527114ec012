"""Config values as Heron's messages have them."""

from typing import Any


def heron_value(value: Any) -> Any:
    """A config value as Heron writes it down: scalars as strings, the rest as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value
