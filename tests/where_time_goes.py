"""A pytest plugin: how long the tests of each folder and of the longest files took, together.

pytest's own list has the longest single tests. A suite becomes slow by the many short ones as well.
"""

from collections import defaultdict
from collections.abc import Iterator

import pytest
from _pytest.terminal import TerminalReporter

TOTAL_SECS = 300.0
"""A shorter run does not list them."""
LISTED_MAX = 20
FOLDER_PARTS = 2


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Lists them behind the longest tests."""
    files: dict[str, float] = defaultdict(float)
    for report in _reports(terminalreporter):
        files[report.nodeid.partition("::")[0]] += report.duration
    folders: dict[str, float] = defaultdict(float)
    for file, secs in files.items():
        folders["/".join(file.split("/")[:-1][:FOLDER_PARTS])] += secs
    if sum(folders.values()) >= TOTAL_SECS:
        _write(terminalreporter, "seconds by folder, of all processes together", folders)
        _write(terminalreporter, "seconds of the longest files", files)


def _reports(terminalreporter: TerminalReporter) -> Iterator[pytest.TestReport]:
    for reports in terminalreporter.stats.values():
        yield from (each for each in reports if isinstance(each, pytest.TestReport))


def _write(terminalreporter: TerminalReporter, title: str, secs_of: dict[str, float]) -> None:
    terminalreporter.section(title)
    longest = sorted(secs_of.items(), key=lambda item: -item[1])
    for name, secs in longest[:LISTED_MAX]:
        terminalreporter.write_line(f"{secs:8.1f} {name}")
