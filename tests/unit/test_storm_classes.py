"""docs/STORM_CLASSES.md has each class of Storm's API, and what it says is here is here."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
VERSION = "org.apache.storm:storm-client:2.8.2"
ROW = re.compile(r"^\| ((?:`[\w$]+` ?)+) \| (?:`([\w.]+)`)? \| (.*) \|$")


def classes_of_storm() -> list[str]:
    first, *names = (ROOT / "tests" / "storm_classes.txt").read_text().splitlines()
    assert first.startswith(f"# {VERSION}, ")
    return names


def rows() -> list[tuple[str, str, str]]:
    """Class, our name or nothing, note."""
    package, read = "", []
    for line in (ROOT / "docs" / "STORM_CLASSES.md").read_text().splitlines():
        if line.startswith("## "):
            package = line.removeprefix("## ")
        elif line.startswith("| `"):
            row = ROW.match(line)
            assert row is not None, line
            names, ours, note = row.groups()
            read += [(f"{package}.{name.strip('`')}", ours or "", note) for name in names.split()]
    return read


def named(path: str) -> Any:
    """What an import path names: a module, or something in one."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return import_module(path)


def test_each_class_has_one_row() -> None:
    assert sorted(name for name, _, _ in rows()) == sorted(classes_of_storm())
    assert len(classes_of_storm()) > 500


def test_each_row_says_where_or_why_not() -> None:
    assert [name for name, ours, note in rows() if not ours and not note] == []


@pytest.mark.parametrize("ours", sorted({ours for _, ours, _ in rows() if ours}))
def test_each_of_our_names_can_be_imported(ours: str) -> None:
    assert named(ours) is not None


def test_the_page_names_the_version_and_is_led_to() -> None:
    assert VERSION.rpartition(":")[2] in (ROOT / "docs" / "STORM_CLASSES.md").read_text()
    assert "(STORM_CLASSES.md)" in (ROOT / "docs" / "PORTING.md").read_text()
