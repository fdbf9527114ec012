"""The compiled hot path, which is compiled once for all tests of a process."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.native.hot_path_support import PYTHON, Compiled, compiled_in, what_is_missing


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the compiled hot path is."""
    missing = what_is_missing()
    if missing is not None:
        pytest.skip(f"the hot path cannot be compiled: {missing}")
    return tmp_path_factory.mktemp("native")


@pytest.fixture(scope="session")
def extensions(folder: Path) -> Compiled:
    """The compiled hot path."""
    return compiled_in(folder)


@pytest.fixture(scope="session")
def compiled(extensions: Compiled) -> SimpleNamespace:
    """Its names."""
    assert extensions.names.COMPILED
    assert not PYTHON.COMPILED
    return extensions.names
