"""What topologies/exact_windows.py has written, compared with what it is to be."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEYS = 53
STEP_MS = 10
WINDOW_MS = 1000


def differences(folder: Path, spout_tasks: tuple[int, int], count: int) -> list[str]:
    """A line for each kind of result that is not what it is to be; a few examples of each."""
    counts, windows = expected(spout_tasks, count)
    wanted: dict[str, list[list[int]]] = {}
    for (key, start), events in sorted(windows.items()):
        wanted.setdefault(str(key), []).append([start, events])
    shown = {key: sorted(each) for key, each in merged(folder, "totals").items()}
    found: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("counts", merged(folder, "counts"), {str(key): number for key, number in counts.items()}),
        ("windows", shown, wanted),
    ]
    return [
        f"{name}: of key {key} there is {str(has.get(key))[:300]}, not {str(want.get(key))[:300]}"
        for name, has, want in found
        for key in sorted(has.keys() | want.keys())
        if has.get(key) != want.get(key)
    ]


def expected(
    spout_tasks: tuple[int, int], count: int
) -> tuple[Counter[int], Counter[tuple[int, int]]]:
    """key -> how often it is counted; (key, start of the window) -> events."""
    counts: Counter[int] = Counter()
    windows: Counter[tuple[int, int]] = Counter()
    for tasks in spout_tasks:
        for index in range(tasks):
            for at in range(count):
                key = (at * 7 + index) % KEYS
                counts[key] += 2
                windows[key, at * STEP_MS // WINDOW_MS * WINDOW_MS] += 1
    return counts, windows


def merged(folder: Path, name: str) -> dict[str, Any]:
    """Of all tasks' files; a key that two tasks have shows both."""
    found: dict[str, Any] = {}
    for key, value in _items(folder, name):
        found[key] = [found[key], value] if key in found else value
    return found


def _items(folder: Path, name: str) -> Iterator[tuple[str, Any]]:
    for each in folder.glob(f"{name}-*"):
        if ".part" not in each.name:
            yield from json.loads(each.read_text("ascii")).items()
