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

# Frames that are never the cause of a user's error: Python's library, heronpy, installed packages.
_PYTHON = os.path.dirname(os.__file__) + os.sep
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FOLDERS = (
    "heron_core", "heron_engine", "heron_instance", "heron_io", "heron_spark", "heron_tester",
    "heron_api", "heron_connectors", "heron_frontends", "heronpy_compat",
)  # fmt: skip
_COMPILED = "heron_core/hot_"
"""Prefixes of compiled modules' file names, as given at compile time."""
_ENGINE = (*(os.path.join(_ROOT, name, "") for name in _FOLDERS), _COMPILED)
"""Folders whose frames are irrelevant to a user's error."""
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
"""Module -> heronpy extra that installs the module."""
OF_STORMS_COLLECTOR = {
    "collector": "a component emits, acks and fails by its own methods, as in self.emit(values)",
    "emitdirect": "emit with the task, as in self.emit(values, direct_task=task)",
    "resettimeout": (
        "raise topology.message.timeout.secs, or ack the tuple and keep the rest of its work as"
        " state"
    ),
}
"""Lower-case names of Storm's collector methods -> the equivalent here; listed in
docs/PORTING.md."""


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
    """The user's file that is shadowed by a module of Python's library, or empty."""
    hidden = hidden_by_library(module) if module else None
    if hidden is None:
        return ""
    return f": {display_path(hidden)} has the name of a module of Python's own, rename it"


def note_operator(error: BaseException, text: str) -> None:
    """Let the last line of the traceback also say `text`, as "in map-2": a built-in function leaves
    no line of the user's."""
    with suppress(AttributeError):  # an exception class may reject attributes
        setattr(error, _OPERATOR, text)


def users_traceback(error: BaseException, debug: bool = False) -> str:
    """The traceback of `error` without frames of the engine, unless `debug` is set.

    The last line ends with the location in the user's files. A chained exception is left out if
    none of its frames is user code.
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
    """Hint for an unknown name: the available fields for a tuple, or the equivalent of a Storm
    collector method for a component."""
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
    """Install command for a module of an extra; empty for any other module."""
    extra = EXTRAS.get((module or "").partition(".")[0])
    return f": pip install 'heronpy-topologies[{extra}]'" if extra else ""


def show_paths_from(folder: str) -> None:
    """Let `display_path` name files as seen from this folder, wherever the process goes."""
    _shown_from[:] = [folder]


def display_path(path: str) -> str:
    """`path` for display: relative if below the working directory."""
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
    """Source file of a frame: compiled code has a relative file name without owner, so the file
    of the frame's module decides."""
    module = frame.f_globals.get("__file__")
    is_compiled = isinstance(module, str) and module.endswith(tuple(EXTENSION_SUFFIXES))
    return str(module) if is_compiled else frame.f_code.co_filename


def is_users(path: str) -> bool:
    """Whether a file is the user's own, rather than Python's, ours or an installed package's."""
    return not path.startswith(("<", _PYTHON, *_ENGINE)) and _INSTALLED not in path
