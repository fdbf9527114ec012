"""Finds the program of a shell component, or says in one line why the program cannot run."""

import errno
import os
import shutil
import sys

from heron_core.config.names import SHELL_COMMAND
from heron_core.errors import ComponentError
from heron_frontends.adapters.multilang.settings import ShellSettings

_INTERPRETERS = {
    ".py": "python3",
    ".js": "node",
    ".rb": "ruby",
    ".sh": "sh",
    ".pl": "perl",
    ".php": "php",
}
"""Suffix of a script -> usual interpreter."""
_REFUSALS = {
    errno.ENOEXEC: "the file is neither a program nor a script with a #! line",
    errno.ENOENT: "its #! line names a program that does not exist",
}


def find_program(settings: ShellSettings) -> list[str]:
    """The command with its program's path: in the directory, on PATH, or beside our Python.

    ComponentError for a missing program, or a program without execute permission.
    """
    name, *arguments = settings.command
    local = os.path.join(settings.directory, name)
    if _may_run(local):
        return [local, *arguments]
    if os.path.isfile(local):  # rather than another one of that name on PATH
        raise ComponentError(f"{settings.component}: {_not_executable(local, name)}")
    elsewhere = None if os.sep in name else _on_path(settings, name)
    if elsewhere is not None:
        return [elsewhere, *arguments]
    path = "" if os.sep in name else f", nor on PATH: {settings.environment.get('PATH', '')}"
    raise ComponentError(
        f"{settings.component}: program {name!r} not found (not in {settings.directory}{path})"
    )


def _may_run(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _on_path(settings: ShellSettings, name: str) -> str | None:
    """The instance's Python environment has its commands (streamparse_run) beside the interpreter;
    PATH includes the folder only after an activation.
    """
    ours = os.path.join(os.path.dirname(sys.executable), name)
    found = shutil.which(name, path=settings.environment.get("PATH", os.defpath))
    return found or (ours if _may_run(ours) else None)


def _not_executable(path: str, name: str) -> str:
    interpreter = _INTERPRETERS.get(os.path.splitext(name)[1])
    remedy = (
        f", or name its interpreter: {SHELL_COMMAND}: {[interpreter, name]}" if interpreter else ""
    )
    return f"{path} is not executable: run chmod +x {path}{remedy}"


def why_not(settings: ShellSettings, program: str, error: OSError) -> ComponentError:
    """Meaning of the system's refusal to run an existing program."""
    reason = _REFUSALS.get(error.errno or 0, error.strerror)
    return ComponentError(f"{settings.component}: {program} cannot be run: {reason}")
