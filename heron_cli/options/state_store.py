"""Which state store a command talks to: files of the user, or ZooKeeper."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from heron_cli.private_zookeeper import find_credentials
from heron_core.errors import UsageError
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_io.state_store.zookeeper_access import (
    CREDENTIALS_VARIABLE,
    PRIVATE_VARIABLES,
    clear_text_warning,
)

Command = Callable[..., Any]


def zookeeper_option(command: Command) -> Command:
    """--zookeeper for commands that look for a running topology."""
    return click.option(
        "--zookeeper",
        metavar="HOST:PORT[/ROOT]",
        envvar="HERONPY_ZOOKEEPER",
        help="ZooKeeper to use as state store instead of the files in ~/.heronpy.",
    )(command)


def insecure_option(command: Command) -> Command:
    """--insecure for commands that put a topology's key into the state store."""
    return click.option(
        "--insecure",
        is_flag=True,
        envvar="HERONPY_INSECURE",
        help="Use a ZooKeeper without credentials: anyone with access to it may run code as you.",
    )(command)


def private_store_url(zookeeper: str | None, insecure: bool) -> str:
    """As `store_url`, for a topology that is to start there: see `check_private`."""
    url = store_url(zookeeper)
    check_private(url, insecure)
    return url


def check_private(url: str, insecure: bool) -> None:
    """UsageError if anybody could read the topology's key in this state store."""
    if insecure or not url.startswith("zk://"):
        return
    if any(variable in os.environ for variable in PRIVATE_VARIABLES):
        if warning := clear_text_warning(url, os.environ):
            click.echo(f"warning: {warning}", err=True)
        return
    raise UsageError(
        f"anyone with access to the ZooKeeper at {url.removeprefix('zk://')} could read the "
        "topology's "
        f"key and run code as you: set {CREDENTIALS_VARIABLE}=USER:PASSWORD, here and for each "
        "command about the topology, or give --insecure"
    )


def store_url(zookeeper: str | None) -> str:
    """The URL for open_store; UsageError if the option's value is none."""
    if zookeeper is not None and not re.fullmatch(r"[^\s/]+:\d+(,[^\s/]+:\d+)*(/\S*)?", zookeeper):
        raise UsageError(f"--zookeeper {zookeeper!r} is not HOST:PORT[/ROOT]")
    home = Home.of_user()
    if zookeeper is None:
        return home.store_url
    credentials = find_credentials(home, zookeeper)
    if credentials is not None:
        os.environ.setdefault(CREDENTIALS_VARIABLE, credentials)
    return f"zk://{zookeeper}"


@contextmanager
def opened(url: str) -> Iterator[StateStore]:
    """The store at `url`, closed afterwards."""
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()
