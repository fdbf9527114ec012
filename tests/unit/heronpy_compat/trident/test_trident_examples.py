"""The examples of Trident give what their data says."""

import re
from collections import Counter
from pathlib import Path

import pytest

from heronpy_compat.testing import TopologyTester

EXAMPLES = Path(__file__).parents[4] / "examples"


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that an example prints in the tester; each batch has its time."""
    with TopologyTester(str(EXAMPLES / f"{name}.py")) as tester:
        for _ in range(20):
            tester.run_spouts()
            tester.advance(1)
    return capsys.readouterr().out.splitlines()


def sentences(name: str) -> list[str]:
    text = (EXAMPLES / f"{name}.py").read_text()
    return re.findall(r'^    \["(.*)"\],$', text, re.MULTILINE)


def last_counts(lines: list[str]) -> dict[str, int]:
    return {word: int(count) for word, count in (line.split(": ") for line in lines)}


def test_word_count(fresh_imports: None, capsys: pytest.CaptureFixture[str]) -> None:
    """T4: the last answers have the counts of all sentences; there is not a cat in them."""
    name = "trident_word_count"
    counts = Counter(word for line in sentences(name) for word in line.split())
    lines = printed(name, capsys)
    assert counts["the"] == 5
    assert last_counts(lines) == {word: counts[word] for word in ("the", "man", "jumped")}


def test_map(fresh_imports: None, capsys: pytest.CaptureFixture[str]) -> None:
    name = "trident_map"
    counts = Counter(word.upper() for line in sentences(name) for word in line.split())
    expected = {word: counts[word] for word in ("THE", "TO", "BE", "AND")}
    assert last_counts(printed(name, capsys)) == expected


def test_min_max(fresh_imports: None, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed("trident_min_max_of_devices", capsys)
    devices = [(f"device {number}", number * 7 % 11) for number in range(8)]
    for batch in (devices[:4], devices[4:]):
        least, greatest = min(batch, key=lambda each: each[1]), max(batch, key=lambda each: each[1])
        assert f"least count: {list(least)}" in lines
        assert f"greatest count: {list(greatest)}" in lines
    assert "slowest: ['bicycle', 25, 14]" in lines
    assert "fastest: ['car', 130, 1400]" in lines
    assert "lightest for its speed: ['bicycle', 25, 14]" in lines
    assert "heaviest for its speed: ['bus', 80, 12000]" in lines
    assert len(lines) == 8
