"""List the running topologies (streamparse.cli.list)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def list_topologies(
    env_name: str | None = None, timeout: int | None = None, config_file: Any = None
) -> None:
    """Print the running topologies."""
    heronpy("list", environment=env_name, config=config_file)


def main(args: Any) -> None:
    """List the running topologies."""
    list_topologies(args.environment, args.timeout, args.config)


subparser_hook = hook("list", main, common.add_config, common.add_environment, common.add_timeout)
