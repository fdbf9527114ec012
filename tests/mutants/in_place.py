"""A mutation after the import of its module: live functions get the mutated code.

Only the inside of a function can be changed in place. A mutation of a class's or a module's own
lines has an effect while the module is imported: see imported.py.
"""

import ast
import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType

from tests.mutants.mutations import Mutation

Place = tuple[str, int]
"""A function: the path of its file, and the line of its code's start."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class NotInPlace(Exception):
    """The mutated code does not fit the live functions."""


def functions_around(mutation: Mutation, source: bytes) -> list[int]:
    """The lines of the functions whose bodies have the mutation, outermost first."""
    ends = [0]
    for line in source.splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    found: list[int] = []
    node: ast.AST | None = ast.parse(source)
    while node is not None:
        node = next(
            (
                each
                for each in ast.iter_child_nodes(node)
                if hasattr(each, "lineno") and _has(each, mutation, ends)
            ),
            None,
        )
        if isinstance(node, Function):
            if not any(_has(each, mutation, ends) for each in node.body):
                break  # a default of an argument: the scope around evaluates it
            found.append(min([node.lineno, *(each.lineno for each in node.decorator_list)]))
    return found


def _has(node: ast.AST, mutation: Mutation, ends: list[int]) -> bool:
    start = ends[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
    end = ends[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
    return bool(start <= mutation.start and mutation.end <= end)


def place_of(mutation: Mutation, source: bytes) -> Place | None:
    """The innermost function around the mutation; None outside of functions."""
    lines = functions_around(mutation, source)
    return (mutation.path, lines[-1]) if lines else None


def living() -> dict[str, list[FunctionType]]:
    """The functions of this process, by their files."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # else what was frozen is not among the objects
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            found[each.__code__.co_filename].append(each)
    return found


def apply(mutation: Mutation, source: bytes, file: str, functions: Iterable[FunctionType]) -> None:
    """Change the mutated functions of `file`. NotInPlace if impossible."""
    lines = functions_around(mutation, source)
    codes = {
        (code.co_qualname, code.co_firstlineno): code
        for code in _codes(compile(mutation.applied(source), file, "exec", dont_inherit=True))
        if code.co_firstlineno in lines
    }
    changed = 0
    for each in functions:
        code = codes.get((each.__code__.co_qualname, each.__code__.co_firstlineno))
        if code is not None:
            _replace(each, code)
            changed += 1
    if not changed:
        raise NotInPlace(f"{mutation}: its function is not alive")


def _replace(function: FunctionType, code: CodeType) -> None:
    if code.co_freevars != function.__code__.co_freevars:
        raise NotInPlace(f"{code.co_qualname}: it has other variables of the scope around")
    function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)
