"""Remove the logs of a topology (streamparse.cli.remove_logs)."""

from collections.abc import Mapping
from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def remove_logs(
    topology_name: str | None = None,
    env_name: str | None = None,
    pattern: str | None = None,
    remove_worker_logs: bool = False,
    user: str | None = None,
    override_name: str | None = None,
    remove_all_artifacts: bool = False,
    options: Mapping[str, Any] | None = None,
    config_file: Any = None,
) -> None:
    """Remove the logs of a topology that has ended."""
    heronpy(
        "remove_logs",
        name=override_name or topology_name,
        environment=env_name,
        pattern=pattern,
        remove_all_artifacts=remove_all_artifacts,
        config=config_file,
    )


def main(args: Any) -> None:
    """Remove the logs of a topology."""
    remove_logs(
        args.name, args.environment, args.pattern, override_name=args.override_name,
        remove_all_artifacts=args.remove_all_artifacts, config_file=args.config,
    )  # fmt: skip


def _add_user(parser: Any) -> None:
    common.add_user(parser, allow_short=True)


subparser_hook = hook(
    "remove_logs", main, common.flag("-A", "--remove_all_artifacts"), common.add_config,
    common.add_environment, common.add_name, common.add_override_name, common.add_pattern,
    common.add_pool_size, _add_user, common.flag("-w", "--remove_worker_logs"),
)  # fmt: skip
