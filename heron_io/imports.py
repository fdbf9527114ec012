"""Where user code is found."""

import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from functools import cache

_INSTALLED = "site-packages"


def put_on_search_path(paths: Iterable[str]) -> None:
    """Insert the folders in order, after Python's library and before all others.

    Otherwise a user's `socket.py` would shadow `import socket` in Python, in heronpy, and in all
    other topologies beside the file.
    """
    sys.path[:] = with_folders(
        sys.path, [os.path.abspath(each) for each in paths], library_folders()
    )


def with_folders(path: Sequence[str], wanted: Sequence[str], library: Sequence[str]) -> list[str]:
    """The search path `path` with the folders of `library` first, and those `wanted` behind."""
    first = [each for each in path if each in library and each not in wanted]
    return [*first, *wanted, *(each for each in path if each not in first and each not in wanted)]


def users_path() -> list[str]:
    """sys.path without the folders of Python's library."""
    library = library_folders()
    return [each for each in sys.path if each not in library]


@cache
def library_folders() -> tuple[str, ...]:
    """The folders of Python's own library, as they stand in sys.path."""
    paths = sysconfig.get_paths()
    folders = (paths["stdlib"], paths["platstdlib"])
    return (*folders, *(os.path.join(each, "lib-dynload") for each in folders))


def hidden_by_library(module: str) -> str | None:
    """The user's file or folder shadowed by a module of Python's library; None without one.
    `module`: a dotted name."""
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names:
        return None
    folders = [each for each in users_path() if _INSTALLED not in each]
    files = (os.path.join(path, name) for path in folders for name in (f"{top}.py", top))
    return next(filter(os.path.exists, files), None)
