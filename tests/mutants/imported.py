"""A plugin of pytest for a process of tests: the module that VARIABLE names is imported with a
mutation, and hypothesis does not shrink what fails.

The module must not be loaded before the plugin, which is why it imports
nothing of the cores.
"""

import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.mutants.mutations import VARIABLE


class _Loader(SourceFileLoader):
    """Compiles the mutated source, never the bytecode that is kept."""

    source = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, module: str, file: str, source: str) -> None:
        self._module = module
        self._file = file
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        loader = _Loader(fullname, self._file)
        loader.source = self._source
        is_package = self._file.endswith("__init__.py")
        places = [os.path.dirname(self._file)] if is_package else None
        return spec_from_file_location(
            fullname, self._file, loader=loader, submodule_search_locations=places
        )


@pytest.hookimpl
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before test modules are imported, and behind tests/conftest.py: how often hypothesis tries is
    left as it is."""
    settings.register_profile(
        "mutants",
        parent=settings.get_profile("patient"),
        derandomize=True,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=(HealthCheck.too_slow,),
    )
    settings.load_profile("mutants")


if VARIABLE in os.environ:
    sys.meta_path.insert(0, _Finder(*json.loads(os.environ[VARIABLE])))
