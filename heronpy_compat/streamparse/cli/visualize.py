"""Draw a topology (streamparse.cli.visualize)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def visualize_topology(
    name: str | None = None,
    filename: str | None = None,
    format: str | None = None,  # noqa: A002 (streamparse's)
    **_: Any,
) -> None:
    """Draw a topology of the project into a file; `heronpy visualize` says which formats."""
    heronpy("visualize", name=name, output_file=filename, format=format)


def main(args: Any) -> None:
    """Draw a topology."""
    visualize_topology(args.name, args.output_file, args.format)


subparser_hook = hook(
    "visualize", main, common.add_name, common.value("-o", "--output_file"),
    common.value("-f", "--format"),
)  # fmt: skip
