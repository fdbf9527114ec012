"""The imports of a test that loads a user's files, undone: the next test loads the files again."""

import sys
import sysconfig
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

OURS = frozenset(each.name for each in Path(__file__).parents[2].iterdir()) - {"examples"}
"""The packages of the repository: all but what stands for users' code."""
OURS_OR_INSTALLED = frozenset(("heronpy", "pystorm", "storm", "streamparse"))
"""Names of our surfaces and of installed packages: the next test may mean the second."""
INSTALLED = (sys.prefix, sysconfig.get_path("stdlib"))


def forget_imports(before: Collection[str]) -> None:
    """Deletes the modules of users' code that are imported, but those of `before`.

    Our modules and the installed ones stay: a second import would make a second class of each name,
    and objects of the first class would not be instances of the second.
    """
    for name in set(sys.modules) - set(before):
        root = name.partition(".")[0]
        stays = root in OURS or _is_installed(sys.modules[name])
        if root in OURS_OR_INSTALLED or not stays:
            del sys.modules[name]


def _is_installed(module: ModuleType | None) -> bool:
    """Or of Python. A namespace package has no file: like users' folders. None marks a module
    declared missing by a test."""
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    if origin in ("built-in", "frozen"):
        return True
    return origin is not None and any(Path(origin).is_relative_to(each) for each in INSTALLED)
