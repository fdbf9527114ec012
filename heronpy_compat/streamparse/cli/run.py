"""Run a topology here (streamparse.cli.run)."""

from collections.abc import Mapping
from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.common import resolve_options
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook

__all__ = ["main", "resolve_options", "run_local_topology", "subparser_hook"]


def run_local_topology(
    name: str | None = None,
    env_name: str | None = None,
    time: float = 0,
    options: Mapping[str, Any] | None = None,
    config_file: Any = None,
) -> None:
    """Run a topology of the project in the foreground; for `time` seconds if that is not 0."""
    heronpy(
        "run",
        name=name,
        environment=env_name,
        time=time if time > 0 else None,
        option=common.with_options(options),
        config=config_file,
    )


def main(args: Any) -> None:
    """Run a topology on this machine."""
    run_local_topology(args.name, args.environment, args.time, args.options, args.config)


subparser_hook = hook(
    "run", main, common.add_ackers, common.add_config, common.add_debug, common.add_environment,
    common.add_name, common.add_options, common.value("-t", "--time", default=0, type=int),
    common.add_workers,
)  # fmt: skip
