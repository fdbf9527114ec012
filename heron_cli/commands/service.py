"""`heronpy service`: a systemd unit that runs a topology and resumes it after a reboot."""

import getpass
import os
import sys
from pathlib import Path

import click

from heron_cli.commands.run import run_command
from heron_core.errors import UsageError
from heron_io.state_store.zookeeper_access import PRIVATE_VARIABLES

STOP_SECS = 30
"""Longer than a run needs to stop: tuples in flight, and the shutdown timeout of its processes."""
SENT = ("HERONPY_HOME", "HERONPY_CONFIG")
"""Environment variables that the unit copies if they are set."""
ZOOKEEPER = "HERONPY_ZOOKEEPER"


@click.command(
    "service", context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]}
)
@click.option(
    "--system", is_flag=True, help="Print a unit for the machine's systemd instead of the user's."
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[RUN_ARGUMENTS]...")
def service_command(system: bool, words: tuple[str, ...]) -> None:
    """Print a systemd unit that runs a topology; RUN_ARGUMENTS are the arguments of `heronpy run`.

    The unit starts with the machine, and the topology resumes from its newest checkpoint, as with
    `run`. The unit's folder is printed on stderr. Passwords are left out: use an EnvironmentFile.

    \b
    heronpy service counts.py -N counts > ~/.config/systemd/user/counts.service
    heronpy service --system counts.py -N counts > counts.service
    """
    context = run_command.make_context("run", list(words), resilient_parsing=False)
    given = context.params
    name = given["override_name"] or given["name"] or Path(given["file"] or "").stem
    if not name:
        raise UsageError("name the topology's FILE, as for `heronpy run`")
    click.echo(unit_text(name, words, system=system), nl=False)
    for line in hints(name, system=system, in_zookeeper=given["zookeeper"] is not None):
        click.echo(line, err=True)


def unit_text(name: str, words: tuple[str, ...], *, system: bool) -> str:
    """The unit's text. A restart resumes, and systemd retries without end, like our supervisors."""
    plain = (sys.executable, "-m", "heron_cli", "run", *words)
    command = " ".join(quoted(word).replace("$", "$$") for word in plain)
    variables = [f"Environment={quoted(f'{x}={os.environ[x]}')}" for x in SENT if x in os.environ]
    lines = [
        "[Unit]",
        f"Description=topology {name}",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        *([f"User={getpass.getuser()}"] if system else []),
        f"WorkingDirectory={os.getcwd().replace('%', '%%')}",
        *variables,
        f"ExecStart={command}",
        "Restart=on-failure",
        "RestartSec=5",
        "KillMode=mixed",
        f"TimeoutStopSec={STOP_SECS}",
        "SuccessExitStatus=130",
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if system else 'default.target'}",
    ]
    return "\n".join(lines) + "\n"


def quoted(word: str) -> str:
    """A word as a unit quotes it: systemd expands % and backslashes, and $ in command lines."""
    if "\n" in word:
        raise UsageError(f"{word!r} contains a line break: use one line")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if escaped and not set(escaped) & set(" \t;'\"\\") else f'"{escaped}"'


def hints(name: str, *, system: bool, in_zookeeper: bool) -> list[str]:
    """Lines that say how to install the unit, and what the unit lacks. `in_zookeeper`: whether the
    arguments of `heronpy run` have --zookeeper, because `run` does not read the variable."""
    folder = "/etc/systemd/system" if system else "~/.config/systemd/user"
    control = "systemctl" if system else "systemctl --user"
    lines = [f"put it into {folder}/{name}.service, then: {control} enable --now {name}"]
    if not system:
        lines.append(
            "to start the topology with the machine, not with your login: loginctl enable-linger"
        )
    if (server := os.environ.get(ZOOKEEPER)) and not in_zookeeper:
        lines.append(
            f"{ZOOKEEPER} has no effect on `heronpy run`, so the state is in files: add "
            f"--zookeeper {server} to keep the state in ZooKeeper"
        )
    secret = [variable for variable in PRIVATE_VARIABLES if variable in os.environ]
    if secret:
        lines.append(
            f"{' and '.join(secret)} is not written to the unit: add an EnvironmentFile= that "
            "sets the value"
        )
    return lines
