"""What is wrong on a command line is said in words that need no knowledge of its parser."""

import sys

import pytest

from heron_cli.__main__ import main
from heron_cli.foreign_commands import hint


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


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("kill local words", "heronpy kill words"),
        ("activate local/me/devel words", "heronpy activate words"),
        ("restart local words 1", "heronpy restart words 1"),
        ("kill west/ads/PROD words", "heronpy kill words --cluster west"),
        (
            "update local words --component-parallelism=count:2",
            "heronpy update words --component-parallelism=count:2",
        ),
        ("submit local t.py - words", "heronpy submit t.py -N words"),
        ("submit local t.py mod.WordCount", "heronpy submit t.py -n WordCount"),
        (
            "submit west t.py - words --deploy-deactivated",
            "heronpy submit t.py -N words --cluster west --deactivated",
        ),
        (
            "rebalance words -w 5 -n 3 -e count=4",
            "heronpy update words --container-number 3 --component-parallelism count:4",
        ),
        ("kill -w 3 words", "heronpy kill --wait 3 words"),
        ("kill words -w 3", "heronpy kill words --wait 3"),
        ("version", "heronpy --version"),
    ],
)
def test_a_command_of_heron_or_storm_is_told_what_it_is_here(
    theirs: str, ours: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["heronpy", *theirs.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"; the command here is `{ours}`")


@pytest.mark.parametrize("words", ["kill words again", "submit none.py x", "list -x", "kil words"])
def test_a_command_line_that_is_wrong_in_our_words_has_no_such_hint(words: str) -> None:
    assert hint(words.split()) is None
