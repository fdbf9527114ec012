"""Rules for the source as a whole: no circles between modules, sizes, names, documentation.

The rules, and their exceptions, are in tests/tidy_rules.py. The documentation of commands and
options is checked by tests/unit/heron_cli/test_cli_docs.py.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

import grimp
import pytest

from tests import prose, quoted_messages
from tests.sources import ROOT, modules, nodes, parsed
from tests.tidy_rules import (
    FILES_OF_USERS,
    FUNCTION_LINES,
    KNOWN_CIRCLES,
    MODULE_LINES,
    PACKAGES,
    REPLACED,
    SHARED_CLASSES,
    SLEEPING_TESTS,
    STANDING,
    STORED_NAMES,
    VAGUE,
    VAGUE_LINES,
)

FOLDERS = (*PACKAGES, "tests", "benchmarks", "examples", "docs")
OTHER_FILES = ("README.md", "Makefile", "pyproject.toml", "NOTICE")
TEXT_ENDINGS = (".py", ".md", ".toml", ".yaml", ".json", ".template", ".css", ".js")
NOTE_TO_SELF = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
HOMES = re.compile(r"/(?:home|Users)/(?!(?:a|ada|me|zoë|zo\\\\?xeb)\b)\w+")
"""Home folders; names invented by tests are excused."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef
SHORT = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda


def texts() -> Iterator[Path]:
    """Every hand-written file."""
    for folder in FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in TEXT_ENDINGS)
    yield from (ROOT / name for name in OTHER_FILES if (ROOT / name).exists())


def at(path: Path, node: ast.stmt | ast.expr | None = None) -> str:
    """Position of a node, as editors open."""
    line = f":{node.lineno}" if node is not None else ""
    return f"{path.relative_to(ROOT)}{line}"


# --- circles ------------------------------------------------------------------------------------


@cache
def import_graph() -> Mapping[str, frozenset[str]]:
    """module -> all modules imported: late, under TYPE_CHECKING, and by names in strings."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    return {
        module: frozenset(graph.find_modules_directly_imported_by(module))
        | named_modules(module, graph.modules) - {module}
        for module in graph.modules
    }


def named_modules(module: str, known: Set[str]) -> frozenset[str]:
    """Modules named by a module with a call of import_module: whole, or as parts behind a package
    in a string."""
    path = ROOT / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    calls = (ast.unparse(each.func) for each in nodes(path) if isinstance(each, ast.Call))
    if not any(each.endswith("import_module") for each in calls):
        return frozenset()
    strings = {
        each.value.strip(".")
        for each in nodes(path)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }
    packages = {module, *(each for each in strings if each in known)}
    whole = {f"{package}.{each}" for package in packages for each in strings}
    return frozenset((whole | strings) & known)


def test_an_import_by_its_name_in_a_string_is_found() -> None:
    found = named_modules("heronpy_compat.streamlet.streamlet", import_graph().keys())
    assert "heronpy_compat.streamlet.impl.mapbolt" in found
    assert named_modules("heron_core.plans", import_graph().keys()) == frozenset()


def reachable(graph: Mapping[str, frozenset[str]], start: str) -> frozenset[str]:
    """Modules that `start` imports, directly or indirectly."""
    seen: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting.extend(graph[module])
    return frozenset(seen)


def circles(graph: Mapping[str, frozenset[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module."""
    reached = {module: reachable(graph, module) for module in graph}
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph
        if module in reached[module]
    }


def test_circles_are_found() -> None:
    """Three modules import each other; a fourth with imports of the three is in no circle."""
    imports = {"a": "b", "b": "c", "c": "a", "d": "a", "e": ""}
    graph = {module: frozenset(imported) for module, imported in imports.items()}
    assert circles(graph) == {frozenset("abc")}


def test_no_modules_import_each_other() -> None:
    """Imports inside functions and for annotations count: both tie modules together."""
    new = [sorted(circle) for circle in circles(import_graph()) - KNOWN_CIRCLES.keys()]
    assert not new, f"these modules import each other: {new}"


def test_no_circle_is_known_that_is_gone() -> None:
    """The list only shrinks."""
    gone = [sorted(circle) for circle in KNOWN_CIRCLES.keys() - circles(import_graph())]
    assert not gone, f"take these out of KNOWN_CIRCLES: {gone}"


# --- sizes --------------------------------------------------------------------------------------


