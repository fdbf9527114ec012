"""YAML with places: the same values as any YAML library, and a line for each mistake."""

from pathlib import Path

import pytest
import yaml

from heron_core.errors import TopologyError
from heron_frontends.flux import documents
from heron_frontends.flux.documents import Located, parse

FILE = str(Path.cwd() / "t.yaml")


def parsed(text: str) -> Located:
    return parse(text, FILE, [])


def error(text: str) -> str:
    with pytest.raises(TopologyError) as caught:
        parsed(text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "a: {b: [1, 2.5, true, null, 'x']}",
        "---\n# a comment\n- &x {a: 1}\n- *x\n- [*x, *x]",
        "base: &base {a: 1, b: 2}\nown: {<<: *base, b: 3, c: 4}",
        "one: &one {a: 1}\ntwo: &two {a: 2, b: 2}\nboth: {<<: [*one, *two]}",
        "text: |\n  two\n  lines\n",
        "2: two\n2020-01-02: a date\nyes: a flag",
    ],
)
def test_values_are_those_of_yaml(text: str) -> None:
    assert parsed(text).plain() == yaml.safe_load(text)


def test_entries_and_items_know_their_lines() -> None:
    found = parsed("a:\n  b:\n    - 1\n    - c: 2\n")
    b = found.value["a"].value["b"]
    assert [found.value["a"].position.line, b.position.line] == [1, 2]
    assert [each.position.line for each in b.value] == [3, 4]
    assert str(b.position) == "t.yaml:2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [1\nc: 2", "t.yaml:3: not valid YAML"),
        ("a: 1\n\tb: 2", "t.yaml:2: not valid YAML"),
        ("a: *nobody", "t.yaml:1: not valid YAML: found undefined alias 'nobody'"),
        ("a: 1\n---\nb: 2", "t.yaml:2: not valid YAML"),
        ("", "t.yaml:1: the file is empty"),
        ("# nothing\n", "t.yaml:1: the file is empty"),
        ("a: 1\nb: 2\na: 3", "t.yaml:3: the key 'a' is given twice (first in t.yaml:1)"),
        ("a: &x\n  b: *x", "contains itself"),
        ("&x [*x]", "contains itself"),
        ("a: !!python/name:os.system x", "not valid YAML"),
        ("a: !java.util.Date {}", "t.yaml:1: the tag !java.util.Date is not known here"),
        ("? [a, b]\n: 1", "a key must be a word"),
        ("a: 2020-13-45", "t.yaml:1: '2020-13-45': month must be in 1..12"),
        ("a: {<<: 1}", "<< takes a mapping"),
        ("[" * 600, "nested too deeply"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, expected: str) -> None:
    assert expected in error(text)


def test_aliases_that_repeat_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of millions of values in nine lines."""
    monkeypatch.setattr(documents, "VALUES_MAX", 1000)
    levels = [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 9)]
    text = "\n".join(["a0: &a0 [1, 1, 1]", *levels])
    assert "more than 1000 values" in error(text)
