"""Each public name has an example: a program of the pages or examples, or code in its docstring.

Examples of docstrings run, with the names of their module and `Path`. A name of the surrounding
program (`stream`, `builder`) may be missing: then the example runs up to the first such name.
"""

import ast
import textwrap
from contextlib import suppress
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

import pytest

from docs.site.navigation import markdown_files
from docs.site.reference import MODULES, public_names
from docs.site.uses import uses

ROOT = Path(__file__).parents[1]
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
    assert sorted(without_example()) == [], "add an example to the docstring"


@pytest.mark.parametrize("module", MODULE_NAMES)
def test_examples_of_docstrings_are_python(module: str) -> None:
    for of, name, value in described():
        for example in examples_in(docstring_of(value)) if of == module else ():
            ast.parse(example, f"{of}.{name}")


NOT_RUN = {
    "heronpy_compat.drpc.DRPCClient": "needs a server",
    "heronpy_compat.testing.materialize_in_tester": "is the body of a coroutine",
}


@pytest.mark.parametrize("module", MODULE_NAMES)
def test_examples_of_docstrings_run(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    imported = import_module(module)
    own_names = {name: getattr(imported, name) for name in public_names(ROOT, module)}
    for of, name, value in described():
        if of != module or f"{of}.{name}" in NOT_RUN:
            continue
        for example in examples_in(docstring_of(value)):
            code = compile(example, f"{of}.{name}", "exec")
            with suppress(NameError):
                exec(code, {"__name__": "example", "Path": Path, **own_names})


def test_prose_is_not_an_example() -> None:
    assert examples_in("Makes a thing.\n\nIt has parts:\n") == []
    assert examples_in("Makes.\n\n    thing = make()\n\n    thing.use()\n\nAnd prose.") == [
        "thing = make()\n\nthing.use()"
    ]