def lines_of(function: Function) -> int:
    """Lines from `def` to the end, the docstring included. Decorators are left out: they are tables
    of options and of cases."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_all_lines_of_a_function_count() -> None:
    """A docstring of twenty lines hid a body of fifty-five."""
    text = '@decorator(\n    1,\n)\ndef four():\n    """One.\n\n    Two."""\n    return 4\n'
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    assert lines_of(function) == 5


def test_no_function_is_too_long() -> None:
    """A long function becomes several, each with a name."""
    long = [
        f"{at(path, node)} {node.name}: {lines_of(node)} lines"
        for path in modules(*PACKAGES, "tests", "benchmarks", "examples")
        for node in nodes(path)
        if isinstance(node, Function) and lines_of(node) > FUNCTION_LINES
    ]
    assert not long, long


def test_no_module_is_too_long() -> None:
    """A long module has several subjects."""
    sizes = {
        at(path): len(path.read_text("utf-8").splitlines())
        for path in modules(*PACKAGES, "tests", "benchmarks", "examples")
    }
    assert {name: size for name, size in sizes.items() if size > MODULE_LINES} == {}


# --- documentation ------------------------------------------------------------------------------


def test_every_module_says_what_it_is() -> None:
    """Tests, benchmarks and examples as well."""
    silent = [
        at(path)
        for path in modules(*PACKAGES, "tests", "benchmarks", "examples")
        if path.read_text("utf-8").strip() and ast.get_docstring(parsed(path)) is None
    ]
    assert not silent, silent


def public(node: ast.Module | ast.ClassDef) -> Iterator[Documented]:
    """Classes, functions and methods whose names do not begin with an underscore."""
    for child in node.body:
        if isinstance(child, Documented) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from public(child)


def is_overload(node: Documented) -> bool:
    """Whether a function is one of the signatures of the documented function after it."""
    names = {name.id for name in node.decorator_list if isinstance(name, ast.Name)}
    return "overload" in names


def test_everything_public_has_a_docstring() -> None:
    """Of the product."""
    silent = [
        f"{at(path, node)} {node.name}"
        for path in modules(*PACKAGES)
        for node in public(parsed(path))
        if ast.get_docstring(node) is None and not is_overload(node)
    ]
    assert not silent, silent


# --- words --------------------------------------------------------------------------------------


def test_pro_forms_are_counted(tmp_path: Path) -> None:
    """In docstrings and comments; code and strings of a program are not prose."""
    module = tmp_path / "module.py"
    module.write_text('"""What it is."""\n# Whoever reads.\nname = "it"  # it\n')
    assert prose.measured(module) == prose.Prose(words=5, pro_forms=3, personal=1)
    page = tmp_path / "page.md"
    page.write_text("# That\nThis page.\n```\nit = that\n```\n| it |\n")
    assert prose.measured(page) == prose.Prose(words=2, pro_forms=1, personal=0)


def test_limits_of_pro_forms() -> None:
    """Seven in a hundred words pass, eight fail; one personal pro-form fails in a short file."""
    assert prose.Prose(words=100, pro_forms=7, personal=0).passes
    assert not prose.Prose(words=100, pro_forms=8, personal=0).passes
    assert not prose.Prose(words=100, pro_forms=1, personal=1).passes
    assert prose.Prose(words=79, pro_forms=40, personal=9).passes


def test_sentences_have_nouns_as_subjects() -> None:
    """In every file; see tests/prose.py."""
    over = prose.over_the_limit(prose.measured_files())
    assert not over, [f"{name}: {found.figures}" for name, found in sorted(over.items())]


def test_messages_on_the_page_of_troubles_are_texts_of_the_code() -> None:
    quoted = quoted_messages.messages()
    assert len(quoted) >= 100
    assert [each for each in quoted if not quoted_messages.is_in_the_code(each)] == []
    assert not quoted_messages.is_in_the_code("… has no stream …; it offers: …")


def test_no_notes_to_oneself() -> None:
    notes = [
        f"{at(path)}:{number}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if NOTE_TO_SELF.search(line)
    ]
    assert not notes, notes


def test_nothing_names_a_folder_of_this_machine() -> None:
    """Neither where this checkout is nor a home folder."""
    named = [
        at(path)
        for path in texts()
        for text in (path.read_text("utf-8"),)
        if f"{ROOT}/" in text or HOMES.search(text)
    ]
    assert not named, named


NAMED_FILE = re.compile(r"(?<![\w./*])[\w./]+\.py\b")
LIKE_THE_ABOVE = re.compile(r"\b[Ll]ike the above\b")


@cache
def python_files() -> frozenset[str]:
    """All Python files of the repository by each ending of their paths that begins with a name."""
    folders = ("", *PACKAGES, "docs", "heron_engine", "tests", "benchmarks", "examples")
    files = chain(*(modules(name) for name in folders[1:]), ROOT.glob("*.py"))
    parts = [path.relative_to(ROOT).parts for path in files]
    return frozenset("/".join(each[at:]) for each in parts for at in range(len(each)))


def wrong_references(text: str) -> list[str]:
    """Files that a docstring or comment names and and do not exist, and references by position."""
    files = set(NAMED_FILE.findall(text)) - python_files()
    absent = [each for each in sorted(files) if each.rpartition("/")[2] not in FILES_OF_USERS]
    return absent + LIKE_THE_ABOVE.findall(text)


def test_wrong_references_are_found() -> None:
    """A file that was moved; a docstring that stands alone on a page of the reference."""
    assert wrong_references("Like the above (loading/interactive_run.py).") == [
        "loading/interactive_run.py", "Like the above",
    ]  # fmt: skip
    assert wrong_references("As routing.py, heron_io/logs.py and a user's tasks.py have it.") == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_name_files_that_exist(package: str) -> None:
    """A reader opens the file that a docstring names."""
    wrong = {
        f"{at(path)}: {each}"
        for path in modules(package)
        for text in prose.python_texts(path)
        for each in wrong_references(text)
    }
    assert not wrong, wrong


def defined_names(path: Path) -> Iterator[tuple[str, int]]:
    """Names that a module gives to something, and their lines."""
    for node in nodes(path):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno


def replaced_words(name: str) -> set[str]:
    """The words of a name in snake_case or CamelCase, and pairs of them, not used as names here."""
    words = [word.lower() for word in WORD.findall(name)]
    pairs = {f"{first} {second}" for first, second in pairwise(words)}
    return ({*words} | pairs) & REPLACED.keys()


def test_words_of_a_name_are_found() -> None:
    """Whole words in any spelling; not a part of another word."""
    assert replaced_words("DeskPlace") == {"desk", "place"}
    assert replaced_words("_WISHES_MAX") == {"wishes"}
    assert replaced_words("replaced_outdoors") == set()
    assert replaced_words("_GoBack") == replaced_words("may_go_back_to") == {"go back"}


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_the_terms_of_the_field(package: str) -> None:
    """A metaphor has to be looked up, a term is known."""
    standing = {word for word, packages in STANDING.items() if package in packages}
    wrong = [
        f"{at(path)}:{line} {name}: {word} -> {REPLACED[word]}"
        for path in modules(package)
        for name, line in chain(defined_names(path), [(path.stem, 1)])
        if name not in STORED_NAMES
        for word in replaced_words(name) - standing
    ]
    assert not wrong, wrong


def vague_names(function: Function) -> Iterator[tuple[str, int]]:
    """Variables of a function with names of no meaning, and their lines. In a comprehension or a
    lambda of one line the meaning is beside the name."""
    short = {
        id(inside)
        for node in ast.walk(function)
        if isinstance(node, SHORT) and node.lineno == node.end_lineno
        for inside in ast.walk(node)
    }
    for node in ast.walk(function):
        if id(node) in short:
            continue
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.MatchAs(name=str(name))
                | ast.ExceptHandler(name=str(name))
            ) if name in VAGUE:
                yield name, node.lineno


def vague_in(path: Path) -> list[str]:
    """Vague names of a module's long functions."""
    return [
        f"{at(path)}:{line} {name} in {node.name}"
        for node in nodes(path)
        if isinstance(node, Function) and lines_of(node) > VAGUE_LINES
        for name, line in vague_names(node)
    ]


