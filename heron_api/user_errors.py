"""Exceptions of user code as users read them: one line with the place in their own files, or a
traceback without the engine's frames."""

import os
import traceback
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from types import FrameType, TracebackType

from heron_api.tuple import Tuple
from heron_core.errors import HeronError
from heron_io.imports import hidden_by_library

# Frames in these places are never the cause a user can mend: Python's library, ours, installed
# packages.
_PYTHON = os.path.dirname(os.__file__) + os.sep
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FOLDERS = (
    "heron_core", "heron_engine", "heron_instance", "heron_io", "heron_spark", "heron_tester",
    "heron_api", "heron_connectors", "heron_frontends", "heronpy_compat",
)  # fmt: skip
_COMPILED = "heron_core/hot_"
"""How the files of compiled modules begin, which are named from where they were compiled."""
_ENGINE = (*(os.path.join(_ROOT, name, "") for name in _FOLDERS), _COMPILED)
"""Frames in these folders say nothing to a user who looks for a mistake of their own."""
_OPERATOR = "heron_operator"
"""The attribute of an exception for the text of `note_operator`."""
_INSTALLED = f"{os.sep}site-packages{os.sep}"
_shown_from: list[str] = []
"""The folder from which paths are named; empty for the working directory."""
EXTRAS = {
    "confluent_kafka": "kafka",
    "deltalake": "delta",
    "pyarrow": "tables",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
}
"""Module -> our extra that installs it."""
OF_STORMS_COLLECTOR = {
    "collector": "a component emits, acks and fails by its own methods, as in self.emit(values)",
    "emitdirect": "emit with the task, as in self.emit(values, direct_task=task)",
    "resettimeout": (
        "raise topology.message.timeout.secs, or ack the tuple and keep the rest of its work as"
        " state"
    ),
}
"""Names of Storm's collector that components do not have, in small letters -> what does the same;
docs/PORTING.md has them."""


def format_error(error: BaseException) -> str:
    """`FILE:LINE: TYPE: MESSAGE`; the type is left out where the message speaks for itself."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{display_path(error.filename)}:{error.lineno or 1}: {error.msg}"
    message = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        message += install_hint(error.name)
    if isinstance(error, ImportError):
        message += _hidden_hint(error.name)
    if isinstance(error, SystemExit):
        message = f"the program exits with {message or 0}"
    elif not isinstance(error, HeronError):
        kind = type(error).__name__
        message = f"{kind}: {message}" if message else kind
    where = location(error)
    return f"{where}: {message}" if where else message


def _hidden_hint(module: str | None) -> str:
    """Which file of the user's is hidden by Python's own module; empty for none."""
    hidden = hidden_by_library(module) if module else None
    if hidden is None:
        return ""
    return f": {display_path(hidden)} has the name of a module of Python's own, rename it"


def note_operator(error: BaseException, text: str) -> None:
    """Let the last line of the traceback also say `text`, as "in map-2": a built-in function leaves
    no line of the user's."""
    with suppress(AttributeError):  # a class of exceptions may forbid it
        setattr(error, _OPERATOR, text)


def users_traceback(error: BaseException, debug: bool = False) -> str:
    """The traceback of `error` without frames of the engine, unless `debug` asks for them.

    Its last line ends with the place in the user's files. An exception that was being handled while
    this one was raised is left out where no code of the user had a part in it.
    """
    if debug:
        return "".join(traceback.format_exception(error))
    shown = traceback.TracebackException.from_exception(error)
    _leave_out_engine(shown)
    notes = [note for note in getattr(error, "__notes__", ()) if "\n" not in note]
    shown.__notes__ = [note for note in shown.__notes__ or () if note not in notes]
    operator = getattr(error, _OPERATOR, "")
    hints = "; ".join(["", *([operator] if operator else []), *notes])
    hints = _attribute_hint(error) + hints
    text = "".join(shown.format()).rstrip("\n") + hints
    where = location(error)
    return f"{text} ({where})\n" if where else f"{text}\n"


def _attribute_hint(error: BaseException) -> str:
    """What fields there are, if user code asked a tuple for one that it has not; what there is
    here, if it asked a component for what Storm's collector has."""
    if not isinstance(error, AttributeError):
        return ""
    name = error.name or ""
    if isinstance(error.obj, Tuple):
        hint = error.obj.no_field(name)
    elif hasattr(error.obj, "emit"):
        hint = OF_STORMS_COLLECTOR.get(name.replace("_", "").lower(), "")
    else:
        hint = ""
    return "" if hint in str(error) else f"; {hint}"


def _leave_out_engine(shown: traceback.TracebackException) -> None:
    kept = [each for each in shown.stack if not each.filename.startswith(_ENGINE)]
    shown.stack = traceback.StackSummary.from_list(kept)
    context = shown.__context__
    if context is not None and not any(is_users(each.filename) for each in context.stack):
        shown.__context__ = None
    for each in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if each is not None:
            _leave_out_engine(each)


def install_hint(module: str | None) -> str:
    """How to install the package of a module that one of our extras has; empty for any other."""
    extra = EXTRAS.get((module or "").partition(".")[0])
    return f": pip install 'heronpy-topologies[{extra}]'" if extra else ""


def show_paths_from(folder: str) -> None:
    """Let `display_path` name files as seen from this folder, wherever the process goes."""
    _shown_from[:] = [folder]


def display_path(path: str) -> str:
    """`path` as a person would type it: relative when it lies below the working directory."""
    relative = os.path.relpath(path, *_shown_from)
    return path if relative.startswith(os.pardir) else relative


def location(error: BaseException) -> str | None:
    """file:line of the innermost frame in the user's own files."""
    found = None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        if is_users(_file_of(at.tb_frame)):
            found = f"{display_path(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}"
        at = at.tb_next
    return found


def _file_of(frame: FrameType) -> str:
    """Where the code of a frame lies: compiled code names its source, by a relative path that says
    nothing of whose it is, so what counts is the file of its module."""
    module = frame.f_globals.get("__file__")
    is_compiled = isinstance(module, str) and module.endswith(tuple(EXTENSION_SUFFIXES))
    return str(module) if is_compiled else frame.f_code.co_filename


def is_users(path: str) -> bool:
    """Whether a file is the user's own, rather than Python's, ours or an installed package's."""
    return not path.startswith(("<", _PYTHON, *_ENGINE)) and _INSTALLED not in path
