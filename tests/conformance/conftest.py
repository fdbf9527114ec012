"""Shows the back ends' times."""

from tests.conformance.report import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