def test_vague_names_are_found() -> None:
    """Loops, assignments, parameters and long comprehensions; a short one and a lambda are not."""
    text = "def f(made):\n found = [each for each in made]\n for each in found:\n  pass\n"
    (function,) = ast.parse(text + " return [each\n  for each in found]\n").body
    assert isinstance(function, ast.FunctionDef)
    assert sorted(vague_names(function)) == [("each", 3), ("each", 6), ("found", 2), ("made", 1)]


@pytest.mark.parametrize("package", PACKAGES)
def test_variables_are_called_after_what_they_hold(package: str) -> None:
    """`each` thirty lines below its loop has to be looked up."""
    vague = [name for path in modules(package) for name in vague_in(path)]
    assert not vague, vague


def test_a_class_is_found_by_its_name() -> None:
    """A search finds a single class, except for names in two APIs."""
    homes: dict[str, list[str]] = {}
    for path in modules(*PACKAGES):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(at(path, node))
    shared = {name for name, places in homes.items() if len(places) > 1}
    assert {name: homes[name] for name in shared - SHARED_CLASSES.keys()} == {}
    assert SHARED_CLASSES.keys() - shared == set(), "take these out of SHARED_CLASSES"


# --- records ------------------------------------------------------------------------------------


def test_records_are_copied_by_the_function_for_both_kinds() -> None:
    """`dataclasses.replace` raises for a struct, and mypy does not see it."""
    wrong = [
        at(path, node)
        for path in modules(*PACKAGES, "tests", "benchmarks")
        if path != ROOT / "heron_core" / "records.py"
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module in ("dataclasses", "msgspec.structs")
        if "replace" in (each.name for each in node.names)
    ]
    assert not wrong, f"import replace from heron_core.records: {wrong}"


# --- tests --------------------------------------------------------------------------------------


def sleeps(path: Path) -> bool:
    """Whether a function calls time.sleep, or an imported `sleep`."""
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep")
        for node in nodes(path)
    )


def test_no_test_sleeps() -> None:
    """A test waits for a condition: a fixed time is too short on one machine and too long on the
    next."""
    sleeping = {at(path) for path in modules("tests") if sleeps(path)}
    assert sleeping - SLEEPING_TESTS.keys() == set()
    assert SLEEPING_TESTS.keys() - sleeping == set(), "take these out of SLEEPING_TESTS"


def test_each_test_file_has_a_name_of_its_own() -> None:
    """A test is found by the file's name alone, in an editor as in a report."""
    counts = Counter(path.name for path in modules("tests") if path.name.startswith("test_"))
    assert [name for name, count in counts.items() if count > 1] == []
