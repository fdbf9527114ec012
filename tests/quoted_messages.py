"""Messages on docs/TROUBLESHOOTING.md, and the texts of the code that print them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.sources import ROOT, modules, nodes
from tests.tidy_rules import PACKAGES

PAGE = ROOT / "docs" / "TROUBLESHOOTING.md"
GAP = "…"
"""On the page: a name, a number or a path. In a text of the code: an expression."""
LITERAL_MIN = 7
"""Characters of a message outside of gaps; fewer are in any text."""


def messages() -> list[str]:
    """First column of the tables below the headings of messages."""
    text = PAGE.read_text("utf-8")
    below = text[text.index("\n## Messages: ") :]
    quoted = re.findall(r"^\| (?:`` (.*?) ``|`([^`]+)`) \|", below, re.MULTILINE)
    return [first or second for first, second in quoted]


def is_in_the_code(message: str) -> bool:
    """Whether a text of the code prints the message, which has enough letters to be found."""
    longest = max(_parts(message), key=len)
    return len("".join(_parts(message))) >= LITERAL_MIN and any(
        longest in text and matches(message, text) for text in _texts()
    )


def matches(message: str, text: str) -> bool:
    """Whether a message of the page fits a text of the code."""
    return re.search(".*?".join(map(re.escape, _parts(message))), text) is not None


def _parts(message: str) -> list[str]:
    return message.strip(f"{GAP} ").split(GAP)


@cache
def _texts() -> frozenset[str]:
    return frozenset(text for path in modules(*PACKAGES) for text in _texts_of(path))


def _texts_of(path: Path) -> Iterator[str]:
    for node in nodes(path):
        text = literal_text(node)
        if text is not None:
            yield text


def literal_text(node: ast.AST) -> str | None:
    """The text of a string with gaps for expressions; None for other nodes."""
    match node:
        case ast.JoinedStr(values=values):
            return "".join(_part(value) for value in values)
        case ast.Constant(value=str(text)):
            return text
    return None


def _part(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else GAP
