"""The repository's Python files and their syntax trees, each parsed once per run."""

import ast
from functools import cache
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def parsed(path: Path) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse(path.read_text("utf-8"), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the module's syntax tree."""
    return tuple(ast.walk(parsed(path)))


def modules(*folders: str) -> list[Path]:
    """The Python files in folders of the repository."""
    return sorted(chain.from_iterable((ROOT / folder).rglob("*.py") for folder in folders))
