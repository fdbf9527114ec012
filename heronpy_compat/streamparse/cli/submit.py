"""Submit a topology (streamparse.cli.submit)."""

from collections.abc import Mapping
from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.common import resolve_options
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook

__all__ = ["main", "resolve_options", "submit_topology", "subparser_hook"]


def submit_topology(
    name: str | None = None,
    env_name: str | None = None,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
    wait: int | None = None,
    simple_jar: bool = True,
    override_name: str | None = None,
    requirements_paths: Any = None,
    local_jar_path: str | None = None,
    remote_jar_path: str | None = None,
    timeout: int | None = None,
    config_file: Any = None,
    overwrite_virtualenv: bool = False,
    user: str | None = None,
    active: bool = True,
) -> None:
    """Submit a topology of the project; what is about jars and virtualenvs means nothing here."""
    heronpy(
        "submit",
        name=name,
        environment=env_name,
        option=common.with_options(options),
        force=force,
        wait=wait if force else None,
        override_name=override_name,
        config=config_file,
        inactive=not active,
    )


def main(args: Any) -> None:
    """Submit a topology."""
    submit_topology(
        name=args.name,
        env_name=args.environment,
        options=args.options,
        force=args.force,
        wait=args.wait,
        override_name=args.override_name,
        config_file=args.config,
        active=args.active,
    )


subparser_hook = hook(
    "submit",
    main,
    common.add_ackers,
    common.add_config,
    common.add_debug,
    common.add_environment,
    common.flag("-f", "--force"),
    common.flag("-i", "--inactive", dest="active", action="store_false"),
    common.value("-j", "--local_jar_path"),
    common.add_name,
    common.add_options,
    common.add_override_name,
    common.add_overwrite_virtualenv,
    common.add_pool_size,
    common.add_requirements,
    common.value("-R", "--remote_jar_path"),
    common.add_timeout,
    common.flag("-u", "--uber_jar", dest="simple_jar", action="store_false"),
    common.add_user,
    common.add_wait,
    common.add_workers,
)
