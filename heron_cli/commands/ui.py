"""`heronpy ui`: the service with the pages, Heron's and Storm's REST, metrics and history."""

import os
from collections.abc import Callable

import click

from heron_cli.options.find_topology import StoreOptions, with_store_options
from heron_core.errors import HeronError, UsageError
from heron_tracker.access import token_of
from heron_tracker.options import Options
from heron_tracker.pages.notes import NOT_INSTALLED, are_installed
from scheduler.user_folder import Home

Serve = Callable[[Options, str, str, Callable[[str], None]], None]
"""heron_tracker.server.serve"""
_DEFAULTS = Options()


@click.command("ui")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_DEFAULTS.port,
    show_default=True,
    metavar="N",
    help="Where to serve; 0 for any port that is free.",
)
@click.option(
    "--host",
    default=_DEFAULTS.host,
    show_default=True,
    metavar="ADDRESS",
    help="The address to serve on; one that others reach needs --token-file.",
)
@click.option(
    "--token-file",
    type=click.Path(),
    metavar="FILE",
    help="Who sends `Authorization: Bearer` and the token in FILE may ask, nobody else.",
)
@with_store_options
def ui_command(port: int, host: str, token_file: str | None, store_options: StoreOptions) -> None:
    """Show all running topologies in a browser, until Ctrl-C.

    The pages say what holds each topology back. The service also takes the requests of Heron's
    tracker and of Storm's UI, and those of Prometheus at /metrics; docs/UI.md has all of them.

    \b
    heronpy ui
    heronpy ui --port 0
    heronpy ui --host 0.0.0.0 --token-file token.txt
    """
    token = None if token_file is None else _token(token_file)
    options = Options(host=host, port=port, token=token)
    serve = _serve()
    folder = os.path.join(Home.of_user().path, "tracker")
    serve(options, store_options.store_url(), folder, _ready)


def _serve() -> Serve:
    """The service's function; HeronError with the cure where what it needs is not installed."""
    try:
        from heron_tracker.server import serve
    except ModuleNotFoundError as error:
        if str(error.name).startswith("heron"):
            raise
        raise HeronError(
            f"`heronpy ui` needs {error.name}: pip install 'heronpy-topologies[ui]'"
        ) from None
    return serve


def _token(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return token_of(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"--token-file {path} cannot be read: {reason}") from None


def _ready(address: str) -> None:
    click.echo(f"serving at {address} (its routes: {address}/docs); Ctrl-C ends it")
    if not are_installed():
        click.echo(f"without pages: {NOT_INSTALLED}", err=True)
