"""`heronpy server`: a server of a few machines without a cluster, or its systemd unit."""

import os
import shutil
import socket
import sys

import click

from heron_cli.commands.service import quoted
from heron_cli.machine_servers import (
    DESCRIPTIONS,
    Installation,
    Machines,
    ServerCommand,
    ServerKind,
    command_of,
)
from heron_core.errors import HeronError

VARIABLES = ("HERONPY_HOME", "JAVA_HOME", "SPARK_HOME")
"""Variables that the unit copies if they are set."""
JAVA_TERMINATED = 143
"""The exit code of Java after SIGTERM."""


@click.command("server")
@click.argument("kind", type=click.Choice([each.value for each in ServerKind]))
@click.option(
    "--machines",
    required=True,
    metavar="NAME,NAME,NAME",
    help="Host names or addresses of all machines; the list is equal on each machine.",
)
@click.option("--here", metavar="NAME", help="Name of this machine. Default: its host name.")
@click.option("--unit", is_flag=True, help="Print the systemd unit instead of running the server.")
@click.option(
    "--system", is_flag=True, help="Of --unit: for the machine's systemd instead of the user's."
)
def server_command(kind: str, machines: str, here: str | None, unit: bool, system: bool) -> None:
    """Run a server of a few machines without a cluster, in the foreground: a ZooKeeper of all
    machines, a Spark master (all masters elect a leader), a Spark worker of this machine, or the
    pages. The extra `spark` brings the programs.

    With --unit the command prints the systemd unit of the server. docs/THREE_MACHINES.md has all
    steps.

    \b
    heronpy server zookeeper --machines one,two,three
    heronpy server spark-worker --machines one,two,three --unit > spark-worker.service
    """
    chosen = ServerKind(kind)
    names = tuple(each.strip() for each in machines.split(","))
    known = Machines(names, here or socket.gethostname())
    if unit:
        click.echo(unit_text(chosen, known, system=system), nl=False)
    else:
        _execute(chosen, known)


def unit_text(kind: ServerKind, machines: Machines, *, system: bool) -> str:
    """The unit of a server. A worker's group is delegated, for limits of its containers."""
    words = (sys.executable, "-m", "heron_cli", "server", kind.value,
             "--machines", ",".join(machines.names), "--here", machines.here)  # fmt: skip
    variables = [
        f"Environment={quoted(f'{x}={os.environ[x]}')}" for x in VARIABLES if x in os.environ
    ]
    lines = [
        "[Unit]",
        f"Description={DESCRIPTIONS[kind]}",
        *(["Wants=network-online.target", "After=network-online.target"] if system else []),
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        *([f"User={os.environ.get('USER', 'root')}"] if system else []),
        *variables,
        f"ExecStart={' '.join(quoted(word).replace('$', '$$') for word in words)}",
        "Restart=always",
        "RestartSec=2",
        f"SuccessExitStatus={JAVA_TERMINATED}",
        *(["Delegate=yes"] if kind is ServerKind.SPARK_WORKER else []),
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if system else 'default.target'}",
    ]
    return "\n".join(lines) + "\n"


def _execute(kind: ServerKind, machines: Machines) -> None:
    """Become the server; HeronError if its programs are missing."""
    from heron_engine.scheduler.user_folder import Home
    from heron_io.private_files import make_private_folders

    folder = os.path.join(Home.of_user().path, "servers", kind.value)
    make_private_folders(folder)
    command = command_of(kind, machines, _installed(), folder)
    for path, content in command.files.items():
        make_private_folders(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    _become(command, folder)


def _installed() -> Installation:
    from heron_engine.scheduler.backends.spark.spark_home import spark_home
    from heron_io.java import find_java
    from heron_io.state_store.embedded_zookeeper import find_classpath

    return Installation(find_java(), find_classpath(), spark_home(), sys.executable)


def _become(command: ServerCommand, folder: str) -> None:
    from heron_io.java import java_home_for_spark

    shutil.rmtree(os.path.join(folder, "java"), ignore_errors=True)  # of the start before
    environment = {**os.environ, **java_home_for_spark(folder), **command.environment}
    try:
        os.execve(command.words[0], list(command.words), environment)
    except OSError as error:
        raise HeronError(f"{command.words[0]} cannot be started: {error.strerror}") from None
