"""A topology goes on with the savepoint of an earlier version of heronpy, exactly.

tests/process/savepoints has a folder for each version and state backend, written at the number
BOUND by `heronpy run` and `heronpy kill --savepoint` of that version. `0.1.0-unsigned` is of an
early 0.1.0, before savepoints were signed. A release adds its own folders: see docs/HACKING.md.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.process_support import TOPOLOGIES, Place
from tests.process.topologies.upgraded import GAP_MS, KEYS, TIMER_MS, WINDOW_MS

SAVEPOINTS = Path(__file__).parent / "savepoints"
BOUND, END = 500, 1_200
"""Numbers below the bound are in the savepoints."""


@pytest.mark.parametrize("savepoint", sorted(SAVEPOINTS.iterdir()), ids=lambda path: path.name)
def test_a_topology_continues_from_an_earlier_version(place: Place, savepoint: Path) -> None:
    results, backend = place.path / "states", savepoint.name.rpartition("-")[2]
    results.mkdir()
    place.heronpy(
        "run", TOPOLOGIES / "upgraded.py", "--from-savepoint", savepoint, "--trust-savepoint",
        "-o", f"upgrade.folder={results}", "-o", f"upgrade.until={END}", "-o", "upgrade.ends=true",
        "-o", f"file.folder={place.path / 'out'}",
        "-o", f"topology.state.backend={backend.replace('unsigned', 'memory')}",
    ).succeeded()  # fmt: skip
    assert _merged(results, "kept") == _states()
    assert _merged(results, "in_windows") == {key: _windows(key) for key in KEYS}
    assert _merged(results, "in_sessions") == {
        key: [[numbers[0], numbers[-1] + GAP_MS * len(KEYS), len(numbers)]]
        for key, numbers in _by_key()
    }
    written = sorted(json.loads(line)["key"] for line in _lines(place.path / "out"))
    assert written == sorted(KEYS), "a timer of each key, once"
    assert all(json.loads(line)["number"] == TIMER_MS for line in _lines(place.path / "out"))


def _by_key() -> Iterator[tuple[str, range]]:
    for at, key in enumerate(KEYS):
        yield key, range(at, END, len(KEYS))


def _states() -> dict[str, Any]:
    return {
        "count": {key: len(numbers) for key, numbers in _by_key()},
        "recent": {key: list(numbers) for key, numbers in _by_key()},
        "by_digit": {
            key: {str(digit): sum(each % 10 == digit for each in numbers) for digit in range(10)}
            for key, numbers in _by_key()
        },
        "highest": {key: numbers[-1] for key, numbers in _by_key()},
    }


def _windows(key: str) -> list[list[int]]:
    numbers = dict(_by_key())[key]
    counts = (
        (start, sum(start <= each < start + WINDOW_MS for each in numbers))
        for start in range(0, END, WINDOW_MS)
    )
    return [[start, start + WINDOW_MS, count] for start, count in counts if count]


def _merged(folder: Path, component: str) -> dict[str, Any]:
    """The results of all tasks of a component."""
    merged: dict[str, Any] = {}
    for file in folder.glob(f"{component}-*.json"):
        for name, values in json.loads(file.read_text("utf-8")).items():
            if isinstance(values, dict):
                merged.setdefault(name, {}).update(values)
            else:
                merged[name] = values
    return merged


def _lines(folder: Path) -> Iterable[str]:
    for file in folder.glob("part-*.jsonl"):
        yield from file.read_text("utf-8").splitlines()
