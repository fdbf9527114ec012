"""The module of rows that `heronpy types` writes: valid Python for any names and types."""

import ast

from heron_api.row_classes import row_module
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec


def module_of(*components: tuple[str, list[StreamSpec]], name: str = "clicks") -> str:
    """The rows of spouts with the streams."""
    specs = [
        ComponentSpec(each, True, "spouts.Any", 1, tuple(streams)) for each, streams in components
    ]
    return row_module(TopologySpec(name, tuple(specs)))


def classes_of(text: str) -> dict[str, ast.ClassDef]:
    """Name -> class; SyntaxError for invalid Python."""
    compile(text, "rows.py", "exec")
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def test_declared_types_become_those_of_python() -> None:
    """Nested types, too; the text imports only modules in use."""
    types = ("bigint", "array<map<string, date>>", "struct<a: int>", "decimal(10, 2)", "binary")
    text = module_of(("clicks", [StreamSpec("default", tuple("abcde"), types=types)]))
    annotations = [
        "a: int", "b: list[dict[str, date]]", "c: dict[str, Any]", "d: Decimal", "e: bytes",
    ]  # fmt: skip
    assert all(f"        {line}\n" in text for line in annotations)
    assert 'def __getitem__(self, at: Literal["b"]) -> list[dict[str, date]]: ...' in text
    assert "from datetime import date\nfrom decimal import Decimal\n" in text
    assert "import datetime" not in text


def test_a_field_that_is_not_an_attribute_has_brackets_alone() -> None:
    """Keywords, attributes of a tuple, texts with spaces. `count` is an attribute."""
    fields = ("class", "id", "two words", "count", "roots", 'a"b', "__slots__")
    text = module_of(("odd", [StreamSpec("default", fields)]))
    assert text.count(": Any\n") == 1
    assert "        count: Any\n" in text
    (row,) = classes_of(text).values()
    keys = [node.slice.value for node in ast.walk(row) if is_literal(node)]  # type: ignore[attr-defined]
    assert keys == list(fields)


def is_literal(node: ast.AST) -> bool:
    """Whether a node is Literal[…] of one key."""
    match node:
        case ast.Subscript(value=ast.Name(id="Literal")):
            return True
    return False


def test_each_stream_has_a_class_of_its_own() -> None:
    """Also where names differ only in signs, begin with a digit or are taken by imports."""
    streams = [StreamSpec("default", ("a",)), StreamSpec("bad-lines", ("a",))]
    single = [StreamSpec("default", ("a",))]
    text = module_of(
        ("clicks", streams), ("clicks-bad", [StreamSpec("lines", ("a",))]), ("any", single),
        ("2nd", single), ("---", single), ("none", single), ("empty", [StreamSpec("default", ())]),
    )  # fmt: skip
    names = ["Clicks", "ClicksBadLines", "ClicksBadLines2", "Any2", "Row2nd", "Row2", "RowNone"]
    assert list(classes_of(text)) == names


def test_a_name_with_quotes_stays_within_its_docstring() -> None:
    """Names of topologies and components may have any characters."""
    text = module_of(('say "hi"""\\', [StreamSpec("default", ("a",))]), name='"""\\')
    assert list(classes_of(text)) == ["SayHi"]
    assert ast.get_docstring(ast.parse(text)) is not None


def test_a_topology_without_fields_has_a_module_without_classes() -> None:
    """Valid Python, too."""
    text = module_of(("empty", []))
    assert classes_of(text) == {}
