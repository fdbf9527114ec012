"""The options of `heronpy ui` that say where the lines of requests go, and how many are kept."""

import os

import click

from heron_cli.options.common import Function, stacked
from heron_tracker.options import AccessLogOptions

ACCESS_LOG_FILE = "access.log"
OFF = "off"
MB = 1024 * 1024
_DEFAULTS = AccessLogOptions(path=ACCESS_LOG_FILE)


def with_access_log_options(function: Function) -> Function:
    """--access-log, --access-log-size, --access-log-files."""
    return stacked(_PATH, _SIZE, _FILES)(function)


def access_log_of(
    path: str | None, size_mb: int, files: int, folder: str
) -> AccessLogOptions | None:
    """As the service takes it; `folder`: of the file if the command line names none. None where
    the command line says `off`."""
    if path == OFF:
        return None
    return AccessLogOptions(
        path=os.path.abspath(path or os.path.join(folder, ACCESS_LOG_FILE)),
        bytes_max=size_mb * MB,
        files=files,
    )


_PATH = click.option(
    "--access-log",
    metavar="FILE",
    help="A line for each request: time in UTC, address, user, method, path, status, ms. "
    f"'{OFF}': no log. Default: ~/.heronpy/tracker/{ACCESS_LOG_FILE}.",
)
_SIZE = click.option(
    "--access-log-size",
    "access_log_mb",
    type=click.IntRange(1, 10_000),
    default=_DEFAULTS.bytes_max // MB,
    show_default=True,
    metavar="MB",
    help="Size at which the access log begins a new file.",
)
_FILES = click.option(
    "--access-log-files",
    type=click.IntRange(1, 1000),
    default=_DEFAULTS.files,
    show_default=True,
    metavar="N",
    help="Older files of the access log that are kept.",
)
