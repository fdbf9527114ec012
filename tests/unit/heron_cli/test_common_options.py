"""sparse's spellings on our command line: dashes or underlines, -d and -r with or without words."""

import click
import pytest

from heron_cli.options.common import (
    IGNORED,
    SparseCommand,
    ignored,
    note_ignored,
    rewritten,
    with_dashes,
)

KNOWN = ("--debug", "--requirements")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-d", "topology.py"], ["--debug=true", "topology.py"]),
        (["topology.py", "-d"], ["topology.py", "--debug=true"]),
        (["-d", "false", "topology.py"], ["--debug=false", "topology.py"]),
        (["--debug", "True"], ["--debug=True"]),
        (["--debug=false", "true"], ["--debug=false", "true"]),
        (["-r", "a.txt", "b.txt", "topology.py"],
         ["--requirements", "a.txt", "--requirements", "b.txt", "topology.py"]),
        (["-r", "requirements", "topology.py"], ["--requirements", "requirements", "topology.py"]),
        (["-r", "a.txt", "-n", "b.txt"], ["--requirements", "a.txt", "-n", "b.txt"]),
        (["-n", "x", "-r"], ["-n", "x", "--requirements"]),
        (["--req", "a.txt", "--deb"], ["--requirements", "a.txt", "--debug=true"]),
    ],
)  # fmt: skip
def test_words_that_argparse_takes_as_values(words: list[str], expected: list[str]) -> None:
    """argparse has nargs="?" and "*"; a file after them is still our FILE."""
    assert rewritten(words, KNOWN) == expected


def test_options_of_sparse_may_be_shortened() -> None:
    """As in argparse, even with another option of the same prefix here."""
    known = ("--environment", "--env-filter", "--override-name", "--option", "--wait")
    words = ["--env", "prod", "--override_n=x", "--wait", "3", "--o", "a=1", "--env-filter", "--"]
    assert rewritten(words, known) == [
        "--environment", "prod", "--override-name=x", "--wait", "3", "--o", "a=1", "--env-filter",
        "--",
    ]  # fmt: skip


def test_a_command_without_these_options_gets_its_words_as_they_are() -> None:
    """`heronpy tail -d` must reject -d, without a hint about --debug."""
    assert rewritten(["-d", "-r", "x"], ["--follow"]) == ["-d", "-r", "x"]


def test_long_options_may_have_underlines() -> None:
    """sparse writes --num_lines, the rest of the world --num-lines."""
    assert with_dashes("num_lines") == with_dashes("num-lines") == "num-lines"


@click.command(cls=SparseCommand, context_settings={"token_normalize_func": with_dashes})
@click.argument("file", required=False)
@click.argument("arguments", nargs=-1)
@click.option("-d", "--debug")
@ignored("--pool-size", metavar="N")
@ignored("-u", "--uber-jar")
def command(file: str | None, arguments: tuple[str, ...], debug: str | None) -> object:
    """Called options, and ignored ones."""
    ignored_options = click.get_current_context().meta.get(IGNORED, [])
    note_ignored(["nimbus"])
    note_ignored(["never noted twice"])
    return file, arguments, debug, ignored_options


def called(*words: str) -> object:
    """The command's result."""
    return command.main(list(words), standalone_mode=False)


def test_what_follows_two_dashes_is_never_the_file() -> None:
    """In a project, FILE is left out: `heronpy run -- 2026` is about the year."""
    assert called("--", "2026", "-d") == (None, ("2026", "-d"), None, [])
    assert called("a.py", "-d", "--", "x") == ("a.py", ("x",), "true", [])


def test_ignored_options_are_told_of_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A script of sparse commands goes on working, and says once what has no effect."""
    assert called("--pool_size", "5", "-u") == (None, (), None, ["--pool-size", "--uber-jar"])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("note: ignored, as heronpy has no ssh")
    assert line.endswith(": --pool-size, --uber-jar, in config.json nimbus")
