"""docs/CLI.md and the code agree: every command and option, and only real ones."""

import re
from itertools import chain
from pathlib import Path

import click
import pytest

from heron_cli.main import COMMANDS, CONTEXT, heronpy
from heron_cli.options.common import with_dashes

TEXT = (Path(__file__).parents[3] / "docs" / "CLI.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
GROUPS = {
    name.lower().replace(" ", "-"): text
    for name, text in re.findall(r"^### (.*?)\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)
}
"""Anchor of a group of common options -> its text."""
OPTION = re.compile(r"`(--?[A-Za-z][\w-]*)`")
GLOBAL = {"--version", "--help", "-h"}

SPARSE = {
    "quickstart": "",
    "run": "-a --ackers --config -d --debug -e --environment -n --name -o --option -t --time -w "
    "--workers",
    "submit": "-a --ackers --config -d --debug -e --environment -n --name -o --option -w --workers "
    "-f --force -i --inactive -j --local_jar_path -R --remote_jar_path -N --override_name "
    "--overwrite_virtualenv --pool_size -r --requirements --timeout -u --uber_jar --user --wait",
    "kill": "--config -e --environment -n --name --timeout --wait",
    "list": "--config -e --environment --timeout",
    "stats": "--all -c --component --config -e --environment -n --name",
    "worker_uptime": "--config -e --environment",
    "slot_usage": "--config -e --environment",
    "tail": "--config -e --environment -f --follow -l --num_lines -n --name -N --override_name "
    "--pool_size --pattern",
    "remove_logs": "-A --remove_all_artifacts --config -e --environment -n --name -N "
    "--override_name --pattern --pool_size -u --user -w --remove_worker_logs",
    "update_virtualenv": "--config -e --environment -n --name -N --override_name -o --option "
    "--overwrite_virtualenv --pool_size -r --requirements --user",
    "jar": "-s --simple_jar",
    "visualize": "-n --name -f --format -o --output_file",
}


def command(name: str) -> click.Command:
    """The command itself."""
    found = heronpy.get_command(click.Context(heronpy, **CONTEXT), name)
    assert found is not None
    return found


def options(name: str) -> set[str]:
    """Every spelling of every option in --help, including subcommands."""
    whole = command(name)
    parts = list(whole.commands.values()) if isinstance(whole, click.Group) else []
    return {
        word
        for each in chain.from_iterable(part.params for part in (whole, *parts))
        if isinstance(each, click.Option) and not each.hidden
        for word in (*each.opts, *each.secondary_opts)
    }


def in_table(section: str) -> set[str]:
    """The options in the first column of a section's table."""
    rows = re.findall(r"^\| (`.*?) \| ", section, re.MULTILINE)
    return {word for each in rows for word in OPTION.findall(each)}


def shared(section: str) -> set[str]:
    """The options of the named groups, documented once under *Common options*."""
    (line,) = re.findall(r"^(?:Also|Takes) the (.*?)\n\n", section, re.MULTILINE | re.DOTALL) or [
        ""
    ]
    return set[str]().union(*(in_table(GROUPS[name]) for name in re.findall(r"\(#(.*?)\)", line)))


def documented(section: str) -> set[str]:
    """The options of the command's table, of its groups, and the ignored ones."""
    ignored = re.findall(r"^Ignored: (.*?)\n\n", section + "\n", re.MULTILINE | re.DOTALL)
    words = {word for each in ignored for word in OPTION.findall(each)}
    return in_table(section) | shared(section) | words


def test_every_command_has_a_section_and_no_other_has() -> None:
    """In equal order."""
    assert [name for name in SECTIONS if name in COMMANDS or name.islower()] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented_and_no_other_is(name: str) -> None:
    """A new option needs a line in its command's table, and a removed option loses the line."""
    assert documented(SECTIONS[name]) == options(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_of_a_group_is_explained_again(name: str) -> None:
    """Except run's --zookeeper, a separate option outside of run's groups."""
    assert in_table(SECTIONS[name]) & shared(SECTIONS[name]) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_section_begins_with_how_to_call_it(name: str) -> None:
    """And has more than a table."""
    lines = SECTIONS[name].strip().splitlines()
    assert lines[0].startswith(f"heronpy {name}")
    assert len(lines[2]) > 40


def test_no_text_speaks_of_an_option_that_is_not_there() -> None:
    """Prose goes out of date first."""
    known = GLOBAL.union(*(options(name) for name in COMMANDS))
    named = {with_dashes(each) for each in OPTION.findall(TEXT)}
    assert named <= known


@pytest.mark.parametrize("name", SPARSE)
def test_every_flag_of_sparse_is_accepted(name: str) -> None:
    """Options without a meaning here are ignored, without failures of sparse's scripts."""
    assert {with_dashes(each) for each in SPARSE[name].split()} <= options(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_teaches(name: str) -> None:
    """An example, and a sentence for each option."""
    found = command(name)
    assert found.help is not None
    assert f"heronpy {name}" in found.help or name == "help"
    assert all(
        each.help for each in found.params if isinstance(each, click.Option) and not each.hidden
    )
    assert COMMANDS[name][1].endswith(".")
