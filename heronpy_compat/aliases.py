"""Answers `import heronpy.…`, and `import streamparse` and `import pystorm`, by our own modules.

`heronpy.api.x` is the very module `heron_api.x`, so classes are the same by either name.
Installed streamparse and pystorm come first, unless HERONPY_STREAMPARSE=builtin. It is installed
by whatever runs user code, and at the start of every interpreter of an environment that has us
(heronpy_aliases.pth), so that `python FILE NAME` works; therefore nothing here is expensive.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

HERONPY = "heronpy"
TARGETS = {
    HERONPY: "heronpy_compat",
    "streamparse": "heronpy_compat.streamparse",
    "pystorm": "heronpy_compat.pystorm",
}
"""Top-level module name -> package of heronpy that provides the module."""
HERONPY_PARTS = frozenset({"api", "connectors", "proto", "streamlet"})
"""Public subpackages of heronpy; the rest of heronpy_compat has no alias."""
PREFERENCE_VARIABLE = "HERONPY_STREAMPARSE"
BUILTIN = "builtin"


class _Alias:
    """Loader of an alias: loads the target module and registers the alias for the module object."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The target itself; the import system is about to overwrite its `__spec__`."""
        module = import_module(self._target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: the target module was executed under its real name."""
        module.__spec__ = self._spec


class Aliases:
    """A finder for some of the top-level names in TARGETS."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """The spec of an alias; None for a name without an alias."""
        top, _, rest = fullname.partition(".")
        if top not in self.names:
            return None
        if top == HERONPY and rest and rest.partition(".")[0] not in HERONPY_PARTS:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        name = f"{TARGETS[top]}.{rest}" if rest else TARGETS[top]
        try:
            spec = find_spec(name)
        except ModuleNotFoundError:
            return None
        if spec is None:
            return None
        if not rest:
            _answer_first(top)
        package = spec.submodule_search_locations is not None
        return ModuleSpec(fullname, _Alias(name), is_package=package)  # type: ignore[arg-type]


def _answer_first(top: str) -> None:
    """Its submodules are ours as well: the path finder would load their files a second time."""
    if not any(isinstance(each, Aliases) and top in each.names for each in sys.meta_path[:1]):
        sys.meta_path.insert(0, Aliases(frozenset({top})))


def install() -> None:
    """Install the aliases before user code runs: `heronpy` always, the rest if not installed.

    Calls after the first replace the installed finders.
    """
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Aliases)]
    everything = frozenset(TARGETS)
    if os.environ.get(PREFERENCE_VARIABLE) == BUILTIN:
        sys.meta_path.insert(0, Aliases(everything))
        return
    sys.meta_path.insert(0, Aliases(frozenset({HERONPY})))
    sys.meta_path.append(Aliases(everything))


def other_heronpy() -> str | None:
    """The folder of package heronpy from another distribution (Heron's on PyPI), or None."""
    folders = (os.path.join(each, HERONPY) for each in sys.path if each)
    return next((each for each in folders if os.path.isdir(os.path.join(each, "api"))), None)


_ALL = Aliases(frozenset(TARGETS))


def find_at_start(fullname: str) -> ModuleSpec | None:
    """Entry point of heronpy_aliases.pth: the last finder of any interpreter of the environment."""
    return _ALL.find_spec(fullname)
