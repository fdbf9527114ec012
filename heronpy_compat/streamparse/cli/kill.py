"""Kill a topology (streamparse.cli.kill)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def kill_topology(
    topology_name: str | None = None,
    env_name: str | None = None,
    wait: int | None = None,
    timeout: int | None = None,
    config_file: Any = None,
) -> None:
    """Kill a running topology."""
    heronpy("kill", name=topology_name, environment=env_name, wait=wait, config=config_file)


def main(args: Any) -> None:
    """Kill a topology."""
    kill_topology(args.name, args.environment, args.wait, args.timeout, args.config)


subparser_hook = hook(
    "kill", main, common.add_config, common.add_environment, common.add_name, common.add_timeout,
    common.add_wait,
)  # fmt: skip
