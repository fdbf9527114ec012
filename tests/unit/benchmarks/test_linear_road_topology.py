"""Linear Road: the topology's answers are the oracle's, in any order of work, whatever crashes."""

import random
from pathlib import Path

from benchmarks.linear_road import answers, data
from benchmarks.linear_road.generator import Settings
from benchmarks.linear_road.operators import HISTORY_KEY
from benchmarks.linear_road.run import answers_folder
from benchmarks.linear_road.source import EXPRESSWAYS_KEY, INPUT_KEY, SECONDS_KEY
from benchmarks.linear_road.topology import LinearRoad
from heronpy_compat.testing import TopologyTester

SETTINGS = Settings(seconds=240, arrivals_per_sec=3.0, crowded_share=0.9, accident_every_secs=20)


def test_answers_are_right_in_any_order_and_whatever_crashes(tmp_path: Path) -> None:
    data.write(tmp_path, SETTINGS)
    config = {
        INPUT_KEY: str(tmp_path),
        HISTORY_KEY: str(tmp_path / data.HISTORY_FILE),
        EXPRESSWAYS_KEY: 1,
        SECONDS_KEY: SETTINGS.seconds,
        "file.folder": str(answers_folder(tmp_path)),
    }
    rng = random.Random(3)
    with TopologyTester(LinearRoad, config=config, order="random", seed=3) as tester:
        for victim in ("cars", "statistics", "tolls", "accounts", "reports", "answers"):
            tester.run_spouts(rng.randint(10, 40))
            tester.checkpoint()
            tester.run_spouts(rng.randint(1, 10))
            tester.crash(victim)
        tester.run_spouts()
        tester.finish()
    found = answers.check(SETTINGS, answers_folder(tmp_path))
    assert found["tolls above 0"]
    assert found["balances"]
