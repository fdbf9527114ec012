"""Streamlets with state on a real Spark: the same elements as in the tester."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from heron_core.records import replace
from heron_tester.sources import topology_of
from heronpy_compat.testing import TopologyTester
from spark_support import HERE, Watched, run
from streamlet_programs import PROGRAMS, built


def in_the_tester(capsys: pytest.CaptureFixture[str]) -> Counter[str]:
    with TopologyTester(built()) as tester:
        tester.run_spouts()
        tester.finish()
    return Counter(capsys.readouterr().out.splitlines())


def test_running_values_states_and_windows_are_those_of_the_tester(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A query is stopped in between, and another one continues."""
    expected = in_the_tester(capsys)
    assert {json.loads(line)[0] for line in expected} == {each.__name__ for each in PROGRAMS}
    spec = replace(topology_of(built(), None, None, {}), search_paths=(HERE,))
    first, second = Watched(stop_after=2), Watched()
    assert run(spark, spec, tmp_path / "checkpoint", first, max_batch=60) == 0
    assert run(spark, spec, tmp_path / "checkpoint", second, max_batch=60) == 0
    assert len(first.batches) == 2
    assert second.printed
    assert Counter(json.dumps(each) for each in [*first.printed, *second.printed]) == expected
