"""`python FILE ARGS…` with a file that submits a topology: runs like `heronpy run FILE`."""

import atexit
import os
import sys
from typing import Any, NoReturn

from heron_api.user_errors import display_path, format_error, is_users
from heron_core.errors import HeronError, UsageError


def program() -> str | None:
    """The user's file that Python was started with; None in a prompt, a notebook, a test runner,
    and under `python -m`."""
    main = sys.modules["__main__"]
    file: str | None = getattr(main, "__file__", None)
    started_by_path = getattr(main, "__spec__", None) is None
    is_python = file is not None and file.endswith(".py")
    return file if file and is_python and started_by_path and is_users(file) else None


_unused: list[str] = []
"""Topology classes of the program that were never used."""


def defined(name: str) -> None:
    """The main module has defined a topology class: if that stays all, `python FILE` says so."""
    if program() is None:
        return
    if not _unused:
        atexit.register(_tell_unused)
    _unused.append(name)


def used() -> None:
    """Mark a topology as used: the program decides how the topology runs."""
    if _unused:
        _unused.clear()
        atexit.unregister(_tell_unused)


def _tell_unused() -> None:
    if _unused and not hasattr(sys, "last_value"):  # the error of the program is sufficient
        file, name = display_path(sys.argv[0]), _unused[-1]
        print(
            f"{file} defines topology {name} and does not run it: start it with `heronpy run"
            f" {file}`, or end the file with `{name}.write()`",
            file=sys.stderr,
        )


def report_errors_in_one_line() -> None:
    """Report a topology error as one line with its location, also under `python FILE`."""
    if program() is None or sys.excepthook is not sys.__excepthook__:
        return

    def report(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        if isinstance(error, HeronError):
            print(f"{display_path(sys.argv[0])}: {format_error(error)}", file=sys.stderr)
        else:
            sys.__excepthook__(kind, error, traceback)

    sys.excepthook = report


def run(topology: str) -> NoReturn:
    """Become `heronpy run FILE`, with the program's arguments; UsageError without a program."""
    file = program()
    if file is None:
        raise UsageError(
            f"topology {topology!r} is complete, but this program cannot run topologies: start "
            "the topology with `heronpy run FILE`"
        )
    words = [
        # -P: modules in the working directory must not shadow heronpy's.
        *(sys.executable, "-P", "-m", "heron_cli", "run", "--program"),
        *("-n", topology, display_path(file), "--", *sys.argv[1:]),
    ]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, words)
