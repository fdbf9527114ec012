"""Show which hosts have how many containers (streamparse.cli.slot_usage)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def display_slot_usage(env_name: str | None = None, config_file: Any = None) -> None:
    """Print how many containers each topology has on each host."""
    heronpy("slot_usage", environment=env_name, config=config_file)


def main(args: Any) -> None:
    """Show how many containers each topology has on each host."""
    display_slot_usage(args.environment, args.config)


subparser_hook = hook("slot_usage", main, common.add_config, common.add_environment)
