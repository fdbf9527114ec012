"""Show the logs of a topology (streamparse.cli.tail)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def tail_topology(
    topology_name: str | None = None,
    env_name: str | None = None,
    pattern: str | None = None,
    follow: bool = False,
    num_lines: int = 10,
    override_name: str | None = None,
    config_file: Any = None,
) -> None:
    """Print the last lines of a topology's logs."""
    heronpy(
        "tail",
        name=override_name or topology_name,
        environment=env_name,
        pattern=pattern,
        follow=follow,
        num_lines=num_lines,
        config=config_file,
    )


def main(args: Any) -> None:
    """Show the logs of a topology."""
    tail_topology(
        args.name, args.environment, args.pattern, args.follow, args.num_lines,
        args.override_name, args.config,
    )  # fmt: skip


subparser_hook = hook(
    "tail", main, common.add_config, common.add_environment, common.flag("-f", "--follow"),
    common.value("-l", "--num_lines", default=10), common.add_name, common.add_override_name,
    common.add_pool_size, common.add_pattern,
)  # fmt: skip
