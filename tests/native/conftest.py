"""The compiled hot path, which is compiled once for all tests of a process."""

import os
from types import SimpleNamespace

import pytest

from heron_core.native import COMPILED, HOT_PATH
from native_build import SANITIZE, what_is_missing
from tests.native.hot_path_support import PYTHON, Compiled, compiled_in, installed


@pytest.fixture(scope="session")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The compiled hot path: that of this checkout if it runs, or else one of its own."""
    if HOT_PATH == COMPILED and SANITIZE not in os.environ:
        return installed()
    missing = what_is_missing()
    if missing is not None:
        pytest.skip(f"the hot path cannot be compiled: {missing}")
    return compiled_in(tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="session")
def compiled(extensions: Compiled) -> SimpleNamespace:
    """Its names."""
    assert extensions.names.COMPILED
    assert not PYTHON.COMPILED
    return extensions.names
