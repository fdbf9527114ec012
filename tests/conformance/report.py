"""Tells at the end of the tests how long each back end took to its first tuple.

A conftest that imports `pytest_terminal_summary` from here shows the lines.
"""

import pytest

# Conftests come here before any test imports the checks.
pytest.register_assert_rewrite("tests.conformance.checks")

PROPERTY = "submit to first tuple"
_shown = pytest.StashKey[bool]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """One line for each back end; once, however many import this."""
    if config.stash.get(_shown, False):
        return
    config.stash[_shown] = True
    reports = [each for some in terminalreporter.stats.values() for each in some]
    for each in reports:
        if getattr(each, "when", None) == "call":
            for value in (value for name, value in each.user_properties if name == PROPERTY):
                terminalreporter.write_line(f"{PROPERTY}: {value}")
