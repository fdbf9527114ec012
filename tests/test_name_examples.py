"""Each public name has an example: a program of the pages or examples, or code in its docstring.

`tests/names_without_example.txt` lists the names that lacked an example when the test was written.
A name leaves the list with its first example, and no name is added: the test fails in both cases.
"""

import ast
import textwrap
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

import pytest

from docs.site.navigation import markdown_files
from docs.site.reference import MODULES, public_names
from docs.site.uses import uses

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("names_without_example.txt")
INDENT = "    "
MODULE_NAMES = [each for group in MODULES.values() for each in group]


def examples_in(text: str) -> list[str]:
    """Indented paragraphs of a docstring as programs; a paragraph of prose is not indented."""
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith(INDENT) or (not line.strip() and paragraphs[-1]):
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return [textwrap.dedent("\n".join(lines)).strip() for lines in paragraphs if lines]


def docstring_of(value: object) -> str:
    """As a site shows the docstring; empty for a value without a docstring."""
    return cleandoc(value.__doc__ or "")


@cache
def described() -> list[tuple[str, str, object]]:
    """(module, name, object) of each public class and function; a constant has its page's table."""
    found: list[tuple[str, str, object]] = []
    for module in MODULE_NAMES:
        imported = import_module(module)
        named = ((name, getattr(imported, name)) for name in public_names(ROOT, module))
        found += [(module, name, value) for name, value in named if callable(value)]
    return found


@cache
def without_example() -> set[str]:
    """Names of classes and functions; an import of an object under any of its names counts."""
    used = uses(ROOT, markdown_files())
    imported = [each for each in described() if used.get(each[:2])]
    shown = {id(value) for _, _, value in imported}
    return {
        f"{module}.{name}"
        for module, name, value in described()
        if id(value) not in shown and not examples_in(docstring_of(value))
    }


def test_each_public_name_has_an_example() -> None:
    listed = set(LIST.read_text("utf-8").split())
    assert sorted(without_example() - listed) == [], "add an example to the docstring"


def test_a_name_with_an_example_is_not_listed() -> None:
    listed = set(LIST.read_text("utf-8").split())
    assert sorted(listed - without_example()) == [], f"remove the names from {LIST.name}"


@pytest.mark.parametrize("module", MODULE_NAMES)
def test_examples_of_docstrings_are_python(module: str) -> None:
    for of, name, value in described():
        for example in examples_in(docstring_of(value)) if of == module else ():
            ast.parse(example, f"{of}.{name}")


def test_prose_is_not_an_example() -> None:
    assert examples_in("Makes a thing.\n\nIt has parts:\n") == []
    assert examples_in("Makes.\n\n    thing = make()\n\n    thing.use()\n\nAnd prose.") == [
        "thing = make()\n\nthing.use()"
    ]
