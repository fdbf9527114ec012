"""What the commands that serve have in common: address, ports, and what they need installed."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from heron_core.errors import HeronError

_PORT = click.IntRange(0, 65535)


def port_option(default: int, name: str = "--port", of: str = "Port") -> Callable[[Any], Any]:
    """A port; `of` says whose."""
    return click.option(
        name, type=_PORT, default=default, show_default=True, metavar="N",
        help=f"{of}; 0: any free port.",
    )  # fmt: skip


def host_option(default: str, text: str) -> Callable[[Any], Any]:
    """The address to serve on."""
    return click.option("--host", default=default, show_default=True, metavar="ADDRESS", help=text)


def serve_function(module: str, command: str) -> Any:
    """The function `serve` of a module; HeronError with the remedy where what it needs is not
    installed: the extra that has the name of the command."""
    try:
        return import_module(module).serve
    except ModuleNotFoundError as error:
        if str(error.name).startswith("heron"):
            raise
        raise HeronError(
            f"`heronpy {command}` needs {error.name}: pip install 'heronpy-topologies[{command}]'"
        ) from None
