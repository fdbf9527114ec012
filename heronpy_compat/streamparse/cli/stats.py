"""Show the numbers of a topology (streamparse.cli.stats)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def display_stats(
    env_name: str | None = None,
    topology_name: str | None = None,
    component_name: str | None = None,
    all_components: bool | None = None,
    config_file: Any = None,
) -> None:
    """Print the numbers of a topology, or of one of its components."""
    heronpy(
        "stats",
        name=topology_name,
        environment=env_name,
        component=component_name,
        all=bool(all_components),
        config=config_file,
    )


def main(args: Any) -> None:
    """Show the numbers of a running topology."""
    display_stats(args.environment, args.name, args.component, args.all, args.config)


subparser_hook = hook(
    "stats", main, common.flag("--all"), common.value("-c", "--component"), common.add_config,
    common.add_environment, common.add_name,
)  # fmt: skip
