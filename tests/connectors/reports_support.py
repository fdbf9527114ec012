"""Public reports, each tried on every engine: what is done and what is right, in our words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heron_core import config as keys
from tests.connectors.runs import SPARK

Report = Callable[[Path, str], None]
"""(an empty folder, an engine)"""


class Reports:
    """Those of one file of tests; a reference is REPOSITORY#NUMBER."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Report]] = []

    def __call__(self, *references: str) -> Callable[[Report], Report]:
        """Try it under each of these names."""

        def add(report: Report) -> Report:
            self.found.extend((each, report) for each in references)
            return report

        return add

    def on_each_engine(self, test: Callable[..., None]) -> Any:
        """A test of (report, engine, …) for all that are there by now."""
        reports = dict.fromkeys(each for _, each in self.found)
        marked = pytest.mark.parametrize("report", reports, ids=lambda each: each.__name__)(test)
        engines = [keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE, SPARK]
        return pytest.mark.parametrize("engine", engines)(marked)

    def check_each_once(self) -> None:
        """AssertionError if a reference stands twice."""
        names = [name for name, _ in self.found]
        assert len(names) == len(set(names))
