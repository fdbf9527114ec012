"""Runs a module's `if __name__ == "__main__"` in the module that was imported already.

Importing the file a second time as `__main__` would repeat whatever its top level does.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, ModuleType

from heron_api.user_errors import format_error
from heron_core.errors import TopologyError

MAIN = "__main__"


@contextmanager
def program_arguments(words: Sequence[str]) -> Iterator[None]:
    """While open, sys.argv is `words`."""
    before = sys.argv
    sys.argv = list(words)
    try:
        yield
    finally:
        sys.argv = before


def run_main_block(module: ModuleType, path: str) -> None:
    """Run it with the `__name__` that it asks for; TopologyError for what it raises."""
    variables = vars(module)
    imported_as = variables["__name__"]
    variables["__name__"] = MAIN
    try:
        for code in _main_blocks(path):
            exec(code, variables)
    except (Exception, SystemExit) as error:
        # sys.exit() and sys.exit(0) are how a program ends that has done its work.
        if not (isinstance(error, SystemExit) and error.code in (None, 0)):
            raise TopologyError(format_error(error)) from error
    finally:
        variables["__name__"] = imported_as


def _main_blocks(path: str) -> list[CodeType]:
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), path)
    return [
        compile(ast.Module([statement], []), path, "exec", dont_inherit=True)
        for statement in tree.body
        if isinstance(statement, ast.If) and _asks_for_main(statement.test)
    ]


def _asks_for_main(test: ast.expr) -> bool:
    nodes = list(ast.walk(test))
    return any(isinstance(each, ast.Name) and each.id == "__name__" for each in nodes) and any(
        isinstance(each, ast.Constant) and each.value == MAIN for each in nodes
    )
