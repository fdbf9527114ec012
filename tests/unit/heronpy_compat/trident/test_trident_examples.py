"""The examples of Trident give what their data says."""

import pytest

from heronpy_compat.testing import TopologyTester
from tests.unit.heronpy_compat.trident.trident_oracles import (
    EXAMPLES,
    MAP,
    MIN_MAX,
    last_counts,
    map_counts,
    min_max_lines,
)


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that an example prints in the tester; each batch has its time."""
    with TopologyTester(str(EXAMPLES / f"{name}.py")) as tester:
        for _ in range(20):
            tester.run_spouts()
            tester.advance(1)
    return capsys.readouterr().out.splitlines()


def test_map(fresh_imports: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert last_counts(printed(MAP, capsys)) == map_counts()


def test_min_max(fresh_imports: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(printed(MIN_MAX, capsys)) == min_max_lines()
