"""In which encoding Spark is to read a file of text."""

from collections.abc import Mapping

ENCODINGS = ("encoding", "charset")
"""Options of Spark's for the one thing. The reader of a text knows UTF-8 alone."""


def other_encoding(options: Mapping[str, str]) -> str:
    """The encoding that a user's options name; empty if it is UTF-8, as without any."""
    names = [str(value) for option, value in options.items() if option.lower() in ENCODINGS]
    return next((name for name in names if name.lower() not in ("utf-8", "utf8")), "")
