"""What `heronpy dead-letters` prints."""

from typing import Any

import pytest
from click.testing import CliRunner

from heron_cli.commands.dead_letters import dead_letters_command
from heron_cli.letters_text import overview, short_ids, whole_letter
from heron_core.errors import UsageError


def letter(number: int, **more: Any) -> dict[str, Any]:
    given = {
        "id": f"{number:016x}", "component": "parse", "instance": "parse[0]", "time_ms": number,
        "attempt": 4, "exception": "ValueError: no number", "traceback": "Traceback\nValueError\n",
        "source": "lines", "stream": "default", "task": 1, "fields": ["line"], "values": ["x;"],
    }  # fmt: skip
    return given | more


def test_letters_are_counted_by_component_and_exception() -> None:
    found = [letter(1), letter(2), letter(3, component="write", exception="KeyError: 'a'")]
    lines = overview(found, {letter(1)["id"]}, 2, "/out")
    assert lines[0] == "3 dead letters in /out, 1 of them sent again"
    assert [line.split()[:4] for line in lines[3:5]] == [
        ["parse", "ValueError", "2", "1"],
        ["write", "KeyError", "1", "0"],
    ]
    assert len(lines) == 9  # the last two, by id
    assert overview([], set(), 20, "/out") == ["no dead letters in /out"]


def test_ids_are_shown_as_far_as_they_tell_letters_apart() -> None:
    assert short_ids([letter(1)]) == 8
    assert short_ids([letter(0x10), letter(0x20)]) == 15


def test_a_whole_letter_has_values_and_traceback() -> None:
    lines = whole_letter(letter(1, values=["x;", 7]), True)
    assert lines[0].endswith("(sent again)")
    assert lines[3:5] == ['  line = "x;"', "  1 = 7"]
    assert lines[-1] == "Traceback\nValueError"


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (["t", "--show"], "needs the ID"),
        (["t", "--again"], "requires --replay"),
        (["t", "1", "--show", "--json"], "give one"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(words: list[str], cure: str) -> None:
    found = CliRunner().invoke(dead_letters_command, words)
    assert isinstance(found.exception, UsageError)
    assert cure in str(found.exception)
