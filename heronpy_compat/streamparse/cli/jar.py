"""Package a project (streamparse.cli.jar): an archive, as there is no jar here."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def jar_for_deploy(simple_jar: bool = False) -> None:
    """Make an archive of the project in the current folder."""
    heronpy("package")


def main(args: Any) -> None:
    """Package the project."""
    jar_for_deploy(args.simple_jar)


subparser_hook = hook("jar", main, common.add_simple_jar)
