"""Command line of an agent: its own arguments, `--`, and arguments of scheduler.container."""

import argparse
import os
import shutil
from collections.abc import Sequence

from msgspec import Struct

from heron_core.errors import HeronError
from heron_engine.scheduler.addresses import own_address
from heron_engine.scheduler.packaging.archive import this_python
from heron_engine.scheduler.socket_folders import sockets_in

SOCKETS = "sockets"


class AgentArguments(Struct, frozen=True):
    """Parsed arguments of an agent."""

    own: argparse.Namespace
    """At least `python` and `silent_secs`."""
    container: tuple[str, ...]
    """Arguments of scheduler.container, without machine-specific values."""

    def value(self, name: str) -> str:
        """Value of the container's argument `--name`."""
        return self.container[self.container.index(f"--{name}") + 1]


def agent_parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """A parser for what agents of all clusters take."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--python", required=True, metavar="WORD", help="what was packed for")
    parser.add_argument("--silent-secs", required=True, type=float, metavar="SECONDS")
    return parser


def parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> AgentArguments:
    """Both halves of a command line; the usage ends a command line without `--`, as argparse does
    for a missing argument."""
    if "--" not in words:
        parser.parse_args(words)
        parser.error("give the arguments of scheduler.container behind --")
    at = words.index("--")
    return AgentArguments(parser.parse_args(words[:at]), tuple(words[at + 1 :]))


def check_python(packed_for: str, kind: str) -> None:
    """HeronError if this Python cannot run what was packed; `kind` of cluster names the cure."""
    if this_python() != packed_for:
        raise HeronError(
            f"its Python is {this_python()}, but the topology was submitted with {packed_for}: "
            f"install that on the workers, or name another by {kind}: python in the cluster's file"
        )


def remove_old_sockets() -> None:
    """Remove the socket folder of a container that ran in the working directory before."""
    shutil.rmtree(SOCKETS, ignore_errors=True)


def machine_arguments(store_url: str) -> tuple[str, ...]:
    """Machine-specific arguments of scheduler.container."""
    return ("--sockets", sockets_in(os.getcwd()), "--bind-host", own_address(store_url))
