"""Make a new project (streamparse.cli.quickstart)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def quickstart(project_name: str) -> None:
    """Make a new project in a folder of this name."""
    heronpy("quickstart", project_name)


def main(args: Any) -> None:
    """Make a new project."""
    quickstart(args.project_name)


subparser_hook = hook("quickstart", main, common.value("project_name"))
