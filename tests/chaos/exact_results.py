"""Output of topologies/exact_windows.py, compared with the exact results."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEYS = 53
STEP_MS = 10
WINDOW_MS = 1000
SLIDE_MS = 250
EXAMPLES_MAX = 20
"""Limit of shown lines of a sink, both missing and surplus ones."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers emitted by the spouts."""

    tasks: dict[str, int]
    """name of the spout -> tasks"""
    count: int
    """Of each task."""

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        """(key, time, id) of each."""
        for name, tasks in self.tasks.items():
            for index in range(tasks):
                for at in range(self.count):
                    yield (at * 7 + index) % KEYS, at * STEP_MS, f"{name}-{index}-{at}"


def differences_of_diamond(folder: Path, numbers: Numbers) -> list[str]:
    """A line for each result of ExactDiamond with a wrong value."""
    counts: Counter[int] = Counter()
    windows: Counter[tuple[int, int]] = Counter()
    for key, time_ms, _ in numbers:
        counts[key] += 2
        windows[key, time_ms // WINDOW_MS * WINDOW_MS] += 1
    totals: dict[str, list[list[int]]] = {}
    for (key, start), events in sorted(windows.items()):
        totals.setdefault(str(key), []).append([start, events])
    shown = {key: sorted(each) for key, each in merged(folder, "totals").items()}
    wanted = {str(key): number for key, number in counts.items()}
    lines = [name for *_, name in numbers]
    return [
        *_of_keys("counts", merged(folder, "counts"), wanted),
        *_of_keys("windows", shown, totals),
        *_of_lines(folder / "lines", [*lines, *lines]),
        *_of_lines(folder / "results", _results(windows)),
    ]


def differences_of_fan_in(folder: Path, numbers: Numbers) -> list[str]:
    """A line for each result of ExactFanIn with a wrong value."""
    counts: Counter[int] = Counter()
    windows: Counter[tuple[int, int]] = Counter()
    for key, time_ms, _ in numbers:
        counts[key] += 1
        last = time_ms // SLIDE_MS * SLIDE_MS
        for start in range(last, time_ms - WINDOW_MS, -SLIDE_MS):
            windows[key, start] += 2
    steps: dict[str, list[int]] = {}
    for each in map(json.loads, lines_of(folder / "steps")):
        steps.setdefault(str(each["key"]), []).append(each["count"])
    wanted = {str(key): list(range(1, number + 1)) for key, number in counts.items()}
    return [
        *_of_keys("steps", steps, wanted),
        *_of_lines(folder / "results", _results(windows)),
    ]


def _results(windows: Counter[tuple[int, int]]) -> list[str]:
    return [
        json.dumps({"key": key, "start_ms": start, "end_ms": start + WINDOW_MS, "events": events})
        for (key, start), events in windows.items()
    ]


def _of_keys(name: str, has: dict[str, Any], want: dict[str, Any]) -> Iterator[str]:
    for key in sorted(has.keys() | want.keys()):
        if has.get(key) != want.get(key):
            shown = _around_difference(has.get(key), want.get(key))
            yield f"{name}: of key {key} there is {shown}"


def _around_difference(has: Any, want: Any) -> str:
    """Actual and expected elements of lists from the first difference on."""
    at = 0
    if isinstance(has, list) and isinstance(want, list):
        same = (a == b for a, b in zip(has, want, strict=False))
        at = next((at for at, equal in enumerate(same) if not equal), min(len(has), len(want)))
        has, want = has[at : at + EXAMPLES_MAX], want[at : at + EXAMPLES_MAX]
    return f"{str(has)[:300]}, not {str(want)[:300]}" + (f" (from number {at} on)" if at else "")


def _of_lines(folder: Path, wanted: list[str]) -> Iterator[str]:
    """Compared as a whole, byte by byte, in the order of their text."""
    has, want = Counter(lines_of(folder)), Counter(wanted)
    for what, found in (("is missing", want - has), ("is too much", has - want)):
        for line, number in sorted(found.items())[:EXAMPLES_MAX]:
            yield f"{folder.name}: {line} {what}, {number} times of {want[line]}"


def lines_of(folder: Path) -> Iterator[str]:
    """Of all committed files, of each task in the order of its checkpoints."""
    for each in sorted(folder.glob("part-*")):
        text = each.read_bytes().decode("utf-8")
        assert text.endswith("\n"), f"{each} does not end with a line"
        yield from text[:-1].split("\n")


def merged(folder: Path, name: str) -> dict[str, Any]:
    """Of all tasks' files; a key that two tasks have shows both."""
    found: dict[str, Any] = {}
    for key, value in _items(folder, name):
        found[key] = [found[key], value] if key in found else value
    return found


def _items(folder: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Of the newest files, one for each of the final instances: earlier runs or a rescale may have
    left more files."""
    files = [each for each in folder.glob(f"{name}-*-of-*") if ".part" not in each.name]
    newest = max(files, key=lambda each: each.stat().st_mtime_ns, default=None)
    for each in files:
        if newest is not None and each.name.endswith(newest.name[newest.name.index("-of-") :]):
            yield from json.loads(each.read_text("ascii")).items()
