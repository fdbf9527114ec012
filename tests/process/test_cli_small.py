"""Commands without a topology that runs: help, completion, visualize, update_virtualenv."""

import os
import subprocess
import sys

import pytest

from heron_cli.main import COMMANDS
from tests.process.process_support import EXAMPLES, Place


def test_help_is_the_same_both_ways(place: Place) -> None:
    """`heronpy help run` and `heronpy run --help`; without a word, the list of commands."""
    one = place.heronpy("help", "run").succeeded().out
    assert one == place.heronpy("run", "--help").succeeded().out
    assert one.startswith("Usage: heronpy run [OPTIONS] [FILE] [-- ARGUMENTS]...\n")
    listed = place.heronpy("help").succeeded().out
    assert all(f"\n  {name} " in listed for name in COMMANDS)
    wrong = place.heronpy("help", "rum")
    assert wrong.code == 2
    assert "unknown command 'rum'; did you mean 'run'?" in wrong.errors[0]


def test_a_shell_completes_our_words(place: Place) -> None:
    """bash reads the script, and the script asks us."""
    script = place.heronpy("completion", "bash").succeeded()
    assert "bash-completion/completions/heronpy" in script.err
    asked = subprocess.run(
        [sys.executable, "-m", "heron_cli"],
        env={
            **place.environment,
            "_HERONPY_COMPLETE": "bash_complete",
            "COMP_WORDS": "heronpy remove",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.stdout == "plain,remove_logs\n"
    place.environment["SHELL"] = "/bin/tcsh"
    refused = place.heronpy("completion")
    assert refused.code == 2
    assert "bash|zsh|fish" in refused.errors[0]


@pytest.mark.parametrize(
    ("options", "file", "begin"),
    [
        ((), "WordCount.svg", b"<svg "),
        (("-o", "x.png"), "x.png", b"\x89PNG"),
        (("-f", "dot", "-o", "x"), "x.dot", b'digraph "WordCount"'),
    ],
)
def test_a_topology_is_drawn(
    place: Place, options: tuple[str, ...], file: str, begin: bytes
) -> None:
    """The format is said, or is the file's ending, or SVG."""
    finished = place.heronpy("visualize", EXAMPLES / "word_count.py", *options).succeeded()
    assert finished.out == f"{file}\n"
    assert (place.path / file).read_bytes().startswith(begin)


def test_a_drawing_may_go_to_a_pipe_or_nowhere(place: Place) -> None:
    """`heronpy visualize x.py -f dot -o - | dot …`; a folder that is not there is told."""
    piped = place.heronpy("visualize", EXAMPLES / "word_count.py", "-f", "dot", "-o", "-")
    assert piped.succeeded().out.startswith("digraph")
    for name, expected in (
        ("no/x.svg", "no/x.svg cannot be written"),
        ("x.bmp", "no format 'bmp'"),
    ):
        refused = place.heronpy("visualize", EXAMPLES / "word_count.py", "-o", name)
        assert refused.code in (1, 2)
        assert expected in refused.errors[0]


def test_update_virtualenv_says_what_to_do_instead(place: Place) -> None:
    """A deploy script of sparse goes on; who reads it knows what to install where."""
    (place.path / "config.json").write_text('{"envs": {}, "virtualenv_specs": "virtualenvs/"}')
    (place.path / "virtualenvs").mkdir()
    (place.path / "virtualenvs" / "words.txt").write_text("requests\n")
    finished = place.heronpy("update-virtualenv", "-n", "words", "--pool_size", 2).succeeded()
    assert f"pip install -r virtualenvs{os.sep}words.txt" in finished.out
    assert finished.err.endswith(": --pool-size\n")
