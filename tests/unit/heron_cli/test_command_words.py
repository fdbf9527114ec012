"""What is wrong on a command line is said in words that need no knowledge of its parser."""

import sys

import pytest

from heron_cli.__main__ import main


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "words.py", "-t", "soon"], "'soon' is not a number"),
        (["run", "words.py", "-w", "two"], "'two' is not a whole number"),
        (["update", "words", "--container-number", "1.5"], "'1.5' is not a whole number"),
    ],
)
def test_a_word_in_place_of_a_number_is_told_what_it_should_be(
    words: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["heronpy", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
