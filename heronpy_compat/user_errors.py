"""Exceptions of user code as one line: where in the user's files, of which type, what it says."""

import os
from types import TracebackType

from heron_core.errors import HeronError

# Frames in these places are never the cause a user can mend: Python's library, ours, installed
# packages.
_PYTHON = os.path.dirname(os.__file__) + os.sep
_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_CORE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "heron_core", "")
_INSTALLED = f"{os.sep}site-packages{os.sep}"
EXTRAS = {
    "confluent_kafka": "kafka",
    "PIL": "png",
    "pyarrow": "tables",
    "pyspark": "spark",
}
"""Module -> our extra that installs it."""


def format_error(error: BaseException) -> str:
    """`FILE:LINE: TYPE: MESSAGE`; the type is left out where the message speaks for itself."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{display_path(error.filename)}:{error.lineno or 1}: {error.msg}"
    message = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        message += install_hint(error.name)
    if isinstance(error, SystemExit):
        message = f"the program exits with {message or 0}"
    elif not isinstance(error, HeronError):
        kind = type(error).__name__
        message = f"{kind}: {message}" if message else kind
    location = _location(error.__traceback__)
    return f"{location}: {message}" if location else message


def install_hint(module: str | None) -> str:
    """How to install the package of a module that one of our extras has; empty for any other."""
    extra = EXTRAS.get((module or "").partition(".")[0])
    return f": pip install 'heronpy-topologies[{extra}]'" if extra else ""


def display_path(path: str) -> str:
    """`path` as a person would type it: relative when it lies below the working directory."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _location(traceback: TracebackType | None) -> str | None:
    """file:line of the innermost frame in the user's own files."""
    location = None
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        if is_users(path):
            location = f"{display_path(path)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return location


def is_users(path: str) -> bool:
    """Whether a file is the user's own, rather than Python's, ours or an installed package's."""
    return not path.startswith(("<", _PYTHON, _OURS, _CORE)) and _INSTALLED not in path
