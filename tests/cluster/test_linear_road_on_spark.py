"""The Linear Road benchmark as a query of Spark: every answer is the oracle's, each once."""

from pathlib import Path

from benchmarks.linear_road import answers, data
from benchmarks.linear_road.generator import Settings
from benchmarks.linear_road.run import Plan, answers_folder, run

SETTINGS = Settings(seconds=300, arrivals_per_sec=5.0, crowded_share=0.8, accident_every_secs=20)


def test_all_answers_of_five_minutes_are_right_on_spark(tmp_path: Path) -> None:
    data.write(tmp_path, SETTINGS)
    run(tmp_path, SETTINGS, Plan(on_spark=True))
    found = answers.check(SETTINGS, answers_folder(tmp_path))
    assert min(found.values()) > 0
