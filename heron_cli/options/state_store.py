"""Which state store a command talks to: files of the user, or ZooKeeper."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from heron_core.errors import UsageError
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from scheduler.user_folder import Home

Command = Callable[..., Any]


def zookeeper_option(command: Command) -> Command:
    """--zookeeper for commands that look for a running topology."""
    return click.option(
        "--zookeeper",
        metavar="HOST:PORT[/ROOT]",
        envvar="HERONPY_ZOOKEEPER",
        help="Find it through this ZooKeeper instead of the files in ~/.heronpy.",
    )(command)


def store_url(zookeeper: str | None) -> str:
    """The URL for open_store; UsageError if the option's value is none."""
    if zookeeper is not None and not re.fullmatch(r"[^\s/]+:\d+(,[^\s/]+:\d+)*(/\S*)?", zookeeper):
        raise UsageError(f"--zookeeper {zookeeper!r} is not HOST:PORT[/ROOT]")
    return Home.of_user().store_url if zookeeper is None else f"zk://{zookeeper}"


@contextmanager
def opened(url: str) -> Iterator[StateStore]:
    """The store at `url`, closed afterwards."""
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()
