"""docs/STORM_CLASSES.md has each class of Storm's API, and each of our names on the page exists."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import heron_api.state.stateful_component
import heronpy_compat.api.state.stateful_component
import heronpy_compat.drpc
import heronpy_compat.streams.windows
import heronpy_compat.testing
import heronpy_compat.trident
import heronpy_compat.windows
from heron_cli.main import COMMANDS
from heron_connectors.kafka import formats

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
    """The module, or the object of a module, with an import path."""
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


NOTED = re.compile(r"`([^`]+)`")
PLACES: tuple[Any, ...] = (
    heronpy_compat, heronpy_compat.drpc, heronpy_compat.streams, heronpy_compat.testing,
    heronpy_compat.trident, heronpy_compat.windows, heronpy_compat.Bolt, heronpy_compat.Spout,
    heronpy_compat.Tuple, heronpy_compat.api.state.stateful_component.TwoPhaseStatefulComponent,
    heronpy_compat.streams.Stream, heronpy_compat.trident.Stream,
    heronpy_compat.trident.TridentTopology, heron_api.state.stateful_component,
    heronpy_compat.drpc.LinearDRPCTopologyBuilder, heronpy_compat.streams.windows.StreamWindows,
)  # fmt: skip
"""Modules and classes of the names in notes, besides attributes of the row's own name."""
NOT_OURS = {
    "with", "(key, value)", "time.sleep", "get",  # Python's
    "commit(attempt)", "apply", "serialize", "deserialize",  # methods of a user's object
    "setCPULoad", "setMemoryLoad", "emitBatchNew", "withTimestampField", "merge",  # Storm's
    "windowing.config", "metrics", "tup_id", "bolt", "tup.word", 'tup["word"]', "-o KEY=VALUE",
}  # fmt: skip
"""Names in notes that no object of heronpy has: of Python, of users' code and of Storm; a package,
a message of a protocol, an argument, an annotated attribute, a field, an option."""


def is_there(noted: str, ours: str) -> bool:
    """Whether a name in a note is an attribute of the row's own name, or one of heronpy's."""
    if noted.startswith("heronpy "):
        return noted.removeprefix("heronpy ") in COMMANDS
    if noted.startswith("kafka."):
        return f"`{noted}`" in str(formats.__doc__)
    if noted.startswith("examples/"):
        return (ROOT / noted).is_file()
    path = noted.partition("(")[0].removeprefix("self.").removeprefix("tup.").split(".")
    starts = [*([named(ours)] if ours else []), *PLACES]
    return any(_has_path(start, path) for start in starts)


def _has_path(start: Any, path: list[str]) -> bool:
    for name in path:
        if not hasattr(start, name):
            bases = getattr(start, "__mro__", ())
            return any(name in vars(base).get("__annotations__", {}) for base in bases)
        start = getattr(start, name)
    return True


def test_each_name_in_a_note_is_there() -> None:
    simple = {name.rpartition(".")[2] for name in classes_of_storm()}
    missing = [
        (storm, noted)
        for storm, ours, note in rows()
        for noted in NOTED.findall(note)
        if noted not in NOT_OURS and noted not in simple and not is_there(noted, ours)
    ]
    assert missing == []


def test_a_nested_class_is_sent_to_a_row_of_its_own() -> None:
    """The class around a class with "see the class around it" has another note."""
    notes = {storm: note for storm, _, note in rows()}
    for storm, note in notes.items():
        if note == "see the class around it":
            assert notes[storm.rpartition("$")[0]] != note, storm


def test_the_page_names_the_version_and_is_led_to() -> None:
    assert VERSION.rpartition(":")[2] in (ROOT / "docs" / "STORM_CLASSES.md").read_text()
    assert "(STORM_CLASSES.md)" in (ROOT / "docs" / "PORTING.md").read_text()
