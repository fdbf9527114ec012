"""Each test runs with the classes of our pystorm and with those of the installed one."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "heron_instance"))


@pytest.fixture(params=["heronpy_compat.pystorm", "pystorm"])
def storm(request: pytest.FixtureRequest) -> Any:
    """The library that user code imports."""
    return importlib.import_module(request.param)
