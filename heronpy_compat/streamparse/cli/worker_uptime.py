"""Show since when the containers are up (streamparse.cli.worker_uptime)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def display_worker_uptime(env_name: str | None = None, config_file: Any = None) -> None:
    """Print since when each container is up."""
    heronpy("worker_uptime", environment=env_name, config=config_file)


def main(args: Any) -> None:
    """Show since when the containers are up."""
    display_worker_uptime(args.environment, args.config)


subparser_hook = hook("worker_uptime", main, common.add_config, common.add_environment)
