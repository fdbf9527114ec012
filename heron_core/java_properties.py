"""Java's .properties files. Pure."""

import re
from collections.abc import Iterable

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*([=:\s])")


def parse_properties(lines: Iterable[str]) -> dict[str, str]:
    """Name -> value, as java.util.Properties reads them: `name = value`, `name: value` or `name
    value`; # and ! start a comment, a backslash at the end of a line continues it."""
    properties: dict[str, str] = {}
    for line in _logical_lines(lines):
        match = _SEPARATOR.search(line)
        name, value = (line[: match.start(1)], line[match.start(1) :]) if match else (line, "")
        value = re.sub(r"^\s*[=:]?\s*", "", value)
        properties[_unescaped(name)] = _unescaped(value).rstrip(" ")
    return properties


def _logical_lines(lines: Iterable[str]) -> Iterable[str]:
    pending = ""
    for physical_line in lines:
        line = physical_line.strip("\r\n").lstrip()
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        word = match[1]
        return chr(int(word[1:], 16)) if len(word) > 1 else _ESCAPED.get(word, word)

    return _ESCAPE.sub(character, text)
