"""The oracle of the chaos runs in EFFECTIVELY_ONCE finds what is missing or counted twice."""

import json
from pathlib import Path

from tests.chaos.exact_results import differences, expected

SPOUT_TASKS = (2, 1)
NUMBERS = 120


def test_a_lost_number_and_a_repeated_window_are_found(tmp_path: Path) -> None:
    counts, windows = expected(SPOUT_TASKS, NUMBERS)
    assert sum(counts.values()) == 2 * sum(windows.values()) == 2 * sum(SPOUT_TASKS) * NUMBERS
    totals: dict[int, list[list[int]]] = {}
    for (key, start), events in windows.items():
        totals.setdefault(key, []).append([start, events])

    def found() -> list[str]:
        (tmp_path / "counts-1").write_text(json.dumps(counts))
        (tmp_path / "totals-2").write_text(json.dumps(totals))
        return differences(tmp_path, SPOUT_TASKS, NUMBERS)

    assert found() == []
    counts[7] -= 1
    totals[9].append(totals[9][0])
    assert [each.split(" there")[0] for each in found()] == [
        "counts: of key 7",
        "windows: of key 9",
    ]
