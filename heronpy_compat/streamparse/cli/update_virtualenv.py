"""Virtualenvs on workers, which do not exist here (streamparse.cli.update_virtualenv)."""

from typing import Any

from heronpy_compat.streamparse.cli import common
from heronpy_compat.streamparse.cli.heronpy_command import heronpy, hook


def create_or_update_virtualenvs(*_: Any, **__: Any) -> None:
    """Say how packages get to a topology; nothing else is to be done."""
    heronpy("update_virtualenv")


def main(args: Any) -> None:
    """Say how packages get to a topology."""
    create_or_update_virtualenvs()


subparser_hook = hook(
    "update_virtualenv", main, common.add_config, common.add_environment,
    common.add_overwrite_virtualenv, common.add_name, common.add_options, common.add_override_name,
    common.add_pool_size, common.add_requirements, common.add_user,
)  # fmt: skip
