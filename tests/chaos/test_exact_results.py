"""The oracle of the chaos runs in EFFECTIVELY_ONCE finds what is missing or counted twice."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from heronpy_compat.testing import TopologyTester
from tests.chaos.exact_results import Numbers, differences_of_diamond, differences_of_fan_in
from tests.process.process_support import TOPOLOGIES

NUMBERS = Numbers({"numbers": 1, "others": 1}, 120)


@pytest.mark.parametrize(
    ("name", "differences", "sinks"),
    [
        ("ExactDiamond", differences_of_diamond, ("lines", "results")),
        ("ExactFanIn", differences_of_fan_in, ("steps", "results")),
    ],
)
def test_a_line_that_is_lost_or_comes_twice_is_found(
    name: str,
    differences: Callable[[Path, Numbers], list[str]],
    sinks: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """What a run without faults writes is right; then a file loses or repeats a line."""
    config = {"exact.folder": str(tmp_path), "exact.count": 120, "exact.rate": 1e9}
    with TopologyTester(
        TOPOLOGIES / "exact_windows.py", topology=name, config={**config, "exact.begin": 0}
    ) as tester:
        tester.run_spouts()
        tester.checkpoint()
        tester.finish()
    assert differences(tmp_path, NUMBERS) == []
    for sink in sinks:
        file = next((tmp_path / sink).glob("part-*"))
        good = file.read_bytes()
        first, rest = good.split(b"\n", 1)
        for bad in (rest, good + first + b"\n"):
            file.write_bytes(bad)
            assert {each.split(":")[0] for each in differences(tmp_path, NUMBERS)} == {sink}
        file.write_bytes(good)
    for file in tmp_path.glob("*-*"):
        good = file.read_bytes()
        key, value = next(iter(json.loads(good).items()))
        wrong = value + 1 if isinstance(value, int) else [*value, value[0]]
        file.write_text(json.dumps({**json.loads(good), key: wrong}))
        assert f"of key {key} there is" in differences(tmp_path, NUMBERS)[0]
        file.write_bytes(good)
