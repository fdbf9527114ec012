"""The Linear Road benchmark in real processes: every answer is the oracle's, each once."""

from pathlib import Path

from benchmarks.linear_road import answers, data
from benchmarks.linear_road.generator import Settings
from benchmarks.linear_road.run import Plan, answers_folder, run

SETTINGS = Settings(seconds=300, arrivals_per_sec=5.0, crowded_share=0.8, accident_every_secs=20)


def test_all_answers_of_five_minutes_are_right(tmp_path: Path) -> None:
    """With two instances of what has state by place, by car and by account."""
    data.write(tmp_path, SETTINGS)
    tasks = {"cars": 2, "statistics": 2, "tolls": 2, "accounts": 2}
    run(tmp_path, SETTINGS, Plan(tasks=tasks))
    found = answers.check(SETTINGS, answers_folder(tmp_path))
    assert min(found.values()) > 0
